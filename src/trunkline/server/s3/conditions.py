"""Ranges and conditions of reads and writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from trunkline.model.entries import Entry
from trunkline.server.s3.asked import Asked
from trunkline.server.s3.failures import S3Error

_range = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})\Z")


def etag(entry: Entry) -> str:
    """Half of the BLAKE3 of the bytes. Its ending says that it is no MD5, so nobody compares it."""
    return f'"{entry.checksum[:32]}-1"'


def etag_of(line: bytes) -> str:
    return etag(Entry.decode(line))


def byte_range(text: str, size: int) -> tuple[int, int] | None:
    """Start and length of the one range asked for; None for all, as for what cannot be read."""
    found = _range.match(text.replace(" ", ""))
    if found is None or not (found[1] or found[2]):
        return None
    if found[1]:
        start = int(found[1])
        end = min(int(found[2]), size - 1) if found[2] else size - 1
        if found[2] and int(found[2]) < start:
            return None
    else:
        start, end = max(size - int(found[2]), 0), size - 1
        if int(found[2]) == 0:
            start = size
    if start >= size:
        unsatisfied = {"Content-Range": f"bytes */{size}"}
        raise S3Error("InvalidRange", "The range lies outside of the object.", unsatisfied)
    return start, end - start + 1


def check_read(asked: Asked, tag: str, modified: int, prefix: str = "") -> None:
    """Refuse a read whose conditions do not hold, in the order of RFC 9110.

    With a `prefix` they are those on the source of a copy, where "not modified" is refused too.
    """
    unchanged = S3Error("PreconditionFailed", "A condition of the request does not hold.")
    if not prefix:
        unchanged = S3Error("NotModified", "Not modified.", {"ETag": tag})
    seconds = modified // 1_000_000
    if match := asked.header(f"{prefix}if-match"):
        if not matches(match, tag):
            raise _failed(f"{prefix}If-Match")
    elif since := asked.header(f"{prefix}if-unmodified-since"):
        at = _date(since)
        if at is not None and seconds > at:
            raise _failed(f"{prefix}If-Unmodified-Since")
    if none := asked.header(f"{prefix}if-none-match"):
        if matches(none, tag):
            raise unchanged
    elif since := asked.header(f"{prefix}if-modified-since"):
        at = _date(since)
        if at is not None and seconds <= at:
            raise unchanged


def matches(given: str, tag: str) -> bool:
    if given.strip() == "*":
        return True
    return any(
        one.strip().removeprefix("W/").strip('"') == tag.strip('"') for one in given.split(",")
    )


@dataclass(frozen=True, slots=True)
class WriteCondition:
    """What must hold of the object at a path when a write to it becomes visible."""

    match: str = ""
    absent: bool = False

    def __bool__(self) -> bool:
        return bool(self.match) or self.absent

    def check(self, line: bytes | None) -> None:
        if self.absent and line is not None:
            raise _failed("If-None-Match")
        if self.match:
            if line is None:
                raise S3Error("NoSuchKey", "There is no object that could match.")
            if not matches(self.match, etag_of(line)):
                raise _failed("If-Match")


ALWAYS = WriteCondition()


def write_condition(asked: Asked) -> WriteCondition:
    none = asked.header("if-none-match")
    if none and none != "*":
        raise S3Error("NotImplemented", "A write knows If-None-Match: * alone.")
    return WriteCondition(asked.header("if-match"), bool(none))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _failed(name: str) -> S3Error:
    return S3Error("PreconditionFailed", f"{name}: the condition does not hold.")
