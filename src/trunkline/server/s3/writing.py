"""Writing objects: PUT, copies, DELETE."""

from __future__ import annotations

from urllib.parse import unquote

from trunkline.errors import InvalidPath, InvalidRef, TrunklineError
from trunkline.model.access import Permission
from trunkline.model.refs import Ref
from trunkline.model.time import now_micros
from trunkline.server.s3.asked import Asked
from trunkline.server.s3.bodies import declared_size
from trunkline.server.s3.conditions import check_read, etag, write_condition
from trunkline.server.s3.documents import Node, moment, read_document
from trunkline.server.s3.failures import S3Error, translated
from trunkline.server.s3.gathering import Act, Write
from trunkline.server.s3.names import Key, parse_key
from trunkline.server.s3.reading import changed, look
from trunkline.server.s3.storing import refuse_unwritable, stored, tag_of
from trunkline.server.s3.visits import Answer, Visit, missing_if_invalid, xml

_MOST_DELETES = 1000
_LARGEST_XML = 8 << 20
_REFUSED = ("x-amz-server-side-encryption", "x-amz-object-lock", "x-amz-website-redirect-location")
_PRIVATE = ("", "private", "bucket-owner-read", "bucket-owner-full-control")


def put_object(visit: Visit) -> Answer:
    refuse_promises(visit.asked)
    key = visit.key()
    condition = write_condition(visit.asked)
    refuse_unwritable(visit.door, key)
    if key.is_folder:
        return _put_folder(visit)
    with stored(visit.door, key, visit.author, visit.pieces()) as act:
        visit.door.gathering.write(visit.author, key.ref, Write("PUT", [act], condition))
    return Answer(200, b"", {"ETag": tag_of(act)})


def _put_folder(visit: Visit) -> Answer:
    """A mark for a folder, as some clients make them: folders need none, so nothing is kept."""
    if declared_size(visit.asked):
        raise S3Error("InvalidArgument", "A key that ends with a slash has no bytes.")
    for _ in visit.pieces():
        pass
    return Answer(200, b"", {"ETag": '"00000000000000000000000000000000-1"'})


def copy_object(visit: Visit) -> Answer:
    """Copy by reference: no bytes move."""
    refuse_promises(visit.asked)
    key = visit.key()
    condition = write_condition(visit.asked)
    refuse_unwritable(visit.door, key)
    source = source_of(visit)
    if source.is_folder:
        answer = _put_folder(visit) if key.is_folder else None
        if answer is None:
            raise S3Error("InvalidArgument", "A folder cannot be copied to a file.")
        return _copied(answer.headers["ETag"], now_micros())
    if key.is_folder:
        raise S3Error("InvalidArgument", "A file cannot be copied to a folder.")
    entry, commit = look(visit.door, source)
    check_read(visit.asked, etag(entry), changed(commit), "x-amz-copy-source-")
    if (source.ref, source.path) == (key.ref, key.path) and not condition:
        return _copied(etag(entry), changed(commit))
    line = entry.copied(key.name.decode()).encode()
    requires = frozenset({(source.ref.repo, commit.id)})
    write = Write("COPY", [Act(key.name, line=line)], condition, requires)
    visit.door.gathering.write(visit.author, key.ref, write)
    return _copied(etag(entry), changed(write.commit) if write.commit else now_micros())


def _copied(tag: str, modified: int) -> Answer:
    return xml("CopyObjectResult", [("ETag", tag), ("LastModified", moment(modified))])


def source_of(visit: Visit) -> Key:
    """The object that a copy is made of, in a repo that may be read."""
    text, _, version = visit.asked.header("x-amz-copy-source").partition("?")
    if version and version != "versionId=null":
        raise S3Error("NotImplemented", "Name a version by its ref: <commit id>/<path>.")
    try:
        place = unquote(text, errors="strict").removeprefix("/")
    except UnicodeDecodeError:
        raise S3Error("InvalidArgument", "x-amz-copy-source is not UTF-8.") from None
    bucket, slash, name = place.partition("/")
    if not slash or not name:
        raise S3Error("InvalidArgument", "x-amz-copy-source is not <bucket>/<key>.")
    repo = visit.other(bucket, Permission.READ)
    with missing_if_invalid():
        return parse_key(repo, name)


def delete_object(visit: Visit) -> Answer:
    key = visit.key()
    refuse_unwritable(visit.door, key)
    condition = write_condition(visit.asked)
    if not key.is_folder:
        write = Write("DELETE", [Act(key.name)], condition)
        visit.door.gathering.write(visit.author, key.ref, write)
    return Answer(204)


def delete_objects(visit: Visit) -> Answer:
    """Delete many keys, as one commit on each branch."""
    root = read_document(visit.body(_LARGEST_XML), "Delete")
    quiet = (root.findtext("Quiet") or "").strip().lower() == "true"
    names = [one.findtext("Key") or "" for one in root.findall("Object")]
    if not names or len(names) > _MOST_DELETES:
        raise S3Error("MalformedXML", f"From 1 to {_MOST_DELETES} keys are deleted at once.")
    failed: dict[str, S3Error] = {}
    by_ref: dict[Ref, list[Key]] = {}
    for name in names:
        try:
            key = parse_key(visit.repo, name)
        except (InvalidPath, InvalidRef) as error:
            failed[name] = translated(error)
            continue
        by_ref.setdefault(key.ref, []).append(key)
    for ref, keys in by_ref.items():
        try:
            _delete(visit, ref, keys)
        except TrunklineError as error:
            failed.update({key.text: translated(error) for key in keys})
        except S3Error as error:
            failed.update({key.text: error for key in keys})
    nodes: list[Node] = []
    for name in names:
        if (flaw := failed.get(name)) is not None:
            nodes.append(("Error", [("Key", name), ("Code", flaw.code), ("Message", flaw.message)]))
        elif not quiet:
            nodes.append(("Deleted", [("Key", name)]))
    return xml("DeleteResult", nodes)


def _delete(visit: Visit, ref: Ref, keys: list[Key]) -> None:
    refuse_unwritable(visit.door, keys[0])
    acts = [Act(key.name) for key in keys if not key.is_folder]
    if acts:
        visit.door.gathering.write(visit.author, ref, Write("DELETE", acts))


def refuse_promises(asked: Asked) -> None:
    """Refuse what a client would believe and nobody here does: encryption, locks, public files."""
    for name in asked.headers:
        if name.startswith(_REFUSED):
            raise S3Error("NotImplemented", f"{name} is not known here.")
    if asked.header("x-amz-acl") not in _PRIVATE:
        raise S3Error("NotImplemented", "Who may read is decided by roles, not by x-amz-acl.")
