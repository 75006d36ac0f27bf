"""One file: its headers, whether the client has it already, and which part is wanted."""

from __future__ import annotations

import re
from urllib.parse import quote

from fastapi import Request

from trunkline.model.entries import Entry
from trunkline.model.ids import is_id
from trunkline.sdk.wire.files import COMMIT

# Shown by no browser as a page that could act: all else is only bytes.
_HARMLESS = {
    ".csv": "text/csv; charset=utf-8",
    ".tsv": "text/tab-separated-values; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".log": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".ndjson": "application/x-ndjson",
    ".parquet": "application/vnd.apache.parquet",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".ico": "image/vnd.microsoft.icon",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".aac": "audio/aac",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".webm": "video/webm",
    ".ogv": "video/ogg",
    ".mov": "video/quicktime",
}
BYTES = "application/octet-stream"
AS_BYTES = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
}
"""Should a browser show what people put here after all, then where it can do nothing."""
_range = re.compile(r"bytes=(\d{0,18})-(\d{0,18})", re.IGNORECASE).fullmatch
_unsafe = re.compile(r"[^ !#$&+.0-9A-Z^_`a-z|~=@(),{}\[\]-]")
_YEAR = "private, max-age=31536000, immutable"


def headers_of(entry: Entry, commit: str | None, at: str) -> dict[str, str]:
    """What is said about a file. Its tag is the hash of its bytes."""
    name = entry.path.rpartition("/")[2]
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    return {
        "Content-Type": _HARMLESS.get(suffix, BYTES),
        "Content-Disposition": disposition(name),
        **AS_BYTES,
        "Accept-Ranges": "bytes",
        "ETag": tag_of(entry),
        "Cache-Control": _YEAR if is_id(at) else "private, no-cache",
        COMMIT: commit or "",
    }


def tag_of(entry: Entry) -> str:
    return f'"{entry.checksum}"'


def disposition(name: str) -> str:
    """To be saved under its own name, whatever is in it."""
    plain = _unsafe.sub("_", name)
    text = f'attachment; filename="{plain}"'
    return text if plain == name else f"{text}; filename*=UTF-8''{quote(name, safe='')}"


def is_known(request: Request, tag: str) -> bool:
    """Whether the client has these bytes."""
    told = request.headers.get("if-none-match", "")
    tags = {one.strip().removeprefix("W/") for one in told.split(",")}
    return told.strip() == "*" or tag in tags


def wanted(request: Request, tag: str, size: int) -> tuple[int, int] | None:
    """The first byte and the one after the last, if a part is asked for; equal where none is.

    Several ranges, and what cannot be understood, mean the whole file.
    """
    found = _range(request.headers.get("range", "").replace(" ", ""))
    if found is None or request.headers.get("if-range", tag) != tag:
        return None
    first, last = found.groups()
    if not first and not last:
        return None
    if not first:
        return max(size - int(last), 0), size
    if last and int(last) < int(first):
        return None
    stop = min(int(last) + 1, size) if last else size
    return (int(first), stop) if int(first) < size else (size, size)
