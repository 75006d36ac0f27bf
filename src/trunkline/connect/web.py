"""Answers of HTTP APIs as JSON, with patience.

What may pass (429, 5xx, a connection that breaks) is asked again, later each time, and not before
the server says so in Retry-After. Secret headers go to the origin they were given for and to no
other, whoever redirects there.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import Any

import httpx2

from trunkline.errors import (
    NotAuthenticated,
    NotFound,
    SourceUnreadable,
    TooLarge,
    Unavailable,
)
from trunkline.model.backoff import Backoff

TRIES = 5
BACKOFF = Backoff(0.5, 30.0)
LONGEST_ASKED = 300.0
"""The longest pause that a server may ask for here; a longer one is an error that says so."""
REDIRECTS = 5
_PASSING = (408, 425, 429)
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """What came: `url` is where from, `next_link` the Link header's, if there is one."""

    body: Any
    url: str
    next_link: str | None


class Web:
    """A client of one API, in the hands of one thread."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        secret_headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
        most: int = 64_000_000,
        pause: float = 0.0,
        stop: threading.Event | None = None,
    ) -> None:
        """`pause` is the least time between two requests. `most` bytes may come as an answer."""
        self._origin = _origin(httpx2.URL(url))
        self._secret = dict(secret_headers or {})
        self._most = most
        self._pause = pause
        self._stop = stop or threading.Event()
        self._last = float("-inf")
        self._client = httpx2.Client(
            headers={
                "User-Agent": f"trunkline/{version('trunkline')}",
                "Accept": "application/json",
                **(headers or {}),
            },
            timeout=timeout,
        )

    def close(self) -> None:
        self._client.close()

    def ask(
        self, method: str, url: str, params: Mapping[str, Any] | None = None, body: Any = None
    ) -> Answer:
        """An answer as JSON. Raises Unavailable when there is none after several tries."""
        reason, asked = "", 0.0
        for attempt in range(TRIES):
            if attempt:
                self._wait(max(asked, BACKOFF.jittered(attempt)))
            try:
                status, headers, data, at = self._request(method, url, params, body)
            except httpx2.TransportError as error:
                reason = self._safe(str(error)) or type(error).__name__
                continue
            if status in _PASSING or status >= 500:
                reason, asked = f"it answered {status}", _retry_after(headers)
                if asked > LONGEST_ASKED:
                    break
                continue
            self._check(status, at, data)
            return Answer(self._parsed(data, at), str(at), _next_link(headers, at))
        later = f" It asks to wait {asked:.0f} seconds." if asked > LONGEST_ASKED else ""
        raise Unavailable(f"{_shown(url)}: {reason}.{later}", hint="It is tried again.")

    def _request(
        self, method: str, url: str, params: Mapping[str, Any] | None, body: Any
    ) -> tuple[int, httpx2.Headers, bytes, httpx2.URL]:
        where = httpx2.URL(url)
        if params:
            where = where.copy_merge_params(dict(params))
        for _ in range(REDIRECTS + 1):
            if where.scheme not in ("http", "https"):
                raise SourceUnreadable(f"{_shown(str(where))} is no address of HTTP.")
            self._keep_pace()
            headers = self._secret if _origin(where) == self._origin else {}
            with self._client.stream(method, where, json=body, headers=headers) as answer:
                place = answer.headers.get("location")
                if not (answer.is_redirect and place):
                    return answer.status_code, answer.headers, self._read(answer), where
            where = where.join(place)
            if answer.status_code == 303:
                method, body = "GET", None
        raise SourceUnreadable(f"{_shown(url)} redirects without end.")

    def _read(self, answer: httpx2.Response) -> bytes:
        parts, size = [], 0
        for part in answer.iter_bytes():
            size += len(part)
            if size > self._most:
                raise TooLarge(
                    f"{_shown(str(answer.url))} answers with more than {self._most:,} bytes.",
                    hint="Ask for smaller pages, or set most.",
                )
            parts.append(part)
        return b"".join(parts)

    def _keep_pace(self) -> None:
        left = self._last + self._pause - time.monotonic()
        if left > 0:
            self._wait(left)
        self._last = time.monotonic()

    def _wait(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise Unavailable("It was told to stop.")

    def _check(self, status: int, at: httpx2.URL, data: bytes) -> None:
        if status < 300:
            return
        said = self._safe(data.decode(errors="replace"))[:_SHOWN]
        where = _shown(str(at))
        told = f": {said}" if said else "."
        if status in (401, 403):
            raise NotAuthenticated(
                f"{where} answered {status}{told}", hint="Look at the secret that token names."
            )
        if status in (404, 410):
            raise NotFound(f"{where} answered {status}{told}", hint="Look at url.")
        raise SourceUnreadable(f"{where} answered {status}{told}")

    def _parsed(self, data: bytes, at: httpx2.URL) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            start = self._safe(data.decode(errors="replace"))[:60]
            raise SourceUnreadable(
                f"{_shown(str(at))} did not answer with JSON, but with {start!r}."
            ) from None

    def _safe(self, text: str) -> str:
        """One line without a secret in it: some servers say what they were sent."""
        line = " ".join(text.split())
        for value in self._secret.values():
            for part in (value, value.rpartition(" ")[2]):
                if part:
                    line = line.replace(part, "…")
        return line


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    ports = {"http": 80, "https": 443}
    return url.scheme, url.host, url.port or ports.get(url.scheme)


def _shown(url: str) -> str:
    """An address without what may be secret in it."""
    return url.partition("?")[0].partition("#")[0]


def _next_link(headers: httpx2.Headers, at: httpx2.URL) -> str | None:
    """The address of rel="next" in Link headers, as RFC 8288 writes them."""
    for value in headers.get_list("link"):
        for link in _links(value):
            place, _, rest = link.partition(">")
            for part in rest.split(";"):
                name, _, given = part.partition("=")
                rels = given.strip().strip('"').lower().split()
                if name.strip().lower() == "rel" and "next" in rels:
                    return str(at.join(place.strip().lstrip("<").strip()))
    return None


def _links(value: str) -> list[str]:
    """The links of a header; an address in it may have commas."""
    found, current, inside = [], "", False
    for char in value:
        inside = char == "<" or (inside and char != ">")
        if char == "," and not inside:
            found.append(current.strip())
            current = ""
        else:
            current += char
    return [*found, current.strip()]


def _retry_after(headers: httpx2.Headers) -> float:
    given = headers.get("retry-after", "").strip()
    if not given:
        return 0.0
    try:
        return max(0.0, float(given))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(given).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
