"""Bodies in chunks, signed and not, with digests: what is not as promised is refused."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.server.s3.asked import asked
from trunkline.server.s3.bodies import checked
from trunkline.server.s3.documents import MOST_ELEMENTS, read_document
from trunkline.server.s3.failures import S3Error
from trunkline.server.s3.signature import EMPTY_HASH, Chain, trailer_hash

CHAIN = Chain(b"key", "20260101T000000Z", "20260101/us-east-1/s3/aws4_request", "0" * 64)
SIGNED = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
UNSIGNED = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def crc32(data: bytes) -> str:
    return b64(zlib.crc32(data).to_bytes(4, "big"))


def encoded(
    chunks: list[bytes], trailers: dict[str, str] | None = None, chain: Chain | None = None
) -> bytes:
    """As AWS describes it, from the other side."""
    out = b""
    before = chain.seed if chain else ""
    for chunk in [*chunks, b""]:
        head = f"{len(chunk):x}"
        if chain:
            digest = hashlib.sha256(chunk).hexdigest()
            before = chain.sign("PAYLOAD", before, EMPTY_HASH, digest)
            head += f";chunk-signature={before}"
        out += head.encode() + b"\r\n" + (chunk + b"\r\n" if chunk else b"")
    for name, value in (trailers or {}).items():
        out += f"{name}:{value}\r\n".encode()
    if chain and trailers:
        signature = chain.sign("TRAILER", before, trailer_hash(trailers.items()))
        out += f"x-amz-trailer-signature:{signature}\r\n".encode()
    return out + b"\r\n"


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def received(
    body: bytes, headers: dict[str, str], chain: Chain | None = None, size: int = 7
) -> bytes:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return b"".join(checked(asked("PUT", b"/b/k", b"", raw), cut(body, size), chain))


def refused(body: bytes, headers: dict[str, str], chain: Chain | None = None) -> str:
    with pytest.raises(S3Error) as caught:
        received(body, headers, chain)
    return caught.value.code


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=5), st.integers(1, 100), st.booleans())
def test_chunks_are_put_together(chunks: list[bytes], size: int, signs: bool):
    data = b"".join(chunks)
    chain = CHAIN if signs else None
    kind = SIGNED if signs else UNSIGNED
    trailers = {} if signs else {"x-amz-checksum-crc32": crc32(data)}
    headers = {
        "x-amz-content-sha256": kind,
        "x-amz-decoded-content-length": str(len(data)),
        **({} if signs else {"x-amz-trailer": "x-amz-checksum-crc32"}),
    }
    assert received(encoded(chunks, trailers, chain), headers, chain, size) == data


def test_signed_chunks_with_a_signed_trailer():
    headers = {
        "x-amz-content-sha256": SIGNED + "-TRAILER",
        "x-amz-decoded-content-length": "6",
        "x-amz-trailer": "x-amz-checksum-sha256",
    }
    good = {"x-amz-checksum-sha256": b64(hashlib.sha256(b"abcdef").digest())}
    body = encoded([b"abc", b"def"], good, CHAIN)
    assert received(body, headers, CHAIN) == b"abcdef"
    assert refused(body.replace(b"abc", b"abd"), headers, CHAIN) == "SignatureDoesNotMatch"
    assert refused(body.replace(b"sha256:", b"sha256:x"), headers, CHAIN) == "SignatureDoesNotMatch"
    wrong = encoded([b"abcdef"], {"x-amz-checksum-sha256": b64(b"x" * 32)}, CHAIN)
    assert refused(wrong, headers, CHAIN) == "BadDigest"


def test_chunks_cannot_be_left_out_or_change_places():
    headers = {"x-amz-content-sha256": SIGNED, "x-amz-decoded-content-length": "6"}
    body = encoded([b"abc", b"def"], {}, CHAIN)
    first, rest = body[: body.index(b"3;", 3)], body[body.index(b"3;", 3) :]
    assert received(body, headers, CHAIN) == b"abcdef"
    assert refused(rest, {**headers, "x-amz-decoded-content-length": "3"}, CHAIN) != ""
    assert refused(first, headers, CHAIN) == "IncompleteBody"
    assert refused(body[:-40], headers, CHAIN) == "IncompleteBody"
    assert refused(encoded([b"abcdef"], {}, None), headers, CHAIN) == "SignatureDoesNotMatch"


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"content-md5": b64(hashlib.md5(b"other").digest())}, "BadDigest"),
        ({"content-md5": "nonsense"}, "InvalidDigest"),
        ({"x-amz-checksum-crc32": crc32(b"other")}, "BadDigest"),
        ({"x-amz-checksum-sha1": b64(hashlib.sha1(b"other").digest())}, "BadDigest"),
        ({"x-amz-checksum-sha256": "nonsense"}, "BadDigest"),
        ({"x-amz-content-sha256": hashlib.sha256(b"x").hexdigest()}, "XAmzContentSHA256Mismatch"),
        ({"x-amz-content-sha256": "nonsense"}, "InvalidArgument"),
        ({"content-length": "3"}, "IncompleteBody"),
        ({"content-length": "5"}, "IncompleteBody"),
        ({"content-length": "-1"}, "InvalidArgument"),
        ({"content-length": str(6 << 30)}, "EntityTooLarge"),
        ({"content-length": "", "transfer-encoding": "chunked"}, "MissingContentLength"),
    ],
)
def test_what_is_not_as_promised_is_refused(headers: dict[str, str], code: str):
    assert refused(b"data", {"content-length": "4", **headers}) == code


def test_what_is_as_promised_is_taken():
    data = b"data"
    headers = {
        "content-length": "4",
        "content-md5": b64(hashlib.md5(data).digest()),
        "x-amz-content-sha256": hashlib.sha256(data).hexdigest(),
        "x-amz-checksum-crc32": crc32(data),
        "x-amz-checksum-sha1": b64(hashlib.sha1(data).digest()),
        "x-amz-checksum-crc64nvme": "is-not-looked-at",
    }
    assert received(data, headers) == data


@pytest.mark.parametrize(
    "body",
    [
        b"zz\r\n",
        b"5\r\nabcdefgh",
        b"-1\r\n\r\n",
        b"a" * 9000,
        b"\r\n\r\n",
        b"ffffffffffffffffff\r\n",
    ],
)
def test_chunks_that_are_none(body: bytes):
    headers = {"x-amz-content-sha256": UNSIGNED, "x-amz-decoded-content-length": "5"}
    assert refused(body, headers) in ("InvalidRequest", "IncompleteBody")


def test_a_trailer_that_was_promised_must_come():
    headers = {
        "x-amz-content-sha256": UNSIGNED,
        "x-amz-decoded-content-length": "3",
        "x-amz-trailer": "x-amz-checksum-crc32",
    }
    assert refused(encoded([b"abc"]), headers) == "IncompleteBody"


@pytest.mark.parametrize("element", [b"<a/>", b'<a b="" c="" d=""/>', b"<a>"])
def test_a_document_has_so_many_elements_at_most(element: bytes):
    """What it takes to read one is bounded, whatever its bytes are made to be."""
    with pytest.raises(S3Error, match="well-formed"):
        read_document(b"<Delete>" + element * (MOST_ELEMENTS + 1) + b"</Delete>", "Delete")


def test_a_document_may_name_all_parts_of_an_upload():
    kinds = ("PartNumber", "ETag", "ChecksumCRC32", "ChecksumCRC64NVME", "ChecksumSHA256")
    part = "".join(f"<{kind}>1</{kind}>" for kind in kinds)
    body = "<Complete>" + f"<Part>{part}</Part>" * 10_000 + "</Complete>"
    assert len(read_document(body.encode(), "Complete")) == 10_000
