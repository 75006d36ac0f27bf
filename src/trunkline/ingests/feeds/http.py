"""Rows that are sent by POST, and answered when they are durable.

Requests that come within a moment share a commit. A request with an Idempotency-Key is taken in
once: its answer is kept in the tree of the commit that holds its rows, for a week, so that a
sender who heard nothing may ask again, also after a restart. More than can be committed is not
held in memory: senders are told to come back.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from blake3 import blake3

from trunkline.ingests.feeds.base import (
    OWN,
    Columns,
    Feed,
    Gathered,
    JsonLines,
    Piece,
    Records,
    Site,
    Written,
)
from trunkline.ingests.feeds.bodies import read_body
from trunkline.ingests.feeds.endpoints import Endpoint, Refusal
from trunkline.ingests.gathering import one_line
from trunkline.lake.files import read
from trunkline.model.entries import Entry

GROUP_SECONDS = 0.05
KEEP_DAYS = 7
_KEYS = f"{OWN}/keys"
_ROOM = 8
"""How many of the largest bodies may wait at once."""


@dataclass(slots=True)
class _Request:
    piece: JsonLines | Records | Columns
    rows: int
    size: int
    label: str
    key: str
    digest: str
    answer: Future[dict[str, Any]] = field(default_factory=Future)


class HttpFeed(Feed):
    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self.token = str(given.get("token") or "")
        self.most = int(given.get("most", 16_000_000))
        self._name = str(site.name)
        self._endpoint: Endpoint | None = None
        self._changed = threading.Condition()
        self._waiting: list[_Request] = []
        self._by_key: dict[str, _Request] = {}
        self._count = self._held = 0
        self._closing = False

    # -- the loop's side -------------------------------------------------------------------

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        if drain and not self._closing:
            return None
        if not self._closing:
            self._listen()
            self._wait()
        taken = self._take()
        if not taken:
            return None
        end = {"requests": int(position.get("requests", 0)) + len(taken)}
        day = self._today()
        return Gathered(
            _pieces(taken),
            end,
            origin=lambda: f"{len(taken):,} request{'' if len(taken) == 1 else 's'}",
            noted=lambda stored: {
                _path(day, one.key): json.dumps(
                    {**_told(one, stored.commit, stored.malformed), "body": one.digest}
                ).encode()
                for one in taken
                if one.key
            },
            dropped=self._outdated(day),
            token=taken,
        )

    def committed(self, batch: Gathered, written: Written) -> None:
        commit = written.commit.id if written.commit else ""
        for one in batch.token:
            self._settle(one, _told(one, commit, written.malformed))

    def refused(self, batch: Gathered, error: Exception) -> None:
        # Perhaps it is in all the same: who sent a key will be told when he asks again.
        reason = f"It could not be committed: {one_line(error)}"
        self._refuse(batch.token, reason)

    @property
    def owes(self) -> bool:  # type: ignore[override]
        return bool(self._waiting)

    def facts(self) -> Mapping[str, Any]:
        where = self._endpoint
        return {"listening": f"{where.host}:{where.port}"} if where else {}

    def closing(self) -> None:
        with self._changed:
            self._closing = True

    def close(self) -> None:
        with self._changed:
            self._closing = True
            left, self._waiting = self._waiting, []
        self._refuse(left, "The ingest has stopped.")
        if self._endpoint is not None:
            self.site.endpoints.leave(self._endpoint, self._name)
            self._endpoint = None

    def _listen(self) -> None:
        if self._endpoint is None:
            given = self.site.options
            host, port = str(given.get("host", "127.0.0.1")), int(given.get("port", 8480))
            self._endpoint = self.site.endpoints.listen(host, port, self._name, self)

    def _wait(self) -> None:
        """Until there is a request; and a moment more, for others to share its commit."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting, min(self.site.source.interval, 0.2))
            if not self._waiting:
                return
        time.sleep(min(self.site.source.interval, GROUP_SECONDS))

    def _take(self) -> list[_Request]:
        with self._changed:
            rows = size = count = 0
            for one in self._waiting:
                rows, size = rows + one.rows, size + one.size
                source = self.site.source
                if count and (rows > source.rows or size > source.bytes):
                    break
                count += 1
            taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    def _settle(self, one: _Request, answer: dict[str, Any]) -> None:
        with self._changed:
            if one.key:
                self._by_key.pop(one.key, None)
        if not one.answer.done():
            one.answer.set_result(answer)

    def _refuse(self, requests: list[_Request], reason: str) -> None:
        for one in requests:
            with self._changed:
                if one.key:
                    self._by_key.pop(one.key, None)
            if not one.answer.done():
                hint = "Send it again, with an Idempotency-Key so that it cannot be in twice."
                one.answer.set_exception(Refusal(503, reason, hint, retry=1))

    # -- the sender's side -----------------------------------------------------------------

    async def receive(self, kind: str, body: bytes, key: str) -> dict[str, Any]:
        self._count += 1
        label = f"request {self._count}"
        piece, rows = await asyncio.to_thread(read_body, kind, body, label)
        request = _Request(piece, rows, len(body), label, key, blake3(body).hexdigest())
        if self._closing:
            raise Refusal(503, "The ingest is stopping.", "Try again.", retry=1)
        with self._changed:
            other = self._by_key.get(key) if key else None
            if other is None and key:
                # From here on, whoever comes with the same key waits for this one.
                self._by_key[key] = request
        if other is not None:
            return _same(await _answer(other), request, other.digest)
        try:
            known = await asyncio.to_thread(self._answered, key) if key else None
        except Exception as error:
            self._refuse([request], f"It cannot be taken in now: {one_line(error)}")
            return await _answer(request)
        if known is not None:
            digest = str(known.pop("body", ""))
            self._settle(request, known)
            return _same(known, request, digest)
        if not self._enqueued(request):
            self._refuse([request], "The ingest is stopping.")
        return await _answer(request)

    def _enqueued(self, request: _Request) -> bool:
        with self._changed:
            if self._closing:
                return False
            self._waiting.append(request)
            self._changed.notify_all()
            return True

    def make_room(self, size: int) -> bool:
        with self._changed:
            if self._held + size > _ROOM * max(self.most, 1 << 20):
                return False
            self._held += size
            return True

    def free(self, size: int) -> None:
        with self._changed:
            self._held -= size

    # -- keys ------------------------------------------------------------------------------

    def _answered(self, key: str) -> dict[str, Any] | None:
        """What was answered to a key before, by whoever held the ingest then."""
        today, tree = self._today(), self.site.head()
        for days in range(KEEP_DAYS + 1):
            day = (datetime.fromisoformat(today) - timedelta(days=days)).date().isoformat()
            line = tree.find(_path(day, key).encode())
            if line is not None:
                data = b"".join(read(self.site.core, Entry.decode(line)))
                found: dict[str, Any] = json.loads(data)
                return found
        return None

    def _outdated(self, today: str) -> list[str]:
        """The oldest folder of keys, if nobody will ask for them any more."""
        line = next(self.site.head().scan(f"{_KEYS}/".encode()), None)
        if line is None:
            return []
        day = line.decode().removeprefix(f"{_KEYS}/").partition("/")[0]
        first = (datetime.fromisoformat(today) - timedelta(days=KEEP_DAYS)).date().isoformat()
        return [f"{_KEYS}/{day}"] if day < first else []

    def _today(self) -> str:
        with self.site.core.database.read() as session:
            now = session.now()
        return datetime.fromtimestamp(now / 1e6, UTC).date().isoformat()


async def _answer(request: _Request) -> dict[str, Any]:
    # Shielded: a sender who goes away takes no answer from others with the same key.
    return await asyncio.shield(asyncio.wrap_future(request.answer))


def _same(answer: dict[str, Any], request: _Request, digest: str) -> dict[str, Any]:
    if digest != request.digest:
        raise Refusal(
            409,
            "This Idempotency-Key belongs to another body.",
            "Use a new key for each request.",
        )
    return answer


def _pieces(requests: list[_Request]) -> Iterator[Piece]:
    """Lines of all requests together; each row still knows its request."""
    lines: list[bytes] = []
    sources: list[str] = []
    for one in requests:
        if isinstance(one.piece, JsonLines):
            lines += one.piece.lines
            sources += one.piece.sources
        else:
            yield one.piece
    if lines:
        yield JsonLines(lines, sources)


def _told(one: _Request, commit: str, malformed: Mapping[str, int]) -> dict[str, Any]:
    bad = malformed.get(one.label, 0)
    return {"commit": commit, "rows": one.rows - bad, "malformed": bad}


def _path(day: str, key: str) -> str:
    return f"{_KEYS}/{day}/{blake3(key.encode()).hexdigest()}"
