"""Bodies as they are sent: plain or in chunks, with the digests that were promised for them.

Each stage takes pieces and gives pieces. Whoever stores them does so before the last stage has
agreed, and throws them away when it has not: nothing is kept of a body that is not as signed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Protocol

from trunkline.server.s3.asked import Asked
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.signature import EMPTY_HASH, UNSIGNED, Chain, trailer_hash

LARGEST = 5 << 30
_LONGEST_LINE = 4096
_MOST_TRAILERS = 16
_hash = re.compile(r"[0-9a-f]{64}\Z")
_chunk = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;chunk-signature=([0-9a-f]{64}))?\Z")
_PREFIX = "x-amz-checksum-"


class Digest(Protocol):
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...


class Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


def _digest(name: str) -> Digest | None:
    """What computes a checksum of AWS. CRC32C and CRC64NVME are nobody's here: not checked."""
    if name == "crc32":
        return Crc32()
    return hashlib.new(name, usedforsecurity=False) if name in ("sha1", "sha256") else None


def declared_size(asked: Asked) -> int:
    """The size of the body when it has been decoded."""
    text = asked.header("x-amz-decoded-content-length") or asked.header("content-length")
    if not text:
        if "chunked" in asked.header("transfer-encoding").lower():
            raise S3Error("MissingContentLength", "Say how long the body is: Content-Length.")
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise S3Error("InvalidArgument", "The length of the body is no number.")
    if int(text) > LARGEST:
        raise S3Error("EntityTooLarge", "More than 5 GiB: upload it in parts.")
    return int(text)


def checked(asked: Asked, pieces: Iterable[bytes], chain: Chain | None) -> Iterator[bytes]:
    """The body's own bytes. Raises at their end, at the latest, if they are not as promised."""
    kind = asked.header("x-amz-content-sha256") or UNSIGNED
    encoded = kind.startswith("STREAMING-") or "aws-chunked" in asked.header("content-encoding")
    trailers: dict[str, str] = {}
    if encoded:
        signs = chain if kind.startswith("STREAMING-AWS4-HMAC-SHA256") else None
        if kind.startswith("STREAMING-AWS4-ECDSA"):
            raise S3Error("NotImplemented", "Signatures of SigV4A are not understood.")
        pieces = _decoded(pieces, signs, trailers)
    elif kind != UNSIGNED and _hash.match(kind) is None:
        raise S3Error("InvalidArgument", "x-amz-content-sha256 is no hash.")
    size = declared_size(asked)
    sha256 = hashlib.sha256() if _hash.match(kind) else None
    promised = _promised(asked)
    done = 0
    for piece in pieces:
        done += len(piece)
        if done > size:
            raise S3Error("IncompleteBody", "The body is longer than was said.")
        if sha256 is not None:
            sha256.update(piece)
        for digest, _ in promised.values():
            if digest is not None:
                digest.update(piece)
        yield piece
    if done < size:
        raise S3Error("IncompleteBody", "The body is shorter than was said.")
    if sha256 is not None and not hmac.compare_digest(sha256.hexdigest(), kind):
        raise S3Error("XAmzContentSHA256Mismatch", "The body has not the hash that was signed.")
    _compare(promised, trailers)


def _promised(asked: Asked) -> dict[str, tuple[Digest | None, str | None]]:
    """Digests by header: what computes each, and the value, or None if a trailer has it."""
    found: dict[str, tuple[Digest | None, str | None]] = {}
    if given := asked.header("content-md5"):
        if len(_unbased(given)) != 16:
            raise S3Error("InvalidDigest", "Content-MD5 is no MD5.")
        found["content-md5"] = (hashlib.md5(usedforsecurity=False), given)
    for name, value in asked.headers.items():
        kind = name.removeprefix(_PREFIX)
        if kind != name and kind not in ("algorithm", "mode", "type"):
            found[name] = (_digest(kind), value)
    for name in asked.header("x-amz-trailer").lower().split(","):
        if (name := name.strip()).startswith(_PREFIX):
            found[name] = (_digest(name.removeprefix(_PREFIX)), None)
    return found


def _compare(
    promised: dict[str, tuple[Digest | None, str | None]], trailers: dict[str, str]
) -> None:
    for name, (digest, value) in promised.items():
        said = trailers.get(name) if value is None else value
        if said is None:
            raise S3Error("IncompleteBody", f"The trailer {name} did not come.")
        if digest is not None and not hmac.compare_digest(digest.digest(), _unbased(said)):
            raise S3Error("BadDigest", f"The body has not the {name} that was sent with it.")


def _unbased(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _decoded(
    pieces: Iterable[bytes], chain: Chain | None, trailers: dict[str, str]
) -> Iterator[bytes]:
    """The bytes in chunks of `aws-chunked`; what comes after the last goes into `trailers`."""
    source = _Source(pieces)
    before = chain.seed if chain else ""
    while True:
        found = _chunk.match(source.line())
        if found is None:
            raise S3Error("InvalidRequest", "A chunk of the body does not begin as one.")
        left = int(found[1], 16)
        last = left == 0
        hasher = hashlib.sha256()
        while left:
            piece = source.some(left)
            left -= len(piece)
            if chain is not None:
                hasher.update(piece)
            yield piece
        if chain is not None:
            expected = chain.sign("PAYLOAD", before, EMPTY_HASH, hasher.hexdigest())
            before = _matching(expected, (found[2] or b"").decode())
        if last:
            break
        if source.line():
            raise S3Error("InvalidRequest", "A chunk of the body does not end as one.")
    _read_trailers(source, chain, before, trailers)


def _read_trailers(
    source: _Source, chain: Chain | None, before: str, trailers: dict[str, str]
) -> None:
    signature = ""
    while line := source.line(optional=True):
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or len(trailers) == _MOST_TRAILERS:
            raise S3Error("InvalidRequest", "A trailer of the body cannot be read.")
        if name.strip().lower() == "x-amz-trailer-signature":
            signature = value.strip()
        else:
            trailers[name.strip().lower()] = value.strip()
    if chain is not None and trailers:
        expected = chain.sign("TRAILER", before, trailer_hash(sorted(trailers.items())))
        _matching(expected, signature)


def _matching(expected: str, given: str) -> str:
    if not hmac.compare_digest(expected.encode(), given.encode()):
        raise S3Error("SignatureDoesNotMatch", "A piece of the body is not as it was signed.")
    return expected


class _Source:
    """Pieces read by line and by size."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)
        self._held = b""
        self._at = 0

    def some(self, most: int) -> bytes:
        if self._at == len(self._held) and not self._more():
            raise S3Error("IncompleteBody", "The body ends within a chunk.")
        taken = self._held[self._at : self._at + most]
        self._at += len(taken)
        return taken

    def line(self, optional: bool = False) -> bytes:
        while (end := self._held.find(b"\r\n", self._at, self._at + _LONGEST_LINE)) < 0:
            left = len(self._held) - self._at
            if left > _LONGEST_LINE:
                raise S3Error("InvalidRequest", "A line of the body is too long.")
            if not self._more():
                if optional and not left:
                    return b""
                raise S3Error("IncompleteBody", "The body ends within a chunk.")
        taken = self._held[self._at : end]
        self._at = end + 2
        return taken

    def _more(self) -> bool:
        piece = next(self._pieces, b"")
        self._held = self._held[self._at :] + piece
        self._at = 0
        return bool(piece)
