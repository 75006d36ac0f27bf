"""Compaction: fewer files, the same rows."""

import pyarrow as pa
import pytest

from tests.tables.lakes import entries, rows
from trunkline.errors import Precondition
from trunkline.tables.changing import compacting


@pytest.fixture
def scattered(lake):
    for n in range(6):
        data = pa.table({"id": [n, n + 100], "d": ["a", "b"], "m": [[1], None]})
        lake.write_table("orders", data, partition_by="d")
    return lake


def test_small_files_become_one_in_each_partition(scattered):
    before = rows(scattered, "orders")
    done = scattered.compact("orders")
    assert (done.before, done.after) == (12, 2)
    assert len(entries(scattered, "orders")) == 2
    assert rows(scattered, "orders") == before
    again = scattered.compact("orders")
    assert again.commit is None and not again.dropped


def test_only_some_partitions(scattered):
    done = scattered.compact("orders", partitions=["d=a"])
    assert (done.before, done.after) == (6, 1)
    assert len(entries(scattered, "orders")) == 7


def test_files_of_older_schemas_are_brought_to_the_new_one(scattered):
    scattered.write_table("orders", [{"id": 7, "d": "a", "more": 1.5}])
    before = rows(scattered, "orders")
    scattered.compact("orders")
    assert rows(scattered, "orders") == before


def test_the_target_size_is_kept(scattered):
    size = max(one.size for one in entries(scattered, "orders"))
    scattered.compact("orders", target_size=3 * size)
    assert len(entries(scattered, "orders")) == 4


def compacting_while(lake, monkeypatch, act):
    real = compacting._join

    def slow(*args):
        real(*args)
        monkeypatch.setattr(compacting, "_join", real)
        act()

    monkeypatch.setattr(compacting, "_join", slow)
    return lake.compact("orders")


def test_rows_that_are_added_meanwhile_stay(scattered, monkeypatch):
    new = [{"id": 50, "d": "a"}]
    done = compacting_while(scattered, monkeypatch, lambda: scattered.write_table("orders", new))
    assert done.commit is not None
    assert len(rows(scattered, "orders")) == 13
    assert len(entries(scattered, "orders")) == 3


def test_a_rewrite_meanwhile_drops_the_compaction(scattered, monkeypatch):
    done = compacting_while(
        scattered, monkeypatch, lambda: scattered.delete_from("orders", "id = 1")
    )
    assert done.commit is None
    assert "moved while you worked" in done.dropped
    assert len(rows(scattered, "orders")) == 11


def test_no_table_no_compaction(lake):
    with lake.commit("orders") as commit:
        commit.put("/a.csv", b"id,n\n1,2\n")
    with pytest.raises(Precondition):
        lake.compact("orders")
