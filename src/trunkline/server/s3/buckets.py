"""Buckets: the repos, and the lists of what is in them."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

from trunkline.errors import InvalidRef, NotFound
from trunkline.lake.core import repo_key
from trunkline.lake.manifests import Tree
from trunkline.model.access import Permission
from trunkline.model.commits import RepoName
from trunkline.model.refs import Ref, Revision
from trunkline.server.paging import decoded, encoded
from trunkline.server.s3.conditions import etag
from trunkline.server.s3.documents import Node, moment
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.listing import Listing, Place, Wanted, page
from trunkline.server.s3.names import bucket_of, readings
from trunkline.server.s3.reading import changed
from trunkline.server.s3.visits import Answer, Visit, xml
from trunkline.storage.catalog import commits, refs, repos

MOST_KEYS = 1000


def list_buckets(visit: Visit) -> Answer:
    seen = visit.call.visible(visit.lake.repos(all_projects=True), lambda one: one.name)
    buckets = sorted((bucket_of(one.name), one.created) for one in seen)
    return xml(
        "ListAllMyBucketsResult",
        [
            ("Owner", _owner(visit)),
            (
                "Buckets",
                [
                    ("Bucket", [("Name", name), ("CreationDate", moment(created))])
                    for name, created in buckets
                ],
            ),
        ],
    )


def head_bucket(visit: Visit) -> Answer:
    return Answer(200, b"", {"x-amz-bucket-region": "us-east-1"})


def get_location(visit: Visit) -> Answer:
    return xml("LocationConstraint", [])


def get_versioning(visit: Visit) -> Answer:
    """Not as S3 means it: versions are commits, and have keys of their own."""
    return xml("VersioningConfiguration", [])


def create_bucket(visit: Visit) -> Answer:
    """Make a repo, in the project that its name begins with if there is one."""
    bucket = visit.asked.bucket
    named = list(readings(bucket))
    if not named:
        raise S3Error("InvalidBucketName", f"{bucket!r} cannot be the name of a repo.")
    with visit.door.core.database.read() as session:
        taken = any(
            visit.call.may(Permission.READ, one) and repos.key_of(session, one) is not None
            for one in named
        )
        homes = [one for one in named[1:] if repos.has_project(session, one.project)]
    seen = [one for one in homes if visit.call.who.may_see(one.project)]
    repo = (seen or named)[0]
    # Asked first: who may not make it does not learn whether it is there.
    if not visit.call.who.may(Permission.MAINTAIN, repo.project):
        raise S3Error("AccessDenied", f"{visit.call.who.name} may not make {bucket!r}.")
    if taken:
        raise S3Error("BucketAlreadyOwnedByYou", f"The bucket {bucket!r} exists already.")
    visit.lake.create_repo(f"{repo.project}/{repo.repo}")
    return Answer(200, b"", {"Location": f"/{bucket}"})


def delete_bucket(visit: Visit) -> Answer:
    """Only what was never written to goes this way: `rb --force` must not take a history along."""
    repo = visit.repo
    with visit.door.core.database.read() as session:
        key = repo_key(session, repo)
        used = commits.ids_like(session, "", key) or refs.tags(session, key)
    if used:
        raise S3Error(
            "BucketNotEmpty",
            f"{repo} has a history, which would be lost. "
            f"To delete it all the same: trunkline repo delete {repo}",
        )
    visit.lake.delete_repo(f"{repo.project}/{repo.repo}")
    return Answer(204)


def list_objects(visit: Visit) -> Answer:
    asked = visit.asked
    marker = asked.value("marker")
    wanted = _wanted(visit, marker)
    found = page(_places(visit, wanted.prefix), wanted)
    shown = _encoding(visit)
    following = found.last if wanted.delimiter else None
    return _listed(
        visit,
        found,
        wanted,
        [
            ("Marker", shown(marker)),
            ("NextMarker", shown(following) if following is not None else None),
        ],
    )


def list_objects_v2(visit: Visit) -> Answer:
    asked = visit.asked
    token = asked.value("continuation-token")
    if asked.asks("continuation-token") and not token:
        raise S3Error("InvalidArgument", "The continuation token is empty.")
    start = asked.value("start-after")
    wanted = _wanted(visit, max(decoded(token) or "", start, key=str.encode))
    found = page(_places(visit, wanted.prefix), wanted)
    shown = _encoding(visit)
    return _listed(
        visit,
        found,
        wanted,
        [
            ("KeyCount", str(len(found.objects) + len(found.folders))),
            ("ContinuationToken", token or None),
            ("NextContinuationToken", encoded(found.last) if found.last is not None else None),
            ("StartAfter", shown(start) if start else None),
        ],
        owner=asked.value("fetch-owner") == "true",
    )


def _wanted(visit: Visit, after: str) -> Wanted:
    asked = visit.asked
    text = asked.value("max-keys", str(MOST_KEYS))
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise S3Error("InvalidArgument", "max-keys is no number.")
    if asked.value("encoding-type") not in ("", "url"):
        raise S3Error("InvalidArgument", "The only encoding-type is url.")
    return Wanted(
        asked.value("prefix").encode(),
        asked.value("delimiter").encode(),
        after.encode(),
        min(int(text), MOST_KEYS),
    )


def _places(visit: Visit, prefix: bytes) -> list[Place]:
    """The refs whose keys may begin with a prefix. One that is named need be no branch or tag."""
    repo = visit.repo
    revision, slash, _ = prefix.decode().partition("/")
    if slash:
        try:
            Revision(revision)
        except InvalidRef:
            return []
        return [_place(visit, repo, revision)]
    with visit.door.core.database.read() as session:
        key = repo_key(session, repo)
        names = [one.name for one in refs.branches(session, key)]
        names += [one.name for one in refs.tags(session, key)]
    return sorted((_place(visit, repo, name) for name in names), key=lambda one: one[0])


def _place(visit: Visit, repo: RepoName, revision: str) -> Place:
    def get() -> tuple[Tree, int]:
        try:
            commit, tree = visit.door.at(Ref(repo, revision))
        except NotFound:
            return visit.door.core.tree(None), 0
        return tree, changed(commit) if commit else 0

    return f"{revision}/".encode(), get


def _listed(
    visit: Visit, found: Listing, wanted: Wanted, more: list[Node], *, owner: bool = True
) -> Answer:
    shown = _encoding(visit)
    nodes: list[Node] = [
        ("Name", visit.asked.bucket),
        ("Prefix", shown(wanted.prefix.decode())),
        ("Delimiter", shown(wanted.delimiter.decode()) if wanted.delimiter else None),
        ("MaxKeys", str(wanted.most)),
        ("EncodingType", visit.asked.value("encoding-type") or None),
        ("IsTruncated", "true" if found.last is not None else "false"),
        *more,
    ]
    whose = _owner(visit) if owner else None
    for one in found.objects:
        inside: list[Node] = [
            ("Key", shown(one.key)),
            ("LastModified", moment(one.modified)),
            ("ETag", etag(one.entry)),
            ("Size", str(one.entry.size)),
            ("Owner", whose),
            ("StorageClass", "STANDARD"),
        ]
        nodes.append(("Contents", inside))
    nodes += [("CommonPrefixes", [("Prefix", shown(one))]) for one in found.folders]
    return xml("ListBucketResult", nodes)


def _encoding(visit: Visit) -> Callable[[str], str]:
    if visit.asked.value("encoding-type") == "url":
        return lambda text: quote(text, safe="/-_.~*")
    return lambda text: text


def _owner(visit: Visit) -> list[Node]:
    return [("ID", visit.call.who.name), ("DisplayName", visit.call.who.name)]
