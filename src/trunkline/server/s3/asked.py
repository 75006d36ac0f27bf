"""A request as S3 reads it: its bucket and key, its query, its headers, each of them once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import unquote, unquote_plus

from trunkline.server.s3.failures import S3Error

# Said twice, these could mean one thing to who checks the signature and another to who acts.
_ONCE = frozenset({"host", "authorization", "content-length", "content-md5", "range", "date"})


@dataclass(frozen=True, slots=True)
class Asked:
    """One request without its body. Names of headers are in lower case."""

    method: str
    raw_path: str
    raw_query: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: dict[str, str]
    bucket: str
    key: str
    request_id: str = ""
    _first: dict[str, str] = field(default_factory=dict)

    def asks(self, name: str) -> bool:
        return name in self._first

    def value(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self._first.get(name, default)

    def header(self, name: str, default: str = "") -> str:
        return self.headers.get(name, default)


def asked(
    method: str,
    raw_path: bytes,
    raw_query: bytes,
    headers: Iterable[tuple[bytes, bytes]],
    hosts: Iterable[str] = (),
    request_id: str = "",
) -> Asked:
    """Take a request apart. Below one of `hosts` the bucket may be part of the name."""
    given = _headers(headers)
    plain, text = raw_path.decode("latin-1"), raw_query.decode("latin-1")
    try:
        path = unquote(plain, errors="strict")
        query = tuple(_query(text))
    except UnicodeDecodeError:
        raise S3Error("InvalidArgument", "The address is not UTF-8.") from None
    bucket, key = _place(path, given.get("host", ""), hosts)
    first: dict[str, str] = {}
    for name, value in query:
        first.setdefault(name, value)
    return Asked(method, plain, text, path, query, given, bucket, key, request_id, first)


def _headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip()
        if name in found:
            if name in _ONCE or name.startswith("x-amz-"):
                raise S3Error("InvalidRequest", f"The header {name} is there twice.")
            value = f"{found[name]},{value}"
        found[name] = value
    return found


def _query(text: str) -> Iterable[tuple[str, str]]:
    for part in text.split("&") if text else ():
        name, _, value = part.partition("=")
        yield unquote_plus(name, errors="strict"), unquote_plus(value, errors="strict")


def _place(path: str, host: str, hosts: Iterable[str]) -> tuple[str, str]:
    """Bucket and key: from the path, or the bucket from the name of the host."""
    rest = path.removeprefix("/")
    name = host_name(host)
    for base in hosts:
        if name.endswith("." + base) and not is_address(name):
            return name[: -len(base) - 1], rest
    bucket, _, key = rest.partition("/")
    return bucket, key


def host_name(host: str) -> str:
    """A host without its port, in lower case."""
    name = host.rpartition(":")[0] if ":" in host and not host.endswith("]") else host
    return name.strip("[]").lower()


def is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
