"""Bytes on their way into a commit: small ones in memory, large ones stored as they come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from trunkline.errors import CommitFinished, NotFound
from trunkline.lake.branches import writable_branch
from trunkline.lake.lease import Lease
from trunkline.model.entries import Entry
from trunkline.model.ids import new_id
from trunkline.server.s3.conditions import etag
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.gathering import Act
from trunkline.server.s3.names import Key
from trunkline.server.s3.visits import Door
from trunkline.storage.objects.keys import KeyMaker
from trunkline.storage.objects.whole import store_stream


def refuse_unwritable(door: Door, key: Key) -> None:
    """Say that a place cannot be written to before anybody sends bytes for it."""
    try:
        with door.core.database.read() as session:
            writable_branch(session, key.ref)
    except (NotFound, CommitFinished) as error:
        raise S3Error("InvalidRequest", f"{error.message} {error.hint}".strip()) from None


@contextmanager
def stored(door: Door, key: Key, author: str, pieces: Iterable[bytes]) -> Iterator[Act]:
    """A file to be put. While it is held gc leaves its bytes alone.

    The pieces raise at their end if they are not what was promised: then nothing is stored.
    """
    start = bytearray()
    rest = iter(pieces)
    for piece in rest:
        start += piece
        if len(start) > door.core.options.pack_limit:
            break
    else:
        yield Act(key.name, data=bytes(start))
        return
    keys = KeyMaker(new_id())
    lease = Lease(door.core, keys.txn, author)
    lease.take()
    try:
        line = store_stream(door.core.objects, keys, key.path, bytes(start), rest)
        yield Act(key.name, line=line, lease=lease)
    finally:
        lease.give_back()


def tag_of(act: Act) -> str:
    """The ETag of a file that was put."""
    return etag(Entry.decode(act.line or b""))
