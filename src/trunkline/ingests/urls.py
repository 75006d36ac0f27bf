"""Fetch a URL on behalf of a user without becoming a way into the network.

Each hop: parse, resolve once, check every address, connect to an address that was checked
(so a name cannot change its mind in between), follow no redirect unchecked. Size and total
time are bounded. No credentials, cookies or proxies: nothing of ours travels along.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from trunkline.errors import (
    InvalidPath,
    NotAllowed,
    NotFound,
    PrivateAddress,
    SourceUnreadable,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.ingests.addresses import Resolver, is_public, resolve
from trunkline.model.paths import normalize_path
from trunkline.model.suggest import shown

CHUNK = 1 << 20
MOST_REDIRECTS = 5
LONGEST_URL = 4096
LONGEST_SILENCE = 60.0
_REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True, slots=True)
class UrlPolicy:
    """What may be fetched. `trusted_hosts` may have private addresses."""

    allow_private: bool = False
    allow_http: bool = False
    max_bytes: int = 100 << 30
    timeout: float = 3600.0
    trusted_hosts: frozenset[str] = frozenset()
    resolver: Resolver = resolve
    tls: ssl.SSLContext | None = None


DEFAULT_POLICY = UrlPolicy()


class RemoteFile(NamedTuple):
    chunks: Iterator[bytes]
    name: str
    size: int | None


class _Target(NamedTuple):
    url: str
    scheme: str
    host: str
    port: int
    request: str


def open_url(url: str, policy: UrlPolicy = DEFAULT_POLICY) -> RemoteFile:
    """Start to fetch. The connection is closed when the chunks are read or dropped."""
    deadline = time.monotonic() + policy.timeout
    first = target = _parse(url, policy)
    for _ in range(MOST_REDIRECTS + 1):
        fetch = _Fetch(target, policy, deadline)
        try:
            moved = fetch.start()
            if moved is None:
                return RemoteFile(fetch.chunks(), _name(first), fetch.size)
        except BaseException:
            fetch.close()
            raise
        fetch.close()
        target = _parse(urljoin(target.url, moved), policy)
    raise SourceUnreadable(
        f"{shown(url)} was redirected more than {MOST_REDIRECTS} times.",
        hint="Use the address it leads to.",
    )


def _parse(url: str, policy: UrlPolicy) -> _Target:
    if len(url) > LONGEST_URL or any(c <= " " or c == "\x7f" for c in url):
        raise Usage(f"The URL {shown(url)} is not well formed.", hint="Quote spaces as %20.")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode("ascii").rstrip(".")
        port = parts.port
    except ValueError:
        raise Usage(f"The URL {shown(url)} is not well formed.", hint="Check it.") from None
    if parts.username is not None or parts.password is not None:
        raise Usage(
            f"The URL of {shown(host)} holds a user or password.",
            hint="Leave them out: they would end up in logs. Fetch the file first, then put it.",
        )
    if parts.scheme not in ("http", "https"):
        raise Usage(f"{shown(url)} is not an https URL.", hint="Use https://, or a local file.")
    if parts.scheme == "http" and not policy.allow_http:
        raise NotAllowed(
            f"{shown(url)} is not encrypted.", hint="Use https://, or allow http in the settings."
        )
    if not host:
        raise Usage(f"The URL {shown(url)} names no host.", hint="Write https://host/path.")
    request = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        request += "?" + quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return _Target(url, parts.scheme, host, port or (443 if parts.scheme == "https" else 80),
                   request)  # fmt: skip


def _addresses(target: _Target, policy: UrlPolicy) -> list[str]:
    try:
        found = policy.resolver(target.host, target.port)
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise Unavailable(
            f"The host {shown(target.host)} cannot be found.", hint="Check its name, or try later."
        )
    if policy.allow_private or target.host in policy.trusted_hosts:
        return found
    # One bad address among good ones is how a name is made to slip through.
    for address in found:
        if not is_public(address):
            raise PrivateAddress(
                f"{shown(target.host)} has the address {address}, which is not public.",
                hint="Only public addresses are fetched, unless the settings allow others.",
            )
    return found


class _Fetch:
    """One request to one checked address."""

    def __init__(self, target: _Target, policy: UrlPolicy, deadline: float) -> None:
        self.target = target
        self.policy = policy
        self.deadline = deadline
        self.size: int | None = None
        self._late = False
        self._socket: socket.socket | None = None
        self._connection: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None
        self._timer: threading.Timer | None = None

    def start(self) -> str | None:
        """Send the request. Returns where it is redirected to, or None when bytes follow."""
        self._socket = self._connect(_addresses(self.target, self.policy))
        # A socket's own timeout starts anew with each byte; this one does not.
        self._timer = threading.Timer(self._left(), self._cut)
        self._timer.daemon = True
        self._timer.start()
        connection = http.client.HTTPConnection(self.target.host, self.target.port)
        self._connection = connection
        try:
            if self.target.scheme == "https":
                self._secure(self._socket)
            connection.sock = self._socket
            connection.putrequest("GET", self.target.request, skip_host=True,
                                  skip_accept_encoding=True)  # fmt: skip
            connection.putheader("Host", self._host_header())
            connection.putheader("Accept-Encoding", "identity")
            connection.putheader("User-Agent", "trunkline")
            connection.putheader("Connection", "close")
            connection.endheaders()
            self._response = connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failure(error) from None
        return self._check_status(self._response)

    def _secure(self, raw: socket.socket) -> None:
        context = self.policy.tls or ssl.create_default_context()
        secured = context.wrap_socket(
            raw, server_hostname=self.target.host, do_handshake_on_connect=False
        )
        # Known before the handshake, so that the timer can cut that too.
        self._socket = secured
        secured.do_handshake()

    def chunks(self) -> Iterator[bytes]:
        assert self._response is not None
        count = 0
        try:
            while chunk := self._response.read1(CHUNK):
                count += len(chunk)
                if self._late:
                    raise OSError("it took too long")
                if count > self.policy.max_bytes:
                    raise self._too_large()
                yield chunk
            if self.size is not None and count < self.size:
                raise OSError(f"it ended after {count:,} of {self.size:,} bytes")
            # With the connection cut by our own timer, the body seems to end.
            if self._late:
                raise OSError("it took too long")
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failure(error) from None
        finally:
            self.close()

    def close(self) -> None:
        if self._timer:
            self._timer.cancel()
        if self._response:
            self._response.close()
        if self._connection:
            self._connection.close()
        if self._socket:
            self._socket.close()

    def _connect(self, addresses: list[str]) -> socket.socket:
        problem: OSError | None = None
        for address in addresses:
            try:
                wait = min(self._left(), LONGEST_SILENCE)
                raw = socket.create_connection((address, self.target.port), timeout=wait)
            except OSError as error:
                problem = error
                continue
            raw.settimeout(min(self._left(), LONGEST_SILENCE))
            return raw
        raise self._failure(problem or OSError("no address"))

    def _check_status(self, response: http.client.HTTPResponse) -> str | None:
        status, url = response.status, shown(self.target.url)
        if status in _REDIRECTS and (moved := response.getheader("Location")):
            return moved
        if status == 200:
            self.size = response.length
            if self.size is not None and self.size > self.policy.max_bytes:
                raise self._too_large()
            return None
        if status in (404, 410):
            raise NotFound(f"There is nothing at {url}.", hint="Check the URL.")
        if status in (401, 403, 407):
            raise NotAllowed(f"The server does not let us read {url}.", hint="Check who may.")
        if status in (408, 425, 429) or status >= 500:
            raise Unavailable(f"The server answered {status} for {url}.", hint="Try again later.")
        raise SourceUnreadable(f"The server answered {status} for {url}.", hint="Check the URL.")

    def _host_header(self) -> str:
        host = f"[{self.target.host}]" if ":" in self.target.host else self.target.host
        default = 443 if self.target.scheme == "https" else 80
        return host if self.target.port == default else f"{host}:{self.target.port}"

    def _left(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise self._too_slow()
        return left

    def _cut(self) -> None:
        self._late = True
        if self._socket is None:
            return
        with suppress(OSError):
            # Not the method of a TLS socket, which would go on as a plain one.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _failure(self, error: Exception) -> TrunklineError:
        if self._late:
            return self._too_slow()
        if isinstance(error, ssl.SSLCertVerificationError):
            return NotAllowed(
                f"The certificate of {shown(self.target.host)} is not valid: "
                f"{error.verify_message}.",
                hint="Check the host's name and certificate.",
            )
        reason = "no answer in time" if isinstance(error, TimeoutError) else _reason(error)
        return Unavailable(
            f"{shown(self.target.url)} could not be read: {reason}.", hint="Try again later."
        )

    def _too_slow(self) -> TrunklineError:
        return Unavailable(
            f"{shown(self.target.url)} took more than {self.policy.timeout:g} seconds.",
            hint="Try again later, or raise the limit.",
        )

    def _too_large(self) -> TrunklineError:
        return NotAllowed(
            f"{shown(self.target.url)} is larger than {self.policy.max_bytes:,} bytes.",
            hint="Raise the limit, or fetch the file first and put it.",
        )


def _reason(error: Exception) -> str:
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return "".join(c for c in " ".join(str(text).split()) if c.isprintable())


def _name(target: _Target) -> str:
    """What to call the file: the last part of its URL."""
    last = unquote(urlsplit(target.url).path).rstrip("/").rpartition("/")[2]
    try:
        return normalize_path(last)[1:] or "download"
    except InvalidPath:
        return "download"
