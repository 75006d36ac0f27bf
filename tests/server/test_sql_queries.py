"""Queries that a server keeps: what ends them, what is kept of them."""

from __future__ import annotations

import asyncio
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import trunkline as tl
from tests.strangers import can_be_another, stranger
from tests.waiting import until
from trunkline import Lake, settings
from trunkline.errors import (
    DiskFull,
    Failed,
    NotFound,
    Precondition,
    TimedOut,
    TooLarge,
    Unavailable,
)
from trunkline.lake.erase import erase
from trunkline.model.access import owner_of_lake
from trunkline.model.refs import parse_ref
from trunkline.query import answer_files
from trunkline.query.answer_files import own_folder
from trunkline.sdk.wire.arrow import read_stream
from trunkline.sdk.wire.sql import NewQuery, QueryState
from trunkline.server.queries import keeper as keepers
from trunkline.server.queries import processes
from trunkline.server.queries.answers import followed
from trunkline.server.queries.keeper import Keeper, keeper_of
from trunkline.server.queries.query import Query
from trunkline.server.queries.spool import Spool
from trunkline.server.service import Service

LONG = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"
UNHEARD = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))"
FORKED = """
from pathlib import Path
from trunkline.server.queries.processes import _Zygote

zygote = _Zygote()
with zygote.fork() as door:
    door.recv(1)
    print(Path(f"/proc/{zygote._process.pid}/oom_score_adj").read_text())
"""
UNHEARD_YET = UNHEARD.replace("SELECT ", "FROM range(") + ")"
"""Before its columns are known."""
WHO = owner_of_lake("ada")
_services: list[Service] = []
"""Who keeps queries does not keep the service."""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path) as made:
        yield made


def kept(lake: Lake, **options: str) -> Keeper:
    found = settings.load(
        lake._folder, {name.replace("_", "."): one for name, one in options.items()}
    )
    service = Service(lake, found)
    keeper = keeper_of(service)
    keeper.warm()  # the start of a process is no part of a query's time
    _services.append(service)
    return keeper


def ended(query: Query) -> Query:
    assert asyncio.run(query.until(lambda: False, 60))
    return query


class TestEnds:
    def test_one_that_takes_too_long(self, lake):
        keeper = kept(lake, sql_timeout="200ms")
        query = ended(keeper.ask(WHO, NewQuery(LONG)))
        assert query.state is QueryState.FAILED
        assert isinstance(query.error, TimedOut)
        assert not query.spool.path.exists()
        keeper.close()

    @pytest.mark.slow
    def test_every_one_that_takes_too_long(self, lake):
        """Not only the first: who watches hears of each."""
        keeper = kept(lake, sql_timeout="2s")
        assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
        assert isinstance(ended(keeper.ask(WHO, NewQuery(LONG))).error, TimedOut)
        keeper.close()

    @pytest.mark.slow
    def test_one_that_duckdb_does_not_hear(self, lake, monkeypatch):
        """Its process is ended; what others ask goes on, and so does who asked it."""
        monkeypatch.setattr(processes, "UNHEARD_SECONDS", 0.1)
        keeper = kept(lake, sql_timeout="2s")
        stuck = keeper.ask(WHO, NewQuery(UNHEARD))
        beside = ended(keeper.ask(owner_of_lake("bob"), NewQuery("SELECT 1")))
        assert beside.error is None and not stuck.final
        assert isinstance(ended(stuck).error, TimedOut)
        until(lambda: not keeper._running and not keeper._unheard, "its thread to end")
        assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
        keeper.close()

    def test_one_whose_process_is_killed(self, lake):
        keeper = kept(lake)
        (process,) = keeper._processes._idle
        query = keeper.ask(WHO, NewQuery(LONG))
        until(lambda: query.result is not None, "it to run")
        beside = keeper.ask(owner_of_lake("bob"), NewQuery(LONG))
        until(lambda: beside.result is not None, "the other to run")
        process.kill()
        assert isinstance(ended(query).error, Unavailable)
        assert not Path(process._folder).exists() and not beside.final
        assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
        keeper.close()

    @pytest.mark.parametrize(
        "value", ["len(range(100000000))", "length(repeat('x', 1000000000))"], ids=["list", "text"]
    )
    def test_one_value_that_needs_too_much_memory(self, lake, value):
        """DuckDB's own limit does not count it."""
        keeper = kept(lake, sql_memory="768MiB")
        query = ended(keeper.ask(WHO, NewQuery(f"SELECT {value}")))
        assert isinstance(query.error, Unavailable)
        assert "more memory" in query.error.message
        assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
        assert keeper._processes._idle  # which is asked next
        keeper.close()

    def test_one_that_would_take_the_last_of_the_disk(self, lake):
        keeper = kept(lake, sql_reserve="1000000GiB")
        assert ended(keeper.ask(WHO, NewQuery("FROM range(1000)"))).error is None
        query = ended(keeper.ask(WHO, NewQuery("FROM range(10000000)")))
        assert isinstance(query.error, DiskFull)
        assert not query.spool.path.exists()
        keeper.close()

    def test_one_that_would_spill_the_last_of_the_disk(self, lake):
        keeper = kept(lake, sql_reserve="1000000GiB", sql_memory="192MiB")
        text = "SELECT count(*) FROM (SELECT md5(range::VARCHAR) m FROM range(5000000) ORDER BY m)"
        text = text.replace("count(*)", "max(m), count(DISTINCT m)")
        query = ended(keeper.ask(WHO, NewQuery(text)))
        assert isinstance(query.error, DiskFull)
        keeper.close()

    def test_one_that_needs_too_much_memory(self, lake):
        keeper = kept(lake, sql_memory="1MiB")
        text = "SELECT list(a.range), list(a.range + 1) FROM range(20000000) a"
        query = ended(keeper.ask(WHO, NewQuery(text)))
        assert isinstance(query.error, Unavailable)
        assert "more memory" in query.error.message
        keeper.close()

    def test_one_row_that_is_too_large_for_the_server(self, lake):
        keeper = kept(lake, sql_memory="3GiB")
        query = ended(keeper.ask(WHO, NewQuery("SELECT repeat('x', 100000000) FROM range(2)")))
        assert isinstance(query.error, TooLarge)
        rows = ended(keeper.ask(WHO, NewQuery("SELECT repeat('x', 30000000) FROM range(5)"))).rows()
        assert rows.rows == 5
        assert max(batch.nbytes for batch in rows.batches()) < 65 << 20
        keeper.close()

    def test_no_process_is_used_again_after_an_erasure(self, lake):
        keeper = kept(lake)
        query = keeper.ask(WHO, NewQuery("SELECT count(*) FROM range(300000000)"))
        until(lambda: query.result is not None, "it to run")
        keeper._processes.renew()
        assert ended(query).error is None
        assert not keeper._processes._idle
        keeper.close()

    @pytest.mark.slow
    def test_one_that_was_stopped_before_its_process_was_there(self, lake):
        """It ends, though nobody waits for it any more."""
        keeper = kept(lake)
        keeper._processes.renew()
        with processes._starting:
            query = keeper.ask(WHO, NewQuery(UNHEARD_YET))
            until(lambda: query.started, "it to begin")
            keeper.drop(query)
            assert ended(query).state is QueryState.CANCELLED
        until(lambda: not keeper._unheard, "its process to end", 20)
        keeper.close()

    @pytest.mark.parametrize(
        ("why", "state"),
        [
            (DiskFull("There is no space."), QueryState.FAILED),
            (Failed("The query was cancelled."), QueryState.CANCELLED),
        ],
    )
    def test_why_it_was_stopped_says_how_it_ended(self, lake, why, state):
        keeper = kept(lake)
        query = keeper.ask(WHO, NewQuery(LONG))
        until(lambda: query.result is not None, "it to run")
        query.stop(why)
        assert ended(query).state is state
        keeper.close()

    def test_whose_lake_cannot_be_opened(self, lake):
        """What is wrong is told, also if a process that waits had found it out."""
        keeper = kept(lake)
        told = lake._folder / "lake.toml"
        whole = told.read_text()
        told.write_text("format = ")
        keeper._processes.renew()
        keeper.warm()
        for _ in range(2):
            error = ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error
            assert error is not None and "lake.toml" in error.message
        told.write_text(whole)
        assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
        keeper.close()

    def test_with_a_thousand_descriptors_in_use(self, lake):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
        used = [os.dup(0) for _ in range(1024)]
        try:
            keeper = kept(lake)
            for _ in range(2):
                assert ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error is None
            keeper.close()
        finally:
            for one in used:
                os.close(one)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def test_where_there_is_no_linux(self, lake, monkeypatch):
        monkeypatch.delattr(os, "pidfd_open")
        keeper = kept(lake)
        error = ended(keeper.ask(WHO, NewQuery("SELECT 1"))).error
        assert isinstance(error, Precondition) and "Linux" in error.message
        keeper.close()

    @pytest.mark.slow
    def test_the_watcher_goes_on_after_a_turn_that_fails(self, lake, monkeypatch, caplog):
        monkeypatch.setattr(keepers, "ERASED_SECONDS", 0.05)
        keeper = kept(lake, sql_timeout="2s")
        ended(keeper.ask(WHO, NewQuery("SELECT 1")))
        away = keeper._folder.rename(keeper._folder.with_suffix(".away"))
        until(lambda: "watcher of queries failed" in caplog.text, "a turn to fail", 20)
        away.rename(keeper._folder)
        assert isinstance(ended(keeper.ask(WHO, NewQuery(LONG))).error, TimedOut)
        keeper.close()

    def test_the_server_stops(self, lake):
        keeper = kept(lake)
        query = keeper.ask(WHO, NewQuery(LONG))
        keeper.close()
        assert ended(query).state is QueryState.CANCELLED
        with pytest.raises(Failed):
            query.rows()

    def test_what_nobody_reads_is_forgotten(self, lake, monkeypatch):
        monkeypatch.setattr(keepers, "KEPT_SECONDS", 0.05)
        keeper = kept(lake)
        query = ended(keeper.ask(WHO, NewQuery("SELECT 1")))
        watcher = keeper._watcher
        if watcher is not None:
            watcher.join(60)
        assert not query.spool.path.exists()
        with pytest.raises(NotFound):
            keeper.get(WHO, query.id)

    def test_too_many_of_one_person(self, lake, monkeypatch):
        monkeypatch.setattr(keepers, "MOST_KEPT", 2)
        keeper = kept(lake)
        asked = [ended(keeper.ask(WHO, NewQuery(f"SELECT {n}"))) for n in range(4)]
        with keeper._changed:
            keeper._forget_old(0.0)
        assert keeper.of(WHO) == asked[-2:]
        keeper.close()


def test_the_kernel_takes_a_process_first_also_where_nobody_is_root():
    if not can_be_another():
        pytest.skip("only root may be somebody else")
    with stranger() as somebody:
        ran = somebody.python("-c", FORKED)
        assert ran.stdout and int(ran.stdout) >= 500, ran.stderr


def test_no_folder_whose_lock_cannot_be_had(tmp_path, monkeypatch):
    """Neither a file that cannot be opened, nor one that another holds."""
    own, lock = own_folder(tmp_path)
    for name in ("no/file", str(own / ".lock")):
        monkeypatch.setattr(answer_files, "_LOCK", name)
        before = os.listdir("/proc/self/fd")
        with pytest.raises((OSError, Unavailable)):
            own_folder(tmp_path)
        assert os.listdir("/proc/self/fd") == before
    os.close(lock)


def numbers(start: int, count: int) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(range(start, start + count), pa.int64())})


def spooled(folder: Path, *batches: pa.RecordBatch, **most: int) -> Spool:
    spool = Spool(folder / "spool", **most)
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    spool.write(reader, lambda: None)
    return spool


class TestSpool:
    def test_any_rows(self, tmp_path):
        spool = spooled(tmp_path, numbers(0, 100_000), numbers(100_000, 5), numbers(100_005, 0))
        for start, count in ((0, 3), (65_534, 4), (99_999, 3), (100_004, 9), (100_005, 1), (7, 0)):
            found = [n for batch in spool.batches(start, count) for n in batch["n"].to_pylist()]
            assert found == list(range(start, min(100_005, start + count)))
        assert spool.reader().read_all().num_rows == 100_005

    def test_words_of_a_dictionary(self, tmp_path):
        words = [pa.array(["a", "b", None] * 3).dictionary_encode() for _ in range(3)]
        spool = spooled(tmp_path, *(pa.record_batch({"w": one}) for one in words))
        found = [w for batch in spool.batches(8, 3) for w in batch["w"].to_pylist()]
        assert found == [None, "a", "b"]

    def test_no_columns(self, tmp_path):
        nothing = pa.record_batch({"n": [1, 2]}).select([])
        assert spooled(tmp_path, nothing).reader().read_all().shape == (2, 0)

    @pytest.mark.parametrize("most", [{"rows": 10}, {"size": 1000}])
    def test_too_much(self, tmp_path, most):
        with pytest.raises(TooLarge, match="more than"):
            spooled(tmp_path, numbers(0, 11), numbers(11, 100_000), **most)


def test_rows_are_followed_while_they_come(tmp_path):
    query = Query("q", WHO, NewQuery("…"), "default", Spool(tmp_path / "spool"))

    async def read() -> int:
        def steps() -> Iterator[pa.RecordBatch]:
            for number in range(5):
                yield numbers(number, 1)

        def write() -> None:
            reader = pa.RecordBatchReader.from_batches(numbers(0, 1).schema, steps())
            query.spool.write(reader, query.step)
            query.end(QueryState.DONE)

        writing = asyncio.get_running_loop().run_in_executor(None, write)
        await query.until(lambda: query.spool.rows > 0)
        pieces = [piece async for piece in followed(query)]
        await writing
        return int(read_stream(iter(pieces)).read_all().num_rows)

    assert asyncio.run(read()) == 5


class TestErased:
    """Rows of what was erased are nowhere, whoever erases it."""

    def asked(self, lake: Lake) -> tuple[Keeper, Query]:
        lake.create_repo("r")
        with lake.commit("r@main") as commit:
            commit.put("/p.csv", b"name,x\nERASEME-person,1\n")
        keeper = kept(lake)
        query = ended(keeper.ask(WHO, NewQuery("FROM r")))
        assert keeper.get(WHO, query.id).rows().rows == 1
        assert b"ERASEME" in query.spool.path.read_bytes()
        return keeper, query

    def test_by_this_server(self, lake):
        keeper, query = self.asked(lake)
        lake.erase("r@main:/p.csv", "asked for")
        assert not query.spool.path.exists()
        with pytest.raises(NotFound):
            keeper.get(WHO, query.id)
        with pytest.raises(NotFound):
            query.rows()
        keeper.close()

    def test_on_another_computer(self, lake):
        """Nothing but the catalog tells of it."""
        keeper, query = self.asked(lake)
        erase(lake._core, parse_ref("r@main:/p.csv", project="default"), "asked for", "ada")
        with pytest.raises(NotFound):
            keeper.get(WHO, query.id)
        assert not query.spool.path.exists()
        keeper.close()

    def test_though_nobody_asks(self, lake, monkeypatch):
        monkeypatch.setattr(keepers, "ERASED_SECONDS", 0.05)
        keeper, query = self.asked(lake)
        erase(lake._core, parse_ref("r@main:/p.csv", project="default"), "asked for", "ada")
        until(lambda: not query.spool.path.exists(), "its rows to go")
        keeper.close()

    def test_in_processes_that_wait(self, lake):
        """They go also when there is no query to be watched."""
        keeper, query = self.asked(lake)
        hub = _services[-1].hub
        hub.start()
        (process,) = keeper._processes._idle
        keeper.drop(query)
        erase(lake._core, parse_ref("r@main:/p.csv", project="default"), "asked for", "ada")
        until(lambda: not Path(process._folder).exists(), "its process to go", 20)
        assert not keeper._processes._idle
        hub.stop()
        keeper.close()

    def test_while_a_query_runs(self, lake):
        """It ends too: nobody will get its rows."""
        keeper, _ = self.asked(lake)
        query = keeper.ask(WHO, NewQuery(LONG))
        until(lambda: query.result is not None, "it to run")
        erase(lake._core, parse_ref("r@main:/p.csv", project="default"), "asked for", "ada")
        with pytest.raises(NotFound):
            keeper.get(WHO, query.id)
        until(lambda: query.final, "it to end", 20)
        assert isinstance(query.error, NotFound)
        keeper.close()

    def test_what_a_server_that_was_killed_has_left(self, lake):
        keeper, query = self.asked(lake)
        left = query.spool.path.parent.parent / "left"
        left.mkdir()
        (left / ".lock").touch()
        (left / "rows").write_bytes(query.spool.path.read_bytes())
        lake.erase("r@main:/p.csv", "asked for")
        assert not left.exists()
        left.mkdir()
        (left / ".lock").touch()
        other = kept(lake)
        other.ask(WHO, NewQuery("SELECT 1"))
        assert not left.exists()
        assert query.spool.path.parent.exists()
        other.close()
        keeper.close()
