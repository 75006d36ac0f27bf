"""Keys below `_iceberg/`: what the Iceberg door makes of a table, and other names of data files."""

from __future__ import annotations

from hashlib import blake2b

from trunkline.model.refs import Ref
from trunkline.server.iceberg.keys import PREFIX, parse_virtual
from trunkline.server.s3.conditions import byte_range, check_read
from trunkline.server.s3.documents import http_date
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.names import Key
from trunkline.server.s3.visits import Answer, Visit


def read_virtual(visit: Visit, with_body: bool) -> Answer | Key | None:
    """The answer to a key of this kind, or the key of the file that it stands for."""
    text = visit.asked.key
    if not text.startswith(PREFIX):
        return None
    found = parse_virtual(text)
    if found is not None and not found.name:
        return Key(text, Ref(visit.repo, found.commit), found.path, False)
    data = visit.door.service.iceberg.made(visit.repo, found) if found is not None else None
    if data is None:
        raise S3Error("NoSuchKey", f"The key {text!r} does not exist.")
    return _answer(visit, data, with_body)


def _answer(visit: Visit, data: bytes, with_body: bool) -> Answer:
    asked = visit.asked
    tag = f'"{blake2b(data, digest_size=16).hexdigest()}-1"'
    check_read(asked, tag, 0)
    part = byte_range(asked.header("range"), len(data)) if asked.header("range") else None
    start, length = part or (0, len(data))
    headers = {
        "ETag": tag,
        "Last-Modified": http_date(0),
        "Accept-Ranges": "bytes",
        "Content-Type": "binary/octet-stream",
        "Content-Length": str(length),
        "X-Content-Type-Options": "nosniff",
    }
    if part is not None:
        headers["Content-Range"] = f"bytes {start}-{start + length - 1}/{len(data)}"
    body = data[start : start + length] if with_body else b""
    return Answer(206 if part is not None else 200, body, headers)
