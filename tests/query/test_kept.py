"""What queries leave for the next: always by version, never by name, and never too much."""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import trunkline as tl
from tests.query.conftest import parquet, put
from tests.spark import shared_session
from trunkline import Lake
from trunkline.errors import Erased, InvalidQuery, TrunklineError
from trunkline.query import ducks, names

COUNT = "SELECT count(*) FROM t"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        for name in ("t", "u"):
            made.create_repo(name)
            put(made, f"{name}@main", **{"a.parquet": parquet(n=[1])})
        yield made


def add(lake: Lake, name: str = "b") -> None:
    put(lake, "t@main", **{f"{name}.parquet": parquet(n=[2])})


def held(lake: Lake) -> int:
    return len(lake._asked().ducks)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_branch_that_moves_is_seen_at_once(own, engine):
    if engine == "spark":
        shared_session()
    before = own.sql(COUNT, engine=engine)
    unread = own.sql(COUNT, engine=engine)
    assert before.rows() == [(1,)]
    add(own)
    assert own.sql(COUNT, engine=engine).rows() == [(2,)]
    assert before.rows() == unread.rows() == [(1,)]
    both = "SELECT (SELECT count(*) FROM t AT 'main~1'), (SELECT count(*) FROM t)"
    assert own.sql(both, engine=engine).rows() == [(1, 2)]
    assert own.sql(COUNT, engine=engine, at="t@main~1").rows() == [(1,)]


def test_one_duckdb_for_all_that_was_asked(own):
    own.sql(COUNT)
    own.sql("FROM u")
    own.sql("SELECT 1 FROM t, u")
    assert held(own) == 1
    first = own.sql(COUNT)._answer._duck.connection
    assert own.sql("SELECT max(n) FROM u")._answer._duck.connection is first


def test_only_a_few_stay_open(own, monkeypatch):
    monkeypatch.setattr(ducks, "MOST_VIEWS", 1)
    monkeypatch.setattr(ducks, "MOST", 2)
    old = own.sql(COUNT)
    for number in range(4):
        add(own, f"c{number}")
        assert own.sql(COUNT).rows() == [(number + 2,)]
    assert held(own) == 2
    assert old.rows() == [(1,)]


def test_nothing_is_left_of_a_closed_lake(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("t")
        put(lake, "t@main", **{"a.parquet": parquet(n=[1])})
        assert lake.sql(COUNT).rows() == [(1,)]
        assert list(tmp_path.glob("trunkline-sql-*"))
    gc.collect()
    assert not list(tmp_path.glob("trunkline-sql-*"))


def test_a_table_that_the_query_does_not_name_is_not_there(own):
    own.sql("SELECT 1 FROM t, u")
    found = own.sql(COUNT)._answer._duck
    with pytest.raises(Exception, match="does not exist"):
        found.cursor().execute("FROM u")
    with pytest.raises(InvalidQuery) as caught:
        own.sql("SELECT t.nope FROM t JOIN u ON true")
    assert "tl_" not in caught.value.message


def test_erased_bytes_are_not_in_what_is_kept(own):
    assert own.sql(COUNT).rows() == [(1,)]
    own.erase("t@main:/a.parquet", reason="asked to")
    with pytest.raises((Erased, TrunklineError)):
        own.sql(f"{COUNT} AT 'main~1'").rows()
    with pytest.raises((Erased, TrunklineError)):
        own.sql(COUNT).rows()


def test_a_file_that_is_gone_is_named(own):
    padding = "".join(f"{number:x}" for number in range(400_000))
    put(own, "t@main", **{"big.parquet": parquet(n=[2], s=[padding])})
    before = own.sql("SELECT n, s FROM t")
    assert len(before.rows()) == 2
    for path in (Path(own.location) / ".trunkline" / "objects").rglob("*.parquet"):
        path.unlink()
    for read in (before.rows, before.arrow, lambda: own.sql("SELECT n FROM t").rows()):
        with pytest.raises(TrunklineError, match=r"/big.parquet of t .* gone"):
            read()


def test_a_table_that_is_lost_spoils_no_other(own):
    put(own, "u@main", **{"big.parquet": parquet(n=[2], pad=["x" * 10] * 1)})
    assert own.sql("SELECT count(*) FROM u").rows() == [(2,)]
    duck = own._asked().ducks
    (held_one,) = duck._open
    broken = held_one.tables[0]._replace(name='"')
    duck._open = [ducks._Open(held_one.duck, frozenset(), (broken, broken), False, 0)]
    assert own.sql(COUNT).rows() == [(1,)]


def test_threads(own):
    asked = [COUNT, "SELECT count(*) FROM u", "SELECT count(*) FROM t, u"] * 10
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda text: own.sql(text).rows(), asked)) == [[(1,)]] * 30


def test_an_error_in_one_is_not_that_of_the_next(own):
    own.create_repo("csv")
    put(own, "csv@main", **{"a.csv": b"n\n1\n"})
    with pytest.raises(TrunklineError):
        own.sql("SELECT error('stop') FROM csv").rows()
    assert own.sql("SELECT n FROM csv").rows() == [(1,)]


def test_spark_handed_out_is_not_used_again(own):
    shared_session()
    frame = own.sql("FROM t", engine="spark").spark()
    frame.filter("n > 1").createOrReplaceTempView("t")
    assert own.sql(COUNT, engine="spark").rows() == [(1,)]


def test_spark_session_is_kept(own):
    shared_session()
    desk = own._asked().desk(shared_session)
    assert own.sql(COUNT, engine="spark").rows() == [(1,)]
    assert own.sql("SELECT count(*) FROM u", engine="spark").rows() == [(1,)]
    assert own._asked().desk(shared_session) is desk


def test_texts_are_read_once():
    assert names.parse("FROM t", "duckdb") is names.parse("FROM t", "duckdb")
    assert names.parse("FROM t", "duckdb") is not names.parse("FROM t", "spark")
    long = "SELECT " + ", ".join(map(str, range(10_000)))
    assert names.parse(long, "duckdb") is not names.parse(long, "duckdb")
