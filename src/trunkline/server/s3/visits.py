"""A request at the door: who came, what they want of which repo, and what they are answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from trunkline.errors import InvalidPath, InvalidRef
from trunkline.lake.core import Core, resolve
from trunkline.lake.manifests import EMPTY, Tree
from trunkline.model.access import Permission
from trunkline.model.commits import Commit, RepoName
from trunkline.model.recent import Recent
from trunkline.model.refs import Ref
from trunkline.sdk.lake import Lake
from trunkline.server.calls import Call
from trunkline.server.iceberg.keys import PREFIX
from trunkline.server.s3.asked import Asked
from trunkline.server.s3.documents import Node, document
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.gathering import Gathering
from trunkline.server.s3.names import Key, parse_key, reading
from trunkline.server.s3.uploads import Uploads
from trunkline.server.service import Service
from trunkline.storage.catalog import repos

_TREES = 64
XML = "application/xml"


class Door:
    """What all visits share."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.lake = service.lake
        self.core: Core = service.lake._core
        self.gathering = Gathering(self.core)
        self.uploads = Uploads(service.lake._folder / "s3uploads")
        self._trees: Recent[str, Tree] = Recent(_TREES)

    def tree(self, commit: Commit | None) -> Tree:
        """The tree of a commit. Trees never change: those looked at last are kept."""
        if commit is None or commit.root_hash is None or commit.forgotten is not None:
            return self.core.tree(commit)
        return self._trees.get(commit.root_hash, lambda: self.core.tree(commit))

    def at(self, ref: Ref) -> tuple[Commit | None, Tree]:
        """What a ref stands for now."""
        with self.core.database.read() as session:
            commit = resolve(session, ref).commit
        return commit, self.tree(commit) if commit else EMPTY

    def repo_of(self, call: Call, bucket: str) -> RepoName:
        """The repo that a bucket stands for, to who asks."""
        with self.core.database.read() as session:

            def is_there(name: RepoName) -> bool:
                return repos.key_of(session, name) is not None

            found = reading(bucket, lambda one: call.may(Permission.READ, one) and is_there(one))
            if found is None and reading(bucket, is_there) is not None:
                call.notes["refused"] = True
        if found is None:
            raise no_bucket(bucket)
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """A response. A body in pieces has its length in the headers."""

    status: int = 200
    body: bytes | Iterator[bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Visit:
    """One request, after it was found out who sends it and that they may."""

    door: Door
    call: Call
    asked: Asked
    repo: RepoName
    pieces: Callable[[], Iterator[bytes]]
    """The body, which raises if it is not as promised."""

    @property
    def lake(self) -> Lake:
        return self.call.lake

    @property
    def author(self) -> str:
        return self.call.lake.author

    def key(self) -> Key:
        if self.asked.key.startswith(PREFIX):
            raise S3Error("AccessDenied", "Iceberg tables are read-only here.")
        return parse_key(self.repo, self.asked.key)

    def key_to_read(self) -> Key:
        with missing_if_invalid():
            return self.key()

    def body(self, most: int) -> bytes:
        """A small body whole."""
        parts, size = [], 0
        for piece in self.pieces():
            size += len(piece)
            if size > most:
                raise S3Error("EntityTooLarge", "The body is too large.")
            parts.append(piece)
        return b"".join(parts)

    def other(self, bucket: str, permission: Permission) -> RepoName:
        """Another repo that the request needs, such as the source of a copy."""
        return require(self.door, self.call, bucket, permission)


def require(door: Door, call: Call, bucket: str, permission: Permission) -> RepoName:
    """The repo of a bucket, for who may do this with it; hidden ones are not there."""
    repo = door.repo_of(call, bucket)
    call.require(permission, repo)
    return repo


def no_bucket(bucket: str) -> S3Error:
    return S3Error("NoSuchBucket", f"The bucket {bucket!r} does not exist.")


def xml(name: str, inside: Iterable[Node]) -> Answer:
    return Answer(200, document(name, inside), {"Content-Type": XML})


@contextmanager
def missing_if_invalid() -> Iterator[None]:
    """What cannot be a key is not there."""
    try:
        yield
    except (InvalidPath, InvalidRef) as error:
        raise S3Error("NoSuchKey", error.message) from None
