"""The way to a server: requests that are tried again where that is safe, answers as values."""

from __future__ import annotations

import json
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx2

from trunkline import __version__
from trunkline.errors import (
    CommitUnknown,
    Failed,
    NotAuthenticated,
    Precondition,
    TrunklineError,
    Unavailable,
    Usage,
)
from trunkline.model.backoff import Backoff
from trunkline.sdk.wire.running import API_HEADER, API_VERSION
from trunkline.sdk.wire.values import API, AUTHOR, IDEMPOTENCY, Page, decode, encode, error_of

TRIES = 5
BACKOFF = Backoff(0.15, 3.0)
CONNECT_SECONDS = 10.0
READ_SECONDS = 300.0
LONG = 24 * 3600.0
"""The patience with what looks at, or copies, all that there is."""
PAGE = 1000
Params = Mapping[str, Any]

# Nothing was done, or what was done is known by the request's key: trying again is safe.
_AGAIN = (429, 502, 503, 504)


class Client:
    """One server and who we are to it. Safe in threads."""

    def __init__(
        self, url: str, token: str = "", author: str = "", *, origin: bool = False
    ) -> None:
        """With `origin` it may use a session, as a page of the server does."""
        self.url = url.rstrip("/")
        if not token.isascii() or not token.isprintable():
            raise Usage("The token has characters that no token has.", hint="Was it cut or pasted?")
        headers = {"User-Agent": f"trunkline/{__version__}"}
        if origin:
            headers["Origin"] = self.url
        if author:
            headers[AUTHOR] = quote(author)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._http = httpx2.Client(
                base_url=self.url + API,
                headers=headers,
                timeout=httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
                limits=httpx2.Limits(max_connections=32, max_keepalive_connections=16),
                trust_env=not _is_here(self.url),
                # All certificates take a tenth of a second to load; none are trusted without.
                verify=self.url.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            )
        except (httpx2.InvalidURL, ValueError) as error:
            raise Usage(f"{url} is not the address of a server: {error}.") from None

    def close(self) -> None:
        self._http.close()

    # -- values ----------------------------------------------------------------------------

    def get(self, kind: Any, path: str, /, **params: Any) -> Any:
        """One value."""
        return decode(kind, self._ask("GET", path, params=params).content)

    def pages(
        self, kind: Any, path: str, /, *, limit: int | None = None, **params: Any
    ) -> Iterator[Any]:
        """The items of a list, page by page as they are asked for; at most `limit`."""
        cursor, left = None, limit
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            asked = {**params, "limit": size, "cursor": cursor}
            found: Page[Any] = self.get(Page[kind], path, **asked)
            yield from found.items
            left = None if left is None else left - len(found.items)
            cursor = found.next
            if cursor is None:
                return

    def send(
        self,
        method: str,
        path: str,
        /,
        body: Any = None,
        *,
        kind: Any = None,
        key: str | None = None,
        patience: float = READ_SECONDS,
        **params: Any,
    ) -> Any:
        """Change something, once: a request that is sent again has the same key.

        `body` is a dataclass or what JSON can say; `kind` what the answer is read as; `patience`
        how many seconds the server may take.
        """
        headers = {IDEMPOTENCY: key or uuid4().hex}
        content = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = encode(type(body), body)
        timeout = httpx2.Timeout(patience, connect=CONNECT_SECONDS)
        answer = self._ask(
            method, path, params=params, content=content, headers=headers, timeout=timeout
        )
        return decode(kind, answer.content) if kind is not None else None

    # -- bytes -----------------------------------------------------------------------------

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        /,
        *,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
        **params: Any,
    ) -> Iterator[httpx2.Response]:
        """An answer whose body is read as it comes; `body` is what is sent, as for `send`."""
        given = dict(headers or {})
        content = None
        if body is not None:
            given["Content-Type"] = "application/json"
            content = encode(type(body), body)
        request = self._http.build_request(
            method, _relative(path), params=_given(params), headers=given, content=content
        )
        answer = self._tried(lambda: self._http.send(request, stream=True))
        try:
            yield answer
        except httpx2.TransportError as error:
            raise Unavailable(
                f"The answer of {self.url} broke off: {_said(error)}.",
                hint="Try again. If it happens again, the server's log says why.",
            ) from error
        finally:
            answer.close()

    def upload(self, method: str, path: str, content: Any, /, **options: Any) -> httpx2.Response:
        """Send bytes: not tried again here, since only the caller can give them once more."""
        headers = options.pop("headers", {})
        self._refuse_closed()
        try:
            answer = self._http.request(
                method, _relative(path), params=_given(options), content=content, headers=headers
            )
        except httpx2.TransportError as error:
            raise self._unreachable(error) from error
        return self._checked(answer)

    # -- how -------------------------------------------------------------------------------

    def _ask(self, method: str, path: str, **options: Any) -> httpx2.Response:
        options["params"] = _given(options.get("params", {}))
        return self._tried(lambda: self._http.request(method, _relative(path), **options))

    def _tried(self, ask: Callable[[], httpx2.Response]) -> httpx2.Response:
        attempt, patience = 0, READ_SECONDS
        while True:
            self._refuse_closed()
            last = attempt == TRIES - 1
            try:
                answer = ask()
            except httpx2.TransportError as error:
                if last or isinstance(error, httpx2.UnsupportedProtocol | httpx2.ConnectError):
                    raise self._unreachable(error) from error
                wait = BACKOFF.jittered(attempt + 1)
                attempt += 1
            else:
                wait = _retry_after(answer) or BACKOFF.jittered(attempt + 1)
                if _is_in_hand(answer) and patience > 0:
                    patience -= wait  # who gave up now would not know what becomes of it
                elif last or not _may_pass(answer):
                    return self._checked(answer)
                else:
                    attempt += 1
                answer.close()
            time.sleep(wait)

    def _checked(self, answer: httpx2.Response) -> httpx2.Response:
        if answer.status_code < 400 and answer.headers.get(API_HEADER) == str(API_VERSION):
            return answer
        try:
            answer.read()
            body = json.loads(answer.content)
        except (ValueError, httpx2.TransportError):
            body = None
        finally:
            answer.close()
        self._check_version(answer, body)
        error = error_of(answer.status_code, body)
        if isinstance(error, NotAuthenticated):
            error.hint = "trunkline login logs in; or set TRUNKLINE_TOKEN."
        raise error

    def _check_version(self, answer: httpx2.Response, body: object) -> None:
        """Refuse what speaks another API, or is no server of ours at all."""
        spoken = answer.headers.get(API_HEADER)
        if spoken not in (None, str(API_VERSION)):
            raise Precondition(
                f"The server {self.url} speaks version {spoken} of the API, and this is "
                f"trunkline {__version__}, which knows version {API_VERSION}.",
                hint="Upgrade the older of the two.",
            )
        ours = spoken is not None or (isinstance(body, dict) and "error" in body)
        if not ours and answer.status_code not in _AGAIN:
            raise Failed(
                f"What answers at {self.url} is no Trunkline server.", hint="Check the address."
            )

    def _refuse_closed(self) -> None:
        if self._http.is_closed:
            raise Precondition(
                f"The lake at {self.url} was closed.",
                hint="Read all of a result before that, or open the lake again.",
            )

    def _unreachable(self, error: Exception) -> TrunklineError:
        return Unavailable(
            f"The server {self.url} cannot be reached: {_said(error)}.",
            hint="Does it run? trunkline serve starts one.",
        )


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__


def _relative(path: str) -> str:
    return path.lstrip("/")


def _given(params: Params) -> dict[str, Any]:
    return {name: value for name, value in params.items() if value is not None}


def _may_pass(answer: httpx2.Response) -> bool:
    """Whether to ask again."""
    status = answer.status_code
    return status in _AGAIN and not (status == 503 and _is_unknown(answer))


def _is_in_hand(answer: httpx2.Response) -> bool:
    """Whether the same request, sent before, is still being answered: the server says so."""
    return answer.status_code == 409 and "Retry-After" in answer.headers


def _is_unknown(answer: httpx2.Response) -> bool:
    """Whether it may have been done: only who asks can tell what doing it again would mean."""
    try:
        answer.read()
        return bool(json.loads(answer.content)["error"]["code"] == CommitUnknown.code)
    except (ValueError, KeyError, TypeError, httpx2.TransportError):
        return False


def _retry_after(answer: httpx2.Response) -> float | None:
    try:
        return min(float(answer.headers["Retry-After"]), 5.0)
    except (KeyError, ValueError):
        return None


def _is_here(url: str) -> bool:
    """Whether the server is on this computer, which no proxy of the environment can reach."""
    host = httpx2.URL(url).host
    return host in ("localhost", "::1") or host.startswith("127.") or "NO_PROXY" in os.environ
