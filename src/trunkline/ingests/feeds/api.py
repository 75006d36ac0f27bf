"""An HTTP API that hands out records in pages.

A sweep goes over all pages. With a key or `since`, pages are committed as they come, each with
the place of the next one: a crash goes on behind the last page that is in. `since` asks only for
what changed: its value moves on when the sweep is over. Without both, a sweep replaces the table
in one commit, and makes none if nothing changed. A list that only grows can be appended from: the
next sweep begins where the last one ended.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from trunkline.connect.web import Answer, Web
from trunkline.errors import SourceUnreadable
from trunkline.ingests.feeds.base import Feed, Gathered, JsonLines, Records, Site
from trunkline.ingests.feeds.pace import Pace
from trunkline.ingests.feeds.paging import Place, at, paging_of, records_at
from trunkline.model.suggest import did_you_mean

EVERY = 60.0
MOST = 64_000_000
TIMEOUT = 30.0
_LINES = 10_000


@dataclass
class _Sweep:
    """Records of some pages, and where they end."""

    position: dict[str, Any]
    rows: list[Any] = field(default_factory=list)
    pages: int = 0
    size: int = 0
    is_over: bool = False


class ApiFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._url = str(given["url"])
        self._method = str(given.get("method", "GET"))
        self._params = dict(given.get("params") or {})
        self._body = given.get("body")
        self._records = str(given.get("records", ""))
        self._paging = paging_of(given.get("paging"))
        self._since: Mapping[str, Any] = given.get("since") or {}
        self._key = tuple(given.get("key") or ())
        self._changes = given.get("changes") or _usual(self._key, self._since)
        self._pace = Pace(site.stop, float(given.get("every", EVERY)))
        self._web: Web | None = None
        self._passed: set[str] = set()
        self._page_before = ""
        self._over = False
        self._facts: dict[str, Any] = {}

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        begun = "place" in position and "taken" not in position
        if not begun and (self._over or not self._pace.is_due(drain=drain)):
            return None
        if self._changes == "replace":
            return self._replaced(position, drain)
        sweep = self._swept(dict(position))
        if sweep.is_over:
            self._pace.asked()
            # There is no more now, and who drains is not to ask again.
            self._over = drain
        if not sweep.rows:
            return Gathered([], sweep.position) if sweep.position != position else None
        key = self._key if self._changes == "upsert" else ()
        return Gathered(
            [Records(sweep.rows, self._name)],
            sweep.position,
            origin=lambda: _origin(self._name, sweep.pages),
            key=key,
        )

    def refused(self, batch: Gathered, error: Exception) -> None:
        self._passed.clear()
        self._page_before = ""

    def facts(self) -> Mapping[str, Any]:
        """How many pages and records came since it was started."""
        return self._facts

    def close(self) -> None:
        self._passed.clear()
        if self._web is not None:
            self._web.close()
            self._web = None

    @property
    def _name(self) -> str:
        parts = urlsplit(self._url)
        return f"{parts.hostname}{parts.path}"

    # -- a sweep ---------------------------------------------------------------------------

    def _swept(self, position: dict[str, Any]) -> _Sweep:
        """Pages from the position on, until there is enough for a commit."""
        source = self.site.source
        until = time.monotonic() + source.interval
        sweep = _Sweep(position)
        while not sweep.is_over and not self.site.stop.is_set():
            before = self._place(sweep.position)
            rows, after = self._page(before, sweep.position)
            sweep.pages += 1
            skipped = sweep.position.pop("taken", 0)
            self._note(sweep, rows[skipped:])
            if after is not None:
                sweep.position["place"] = after
            else:
                sweep.is_over = True
                self._finish(sweep.position, before, len(rows))
            full = len(sweep.rows) >= source.rows or sweep.size >= source.bytes
            if full or time.monotonic() >= until:
                break
        return sweep

    def _place(self, position: Mapping[str, Any]) -> Place:
        if "place" not in position or "taken" in position:  # a sweep begins
            self._passed.clear()
            self._page_before = ""
        return dict(position["place"]) if "place" in position else self._paging.first()

    def _page(self, place: Place, position: Mapping[str, Any]) -> tuple[list[Any], Place | None]:
        url, more = self._paging.asked(place)
        answer = self._ask(url, {**self._asked_since(position), **more})
        rows = records_at(answer.body, self._records, answer.url)
        after = self._paging.next(place, answer, len(rows))
        self._refuse_loop(place, after, rows)
        pages, records = self._facts.get("pages", 0), self._facts.get("records", 0)
        self._facts = {"pages": pages + 1, "records": records + len(rows)}
        return rows, after

    def _ask(self, url: str | None, more: Mapping[str, Any]) -> Answer:
        if self._web is None:
            self._web = _client(self.site)
        if url is not None:
            # The server's own address has all that it wants to be asked with.
            return self._web.ask("GET", url)
        if self._method == "POST":
            return self._web.ask("POST", self._url, self._params, {**(self._body or {}), **more})
        return self._web.ask(self._method, self._url, {**self._params, **more})

    def _refuse_loop(self, place: Place, after: Place | None, rows: list[Any]) -> None:
        """Pages that lead back to where they were would never end."""
        self._passed.add(json.dumps(place, sort_keys=True))
        if after is not None and json.dumps(after, sort_keys=True) in self._passed:
            ((kind, value),) = after.items()
            raise SourceUnreadable(
                f"{self._name} goes round in a circle: {kind} {value} comes a second time.",
                hint="Look at paging.",
            )
        if self._paging.by_number and rows:
            digest = _digest(rows)
            if digest == self._page_before:
                ((kind, value),) = place.items()
                raise SourceUnreadable(
                    f"{self._name}: {kind} {value} is the same as the page before it.",
                    hint="Does the API know the parameter that paging names?",
                )
            self._page_before = digest

    # -- what is new -----------------------------------------------------------------------

    def _asked_since(self, position: Mapping[str, Any]) -> dict[str, Any]:
        if not self._since:
            return {}
        value = position.get("since", self._since.get("start"))
        return {} if value is None else {self._since["param"]: value}

    def _note(self, sweep: _Sweep, rows: list[Any]) -> None:
        """Take what is new of a page, and see how far it goes."""
        if self._since:
            rows = self._newer(sweep.position, rows)
        sweep.rows += rows
        sweep.size += sum(len(str(row)) for row in rows)

    def _newer(self, position: dict[str, Any], rows: list[Any]) -> list[Any]:
        """Rows without those at the very value that was asked for, which came before."""
        name = self._since["from"]
        seen, known = set(position.get("seen", ())), position.get("since")
        taken = []
        for row in rows:
            value = at(row, name)
            if value is None or isinstance(value, bool | list | dict):
                fields = list(row) if isinstance(row, dict) else []
                raise SourceUnreadable(
                    f'A record of {self._name} has no "{name}", which since goes by.'
                    f"{did_you_mean(name, fields)}",
                    hint=f"It has: {', '.join(map(str, fields[:20]))}." if fields else "",
                )
            mark = _digest(row)
            if not self._key and value == known and mark in seen:
                continue
            taken.append(row)
            self._reach(position, value, mark)
        return taken

    def _reach(self, position: dict[str, Any], value: Any, mark: str) -> None:
        newest = position.get("newest", position.get("since"))
        try:
            beyond = newest is None or value > newest
        except TypeError:
            raise SourceUnreadable(
                f'"{self._since["from"]}" is now a text and now a number, so that it is not '
                "clear which is newer."
            ) from None
        if beyond:
            position["newest"], position["newest_seen"] = value, []
        elif value != newest:
            return
        if not self._key:
            there = position.get("newest_seen")
            if there is None:
                there = position.get("seen", ())
            position["newest"], position["newest_seen"] = value, [*there, mark]

    def _finish(self, position: dict[str, Any], last: Place, count: int) -> None:
        """The sweep is over: where the next one begins."""
        position.pop("place", None)
        newest, marks = position.pop("newest", None), position.pop("newest_seen", None)
        if newest is not None:
            position["since"] = newest
            if marks:
                position["seen"] = marks
        elif not self._since and self._changes == "append":
            position["place"], position["taken"] = last, count

    # -- all of it -------------------------------------------------------------------------

    def _replaced(self, position: Mapping[str, Any], drain: bool) -> Gathered | None:
        """A whole sweep, which is kept in a file until it is known to be whole."""
        spool: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read when it is committed
        digest, pages, place = hashlib.sha256(), 0, self._place({})
        after: Place | None = place
        while after is not None:
            rows, after = self._page(after, {})
            pages += 1
            for row in rows:
                line = json.dumps(row).encode() + b"\n"
                digest.update(line)
                spool.write(line)
        self._pace.asked()
        self._over = drain
        end = {"digest": digest.hexdigest()[:32]}
        if end == dict(position):
            spool.close()
            return None
        return Gathered(
            _lines(spool, self._name), end, origin=lambda: _origin(self._name, pages), replace=True
        )


def _usual(key: tuple[str, ...], since: Mapping[str, Any]) -> str:
    if key:
        return "upsert"
    return "append" if since else "replace"


def _client(site: Site) -> Web:
    given = site.options
    secret = {name: str(given[name]) for name, _ in site.source.secrets}
    headers = {name: value for name, value in secret.items() if name != "token"}
    if "token" in secret:
        headers["Authorization"] = f"Bearer {secret['token']}"
    rate = given.get("rate")
    return Web(
        str(given["url"]),
        headers=dict(given.get("headers") or {}),
        secret_headers=headers,
        timeout=float(given.get("timeout", TIMEOUT)),
        most=int(given.get("most", MOST)),
        pause=1 / float(rate) if rate else 0.0,
        stop=site.stop,
    )


def _lines(spool: IO[bytes], source: str) -> Iterator[JsonLines]:
    with spool:
        spool.seek(0)
        held: list[bytes] = []
        for line in spool:
            held.append(line.rstrip(b"\n"))
            if len(held) == _LINES:
                yield JsonLines(held, [source] * len(held))
                held = []
        if held:
            yield JsonLines(held, [source] * len(held))


def _digest(value: Any) -> str:
    data = json.dumps(value, sort_keys=True).encode()
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _origin(name: str, pages: int) -> str:
    return f"{name}, {pages:,} pages" if pages > 1 else name
