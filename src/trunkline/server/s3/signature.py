"""Signatures of AWS, version 4: what was signed, and whether the one who signed has the secret.

A signature holds for its own method, path, query, signed headers and hash of the body, for a
quarter of an hour around its time, or for as long as a presigned address says. Within that time
the same request can be sent again: it does the same again.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from urllib.parse import quote

from trunkline.server.s3.asked import Asked
from trunkline.server.s3.failures import S3Error

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = "UNSIGNED-PAYLOAD"
EMPTY_HASH = hashlib.sha256(b"").hexdigest()
SKEW_SECONDS = 15 * 60
LONGEST_SECONDS = 7 * 86_400
HEADER, QUERY = "AuthorizationHeaderMalformed", "AuthorizationQueryParametersError"

_authorization = re.compile(
    rf"{ALGORITHM}\s+Credential=(?P<credential>[^,\s]+)\s*,\s*SignedHeaders=(?P<headers>[^,\s]+)"
    r"\s*,\s*Signature=(?P<signature>[0-9a-f]{64})\Z"
)
# DuckDB that is told no region signs for an empty one.
_credential = re.compile(r"(.+)/([0-9]{8})/([^/]*)/s3/aws4_request\Z")
_signature = re.compile(r"[0-9a-f]{64}\Z")


@dataclass(frozen=True, slots=True)
class Signed:
    """What a request says of its signature."""

    access_key: str
    date: str
    region: str
    headers: tuple[str, ...]
    signature: str
    at: str
    presigned: bool
    expires: int = 0

    @property
    def scope(self) -> str:
        return f"{self.date}/{self.region}/s3/aws4_request"


@dataclass(frozen=True, slots=True)
class Chain:
    """What the pieces of a body are signed with, each after the one before."""

    key: bytes
    at: str
    scope: str
    seed: str

    def sign(self, kind: str, before: str, *hashes: str) -> str:
        text = "\n".join((f"{ALGORITHM}-{kind}", self.at, self.scope, before, *hashes))
        return _mac(self.key, text).hex()


def read(asked: Asked) -> Signed | None:
    """The signature of a request; None if it has none."""
    header, query = asked.header("authorization"), asked.asks("X-Amz-Signature")
    if asked.asks("Signature") and asked.asks("AWSAccessKeyId"):
        raise S3Error("InvalidRequest", f"Only signatures of {ALGORITHM} are understood.")
    if header and query:
        raise S3Error("InvalidArgument", "A request is signed by a header or its query, not both.")
    if query:
        return _from_query(asked)
    if header:
        return _from_header(asked, header)
    if any(name.startswith("X-Amz-") for name, _ in asked.query):
        raise S3Error(QUERY, "The query has half of a signature.")
    return None


def check_time(signed: Signed, now: float) -> None:
    """Refuse a request from another time than now."""
    at = _seconds(signed.at)
    if at > now + SKEW_SECONDS:
        raise _skewed()
    if signed.presigned:
        if now > at + signed.expires:
            raise S3Error("AccessDenied", "Request has expired.")
    elif at < now - SKEW_SECONDS:
        raise _skewed()


def check(asked: Asked, signed: Signed, secret: str) -> Chain:
    """Refuse a request that was not signed with this secret."""
    loose = [name for name in asked.headers if _must_be_signed(name) and name not in signed.headers]
    if loose:
        raise S3Error("AccessDenied", f"The header {loose[0]} is not signed.")
    key = _signing_key(secret, signed.date, signed.region)
    hashed = _payload(asked, signed)
    # A path may be written in more than one way; who signs it takes the one of AWS, or its own.
    for path in dict.fromkeys((quote(asked.path, safe="/-_.~"), asked.raw_path)):
        text = canonical(asked, signed, path, hashed)
        digest = hashlib.sha256(text.encode()).hexdigest()
        expected = _mac(key, f"{ALGORITHM}\n{signed.at}\n{signed.scope}\n{digest}").hex()
        if hmac.compare_digest(expected.encode(), signed.signature.encode()):
            return Chain(key, signed.at, signed.scope, signed.signature)
    raise S3Error(
        "SignatureDoesNotMatch",
        "The signature is not the one that this server makes of the request and your secret. "
        "Check the secret, and that nothing on the way changes paths or headers.",
    )


def canonical(asked: Asked, signed: Signed, path: str, hashed: str) -> str:
    """The request as it is signed."""
    query = sorted(
        (_quoted(name), _quoted(value))
        for name, value in asked.query
        if not (signed.presigned and name == "X-Amz-Signature")
    )
    headers = "".join(
        f"{name}:{' '.join(asked.headers.get(name, '').split())}\n" for name in signed.headers
    )
    return "\n".join(
        (
            asked.method,
            path or "/",
            "&".join(f"{name}={value}" for name, value in query),
            headers,
            ";".join(signed.headers),
            hashed,
        )
    )


def _from_header(asked: Asked, header: str) -> Signed:
    if not header.startswith("AWS"):
        raise S3Error("InvalidArgument", "Unsupported Authorization Type.")
    if not header.startswith(ALGORITHM + " "):
        raise S3Error("InvalidRequest", f"Only signatures of {ALGORITHM} are understood.")
    found = _authorization.match(header)
    if found is None:
        raise S3Error(HEADER, "The Authorization header cannot be read.")
    at = asked.header("x-amz-date") or _iso(asked.header("date"))
    if not asked.header("x-amz-content-sha256"):
        raise S3Error("MissingSecurityHeader", "The header x-amz-content-sha256 is missing.")
    return _signed(found["credential"], found["headers"], found["signature"], at)


def _from_query(asked: Asked) -> Signed:
    if len({name for name, _ in asked.query}) != len(asked.query):
        raise S3Error(QUERY, "A parameter is there twice.")
    if asked.value("X-Amz-Algorithm") != ALGORITHM:
        raise S3Error(QUERY, f"X-Amz-Algorithm is not {ALGORITHM}.")
    expires = asked.value("X-Amz-Expires")
    if not expires.isascii() or not expires.isdigit() or len(expires) > 9:
        raise S3Error(QUERY, "X-Amz-Expires is no number of seconds.")
    if not 1 <= int(expires) <= LONGEST_SECONDS:
        raise S3Error(QUERY, "X-Amz-Expires is not from 1 second to a week.")
    signature = asked.value("X-Amz-Signature")
    if _signature.match(signature) is None:
        raise S3Error(QUERY, "X-Amz-Signature is no signature.")
    return _signed(
        asked.value("X-Amz-Credential"),
        asked.value("X-Amz-SignedHeaders"),
        signature,
        asked.value("X-Amz-Date"),
        int(expires),
    )


def _signed(
    credential: str,
    headers: str,
    signature: str,
    at: str,
    expires: int | None = None,
) -> Signed:
    code = HEADER if expires is None else QUERY
    found = _credential.match(credential)
    if found is None:
        raise S3Error(code, "The credential is not <key>/<day>/<region>/s3/aws4_request.")
    names = tuple(headers.split(";"))
    if list(names) != sorted(set(names)) or any(name != name.lower() for name in names):
        raise S3Error(code, "The signed headers are not in order.")
    if "host" not in names:
        raise S3Error(code, "The header host is not signed.")
    if _seconds(at) < 0 or not at.startswith(found[2]):
        raise S3Error(code, "The date is not one, or not that of the credential.")
    return Signed(
        found[1], found[2], found[3], names, signature, at, expires is not None, expires or 0
    )


def _must_be_signed(name: str) -> bool:
    return name.startswith("x-amz-") or name == "host"


def _payload(asked: Asked, signed: Signed) -> str:
    """The hash of the body as it was signed. An address is signed before there is a body."""
    given = asked.header("x-amz-content-sha256") or asked.value("X-Amz-Content-Sha256")
    return given or (UNSIGNED if signed.presigned else EMPTY_HASH)


@lru_cache(maxsize=256)
def _signing_key(secret: str, date: str, region: str) -> bytes:
    key = _mac(f"AWS4{secret}".encode(), date)
    for part in (region, "s3", "aws4_request"):
        key = _mac(key, part)
    return key


def _mac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")


def _seconds(at: str) -> float:
    """A time of AWS in seconds since 1970; -1 if it is none."""
    try:
        return datetime.strptime(at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return -1


def _iso(date: str) -> str:
    """The time of a Date header, as AWS writes it."""
    try:
        return parsedate_to_datetime(date).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    except (TypeError, ValueError, IndexError, OverflowError):
        return ""


def _skewed() -> S3Error:
    return S3Error(
        "RequestTimeTooSkewed",
        "The difference between the request time and the server's time is too large.",
    )


def trailer_hash(lines: Iterable[tuple[str, str]]) -> str:
    return hashlib.sha256("".join(f"{k}:{v}\n" for k, v in lines).encode()).hexdigest()
