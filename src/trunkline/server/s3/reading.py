"""Reading objects: GET and HEAD, and what can be asked about one."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from itertools import chain

from trunkline.lake import files
from trunkline.model.commits import Commit
from trunkline.model.entries import Entry
from trunkline.server.s3.conditions import byte_range, check_read, etag
from trunkline.server.s3.documents import http_date
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.names import Key
from trunkline.server.s3.virtual import read_virtual
from trunkline.server.s3.visits import Answer, Door, Visit, xml

# What people put is shown to a browser as nothing that could act in our name.
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
}
FOLDER_TYPE = "application/x-directory"
_OVERRIDES = {
    "response-content-type": "Content-Type",
    "response-content-disposition": "Content-Disposition",
    "response-content-encoding": "Content-Encoding",
    "response-content-language": "Content-Language",
    "response-cache-control": "Cache-Control",
    "response-expires": "Expires",
}
_EMPTY_TAG = '"00000000000000000000000000000000-1"'


def look(door: Door, key: Key) -> tuple[Entry, Commit]:
    """The object of a key."""
    commit, tree = door.at(key.ref)
    line = None if key.is_folder else tree.find(key.name)
    if line is None or commit is None:
        raise missing(key.text)
    return Entry.decode(line), commit


def get_object(visit: Visit) -> Answer:
    return _read(visit, with_body=True)


def head_object(visit: Visit) -> Answer:
    return _read(visit, with_body=False)


def _read(visit: Visit, with_body: bool) -> Answer:
    asked = visit.asked
    virtual = read_virtual(visit, with_body)
    if isinstance(virtual, Answer):
        return virtual
    key = virtual or visit.key_to_read()
    if key.is_folder:
        return _folder(visit, key)
    entry, commit = look(visit.door, key)
    tag, modified = etag(entry), changed(commit)
    check_read(asked, tag, modified)
    headers = {
        "ETag": tag,
        "Last-Modified": http_date(modified),
        "Accept-Ranges": "bytes",
        "Content-Type": mimetypes.guess_type(key.path)[0] or "binary/octet-stream",
        "x-amz-meta-trunkline-commit": commit.id,
        **SAFE,
        **_overrides(visit),
    }
    part = _part(visit, entry, tag)
    start, length = part or (0, entry.size)
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{entry.size}"
    headers["Content-Length"] = str(length)
    status = 206 if part is not None else 200
    if not with_body:
        return Answer(status, b"", headers)
    pieces = files.read(visit.door.core, entry, start, None if part is None else length)
    return Answer(status, _begun(pieces, length), headers)


def _begun(pieces: Iterator[bytes], length: int) -> bytes | Iterator[bytes]:
    """Read the first piece at once: what is not there is said before anything is sent."""
    first = next(pieces, b"")
    if len(first) == length:
        # Nothing is left but to compare the hash.
        return first + b"".join(pieces)
    return chain((first,), pieces)


def _part(visit: Visit, entry: Entry, tag: str) -> tuple[int, int] | None:
    asked = visit.asked
    if number := asked.value("partNumber"):
        if number != "1" or asked.header("range"):
            raise S3Error("InvalidRange", "Objects are of one part here.")
        return (0, entry.size) if entry.size else None
    text = asked.header("range")
    if not text or asked.header("if-range", tag).strip() != tag:
        return None
    return byte_range(text, entry.size)


def _folder(visit: Visit, key: Key) -> Answer:
    """Folders are there while there is something in them; they have no bytes of their own."""
    commit, tree = visit.door.at(key.ref)
    if key.path != "/" and not tree.has_below(key.name):
        raise missing(key.text)
    modified = changed(commit) if commit else 0
    headers = {
        "ETag": _EMPTY_TAG,
        "Last-Modified": http_date(modified),
        "Content-Type": FOLDER_TYPE,
        "Content-Length": "0",
        **SAFE,
    }
    return Answer(200, b"", headers)


def _overrides(visit: Visit) -> dict[str, str]:
    """Headers that the address asks for. Only who signed it may."""
    asked = visit.asked
    return {
        header: "".join(one for one in asked.value(name) if one.isprintable())
        for name, header in _OVERRIDES.items()
        if asked.value(name)
    }


def get_attributes(visit: Visit) -> Answer:
    key = visit.key_to_read()
    entry, commit = look(visit.door, key)
    names = {one.strip() for one in visit.asked.header("x-amz-object-attributes").split(",")}
    tag = etag(entry)
    answer = xml(
        "GetObjectAttributesResponse",
        [
            ("ETag", tag.strip('"') if "ETag" in names else None),
            ("StorageClass", "STANDARD" if "StorageClass" in names else None),
            ("ObjectSize", str(entry.size) if "ObjectSize" in names else None),
        ],
    )
    answer.headers["Last-Modified"] = http_date(changed(commit))
    return answer


def get_tagging(visit: Visit) -> Answer:
    look(visit.door, visit.key_to_read())
    return xml("Tagging", [("TagSet", "")])


def changed(commit: Commit) -> int:
    """When what a commit holds became visible."""
    return commit.finished if commit.finished is not None else commit.started


def missing(key: str) -> S3Error:
    return S3Error("NoSuchKey", f"The key {key!r} does not exist.")
