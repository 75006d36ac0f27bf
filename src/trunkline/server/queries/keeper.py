"""All queries of a server: a few run at once, the others wait their turn, fair to everybody."""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections import Counter
from contextlib import suppress
from pathlib import Path
from threading import Condition, Lock, Thread
from time import monotonic
from uuid import uuid4
from weakref import WeakKeyDictionary, finalize, ref

from trunkline.engine.options import machine_memory
from trunkline.errors import (
    DiskFull,
    Failed,
    Precondition,
    TimedOut,
    TooLarge,
    TooManyRequests,
    TrunklineError,
)
from trunkline.model.access import LAKE, Permission, Principal
from trunkline.model.commits import DEFAULT_PROJECT, RepoName
from trunkline.model.time import now_micros
from trunkline.query.answer_files import own_folder
from trunkline.query.ask import Engine
from trunkline.query.kept import Kept
from trunkline.query.result import Result
from trunkline.sdk.wire.arrow import value_from_json
from trunkline.sdk.wire.sql import NewQuery, QueryState
from trunkline.server.erased import at_erasures
from trunkline.server.queries.processes import Processes
from trunkline.server.queries.query import Query, Stopped, no_query, ours
from trunkline.server.queries.spool import Spool
from trunkline.server.service import Service
from trunkline.storage.disk import spare

log = logging.getLogger("trunkline.server")

AT_ONCE = 3
"""Queries that run at the same time; of one person at most one less, so that others get on."""
MOST_WAITING = 100
MOST_TEXT = 1 << 20
MOST_PARAMS = 1 << 18
MOST_KEPT = 50
"""Of one person: the oldest that have ended give way."""
KEPT_SECONDS = 600.0
SHORT_SECONDS = 30.0
"""How long rows that nobody looks at are kept where the disk is nearly full."""
KEPT_BYTES = 16 << 30
AGAIN_SECONDS = 0.1
"""An engine that was told to stop between two of its steps did not hear it: it is told again."""

UNHEARD_SECONDS = 1.0
"""What an engine does not hear for so long it cannot hear: nobody waits for it any longer."""
STUCK_SECONDS = 300.0
CROWDED_SECONDS = 10.0
"""How long Spark may be at a query that it does not hear the end of, and how long at several: one
may have what all others need. Then it is ended; jobs on it are tried again."""
LOOK_SECONDS = 0.5
"""How often the space that queries take on disk is looked at, while there are any."""
ERASED_SECONDS = 5.0
"""How soon rows of what others erase are gone. Before rows are given out it is looked at too."""


class Keeper:
    """The queries of one service."""

    def __init__(self, service: Service) -> None:
        self._held = ref(service)
        self._timeout = service.settings.seconds("sql.timeout")
        memory = service.settings.number("sql.memory") or machine_memory() // 2
        self._reserve = _size(service.settings["sql.reserve"].value)
        self._kept = Kept(service.lake._core)
        folder = service.lake._folder
        self._processes = Processes(folder.parent, memory // AT_ONCE, self._reserve)
        service.hub.watch(at_erasures(self._processes.renew))
        self._folder, lock = own_folder(folder)
        self._queries: dict[str, Query] = {}
        self._queue: list[Query] = []
        self._running: set[Query] = set()
        self._unheard: set[Query] = set()
        """They have ended for everybody but their engine."""
        self._changed = Condition()
        self._watcher: Thread | None = None
        self._closed = False
        self._clear = finalize(self, _removed, self._folder, lock, self._processes)

    def warm(self) -> None:
        """Be quick also with the first query."""
        with suppress(TrunklineError):
            self._processes.warm()

    def ask(self, who: Principal, asked: NewQuery) -> Query:
        """Take a query: it runs at once, or when it is its turn."""
        if len(asked.text) > MOST_TEXT:
            raise TooLarge(f"A query has at most {MOST_TEXT:,} characters.")
        if len(json.dumps(asked.params)) > MOST_PARAMS:
            raise TooLarge(
                f"Params have at most {MOST_PARAMS:,} characters as JSON.",
                hint="Put them into a table, and join it.",
            )
        name = uuid4().hex
        project = asked.project or DEFAULT_PROJECT
        spool = Spool(self._folder / name, reserve=self._reserve)
        query = Query(name, who, asked, project, spool)
        query.check = lambda: self._check_erased(query)
        with self._changed:
            if self._closed or len(self._queue) >= MOST_WAITING:
                raise TooManyRequests("Too many queries wait already.", hint="Ask again later.")
            self._queries[name] = query
            self._queue.append(query)
            self._start_next()
            if self._watcher is None:
                self._watcher = Thread(target=self._watch, name="queries", daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        return query

    def get(self, who: Principal, name: str) -> Query:
        """Somebody's own query. One of others is not there."""
        query = self.find(who, name)
        query.check()
        query.touched = monotonic()
        return query

    def find(self, who: Principal, name: str) -> Query:
        """The same, also if its rows may not be given out."""
        query = self._queries.get(name)
        if query is None or not query.is_for(who):
            raise no_query(name)
        return query

    def of(self, who: Principal) -> list[Query]:
        return [one for one in list(self._queries.values()) if one.is_for(who)]

    def drop(self, query: Query) -> None:
        """Cancel one that runs or waits; of one that has ended the rows are forgotten."""
        with self._changed:
            if query.final:
                self._forget(query)
                return
            why = Failed("The query was cancelled.")
            if query in self._queue:
                self._queue.remove(query)
                query.end(QueryState.CANCELLED, why)
            self._changed.notify_all()
        query.stop(why)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            waiting, self._queue = self._queue, []
            running = list(self._running)
            self._changed.notify_all()
        for query in (*waiting, *running):
            query.stop(Failed("The server stops."))
        self._kept.close()
        self._clear()

    @property
    def _service(self) -> Service:
        found = self._held()
        if found is None:
            raise Failed("The server stops.")
        return found

    # -- how -----------------------------------------------------------------------------------

    def _start_next(self) -> None:
        """Run what may: first of those who run the least, then who came first."""
        while self._queue and len(self._running) < AT_ONCE:
            # What does not end takes a place of who asked it, and of nobody else.
            busy = Counter(_key(one.owner) for one in (*self._running, *self._unheard))
            query = min(self._queue, key=lambda one: (busy[_key(one.owner)], one.created))
            if busy[_key(query.owner)] >= max(1, AT_ONCE - 1):
                return
            self._queue.remove(query)
            self._running.add(query)
            query.running_since = monotonic()
            Thread(target=self._run, args=(query,), name=f"query-{query.id}", daemon=True).start()

    def _run(self, query: Query) -> None:
        state, error = QueryState.DONE, None
        try:
            query.erased = self._kept.erased()
            query.started, query.state = now_micros(), QueryState.RUNNING
            query.step()
            query.result = self._result(query)
            query.step()
            query.spool.write(query.result.batches(), query.step)
        except BaseException as caught:  # also what an interrupted engine raises
            error = query.stopped or ours(caught)
            state = QueryState.FAILED if query.stopped is None else _state_of(query.stopped)
            if not isinstance(caught, Stopped | Exception | KeyboardInterrupt):
                raise
        finally:
            if query.result is not None:
                query.result.close()
            if state is not QueryState.DONE or query.final:
                query.spool.drop()
            if not query.final:
                query.end(state, error)
            with self._changed:
                self._running.discard(query)
                self._unheard.discard(query)
                self._start_next()
                self._changed.notify_all()

    def _result(self, query: Query) -> Result:
        asked, who = query.asked, query.owner
        if asked.engine == Engine.DUCKDB:
            return self._processes.ask(who, asked, query.project, query.stop_early)
        engine = self._service.engine
        if asked.engine == Engine.SPARK and engine != "here":
            if engine is None:
                raise Precondition("This server has no worker, so Spark cannot be asked.")
            from trunkline.server.queries.forwarding import ask_worker

            return ask_worker(Path(engine), who, asked, query.stop_early)

        def allowed(repo: RepoName) -> bool:
            return who.may_repo(Permission.READ, repo)

        lake = self._service.lake_of(who).bound(project=query.project)
        given = asked.params
        return lake._query(
            self._kept,
            asked.text,
            engine=asked.engine,
            at=asked.at,
            params={name: value_from_json(one) for name, one in given.items()} if given else None,
            allowed=allowed,
            places=who.may(Permission.ADMIN, LAKE),
            stop=query.stop_early,
        )

    def _check_erased(self, query: Query) -> None:
        """Before its rows are given out: they may be of what was erased since, here or elsewhere.

        Which rows came from what cannot be told of every query, so none is spared.
        """
        if query.started is not None and query.erased != self._kept.erased():
            if query.final:
                with self._changed:
                    self._forget(query)
            raise no_query(query.id)

    def _watch(self) -> None:
        """End what takes too long or too much, repeat what was not heard, forget what is old."""
        while True:
            with self._changed:
                if self._closed or not (self._queries or self._unheard):
                    self._watcher = None
                    return
            try:
                self._look()
            except Exception:
                log.exception("the watcher of queries failed")
            with self._changed:
                if (self._queries or self._unheard) and not self._closed:
                    self._changed.wait(self._pause(monotonic()))

    def _look(self) -> None:
        with self._changed:
            # The process of one that was not heard may be there only now.
            unheard = [one for one in self._unheard if one.asked.engine == Engine.DUCKDB]
            watched = [*self._running, *unheard]
        for query in watched:
            self._look_at(query, monotonic())
        self._look_at_spark(monotonic())
        with suppress(TrunklineError):
            self._forget_erased(self._kept.erased())
        with self._changed:
            self._forget_old(monotonic())

    def _look_at(self, query: Query, now: float) -> None:
        if query.stopped is None and now - query.running_since >= self._timeout:
            query.stop(TimedOut(f"The query took longer than {self._timeout:g} seconds."))
        elif query.stopped is None and self._takes_the_reserve(query):
            query.stop(
                DiskFull(
                    "The query needs more space on disk than there is.",
                    hint="Read fewer columns or rows, or free some space on the server.",
                )
            )
        elif query.stopped is not None:
            with suppress(Exception):
                query.interrupt()
            if now - query.stopped_at >= UNHEARD_SECONDS and not query.final:
                with self._changed:
                    if query in self._running:
                        self._running.remove(query)
                        self._unheard.add(query)
                query.end(_state_of(query.stopped), query.stopped)
                with self._changed:
                    self._start_next()

    def _look_at_spark(self, now: float) -> None:
        """End a Spark that does not hear: none of what it computes can be stopped otherwise."""
        desk = self._kept.asked_desk
        if desk is None:
            return
        with self._changed:
            stuck = [one for one in self._unheard if one.asked.engine == Engine.SPARK]
        patience = STUCK_SECONDS if len(stuck) < AT_ONCE - 1 else CROWDED_SECONDS
        # Who waited for it to start was not heard either.
        late = any(now - max(one.stopped_at, desk.since) >= patience for one in stuck)
        if late and desk.end():
            names = ", ".join(sorted({one.owner.name for one in stuck}))
            log.warning(
                "Spark is ended, as it goes on with queries that were stopped, of %s", names
            )

    def _takes_the_reserve(self, query: Query) -> bool:
        folder = query.stop_early.spill
        with suppress(OSError):
            if folder and spare(folder, self._reserve) < 0:
                return any(one.stat().st_size for one in os.scandir(folder))
        return False

    def _forget_erased(self, erased: int) -> None:
        with self._changed:
            begun = [one for one in self._queries.values() if one.started is not None]
            old = [one for one in begun if one.erased < erased]
            for query in old:
                if query.final:
                    self._forget(query)
        for query in old:
            if not query.final:
                query.stop(no_query(query.id))

    def _pause(self, now: float) -> float:
        """Seconds until something may be late, too old or too large."""
        if any(one.stopped is not None for one in self._running):
            return AGAIN_SECONDS
        ends = [one.running_since + self._timeout for one in self._running]
        ends += [one.touched + KEPT_SECONDS for one in self._queries.values() if one.final]
        most = LOOK_SECONDS if self._running or self._unheard else ERASED_SECONDS
        return max(0.01, min(most, min(ends, default=now + most) - now))

    def _forget_old(self, now: float) -> None:
        ended = sorted((one for one in self._queries.values() if one.final), key=_touched)
        size = sum(one.spool.size for one in ended)
        count = Counter(_key(one.owner) for one in ended)
        full = any(one.spool.size for one in ended) and spare(self._folder, self._reserve) < 0
        for query in ended:
            old = now - query.touched >= (SHORT_SECONDS if full else KEPT_SECONDS)
            if old or size > KEPT_BYTES or count[_key(query.owner)] > MOST_KEPT:
                size -= query.spool.size
                count[_key(query.owner)] -= 1
                self._forget(query)

    def _forget(self, query: Query) -> None:
        self._queries.pop(query.id, None)
        query.spool.drop()


def _state_of(why: TrunklineError) -> QueryState:
    """How a query ends that was stopped: it could not be done, or was not to be."""
    could_not = isinstance(why, TimedOut | DiskFull)
    return QueryState.FAILED if could_not else QueryState.CANCELLED


def _size(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _removed(folder: Path, lock: int, processes: Processes) -> None:
    processes.close()
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _key(who: Principal) -> tuple[str, str]:
    return who.kind, who.name


def _touched(query: Query) -> float:
    return query.touched


_keepers: WeakKeyDictionary[Service, Keeper] = WeakKeyDictionary()
_making = Lock()


def keeper_of(service: Service) -> Keeper:
    """The queries of a service, from its first query on."""
    with _making:
        found = _keepers.get(service)
        if found is None:
            found = _keepers[service] = Keeper(service)
        return found


def close_queries(service: Service) -> None:
    """End what runs: the service stops."""
    with _making:
        found = _keepers.pop(service, None)
    if found is not None:
        found.close()
