"""What is new at a stream's input, commit by commit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import trunkline as tl
from tests.copies import copy_lake
from tests.counting import calls
from tests.jobs.streaming.streams import head, leaf, paths, put, put_paths, read, rows, whole
from trunkline import Lake
from trunkline.errors import Precondition
from trunkline.jobs.streaming.lag import behind
from trunkline.jobs.streaming.positions import Place
from trunkline.jobs.streaming.steps import steps
from trunkline.model.tables import Column, Format, Schema, TableSpec

CSV_TABLE = TableSpec(Format.CSV, Schema((Column("id", "int"), Column("n", "int")))).encode()


def test_each_commit_is_a_step_with_what_it_added(lake: Lake):
    first = put(lake, **{"a.csv": "id,n\n1,10\n"})
    second = put(lake, **{"b.csv": "id,n\n2,20\n", "c.csv": "id,n\n3,30\n"})
    found = read(lake)
    assert [one.commit for one in found] == [first, second]
    assert [paths(one) for one in found] == [["/a.csv"], ["/b.csv", "/c.csv"]]
    assert (found[1].files, found[1].bytes, found[1].base) == (2, 20, first)
    assert rows(lake, found) == whole(lake)
    assert [one.commit for one in read(lake, since=first)] == [second]
    assert read(lake, since=second) == []
    assert list(steps(lake._core, leaf(), None, None)) == []


def test_only_data_files_of_the_table_are_rows(lake: Lake):
    put_paths(
        lake,
        {
            "/a.csv": "id\n1\n",
            "/day=1/b.csv": "id\n2\n",
            "/notes.txt": "x",
            "/_late/x/a.csv": "id\n3\n",
            "/_malformed/x/a.csv": "id\n4\n",
            "/_quarantine/x/a.csv": "id\n5\n",
            "/other/c.csv": "id\n6\n",
            "/.hidden.csv": "id\n7\n",
        },
    )
    (found,) = read(lake)
    assert paths(found) == ["/a.csv", "/day=1/b.csv"]
    (other,) = read(lake, leaf(glob="/other/"))
    assert paths(other) == ["/other/c.csv"]
    put(lake, **{"_late/x/b.csv": "id\n3\n"})
    assert read(lake)[-1].is_empty


def test_the_only_table_below_is_found_and_several_are_refused(lake: Lake):
    put(lake, **{"sales__a.csv": "id\n1\n"})
    assert [paths(one) for one in read(lake)] == [["/sales/a.csv"]]
    put(lake, **{"costs__a.csv": "id\n1\n"})
    with pytest.raises(Precondition, match="several tables"):
        read(lake)
    with pytest.raises(Precondition, match="one table"):
        read(lake, leaf(glob="/*"))


def test_the_schema_is_that_of_each_commit(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    lake.write_table("orders", [{"id": 2, "name": "x"}])
    assert [one.schema.names for one in read(lake) if one.schema] == [("id",), ("id", "name")]
    assert [one.rows for one in read(lake)] == [1, 1]


def test_a_discovered_schema_grows_with_its_files(lake: Lake):
    put(lake, **{"a.csv": "id,n\n1,\n"})
    put(lake, **{"b.csv": "id,n\n2,5\n"})
    put(lake, **{"day=3__c.csv": "id,n\n3,7.5\n"})
    put(lake, **{"d.csv": "4,8\n"})
    types = [[str(one) for one in step.schema] for step in read(lake) if step.schema]
    assert types == [
        ["id bigint", "n string"],
        ["id bigint", "n bigint"],
        ["id bigint", "n double", "day bigint"],
        ["id bigint", "n double", "day bigint"],
    ]
    assert types[-1] == [str(one) for one in lake.table("orders").info.columns]


def test_files_with_malformed_rows_do_not_change_the_schema(lake: Lake):
    put(lake, **{"a.csv": "id,n\n1,2\n"})
    put(lake, **{"b.csv": "id,n\n1,2\n3,4,5,6\n"})
    found = read(lake)
    assert found[1].schema == found[0].schema
    assert paths(found[1]) == ["/b.csv"]


def test_a_table_that_begins_with_malformed_rows_must_be_recorded(lake: Lake):
    first = put(lake, **{"a.csv": "id,n\n1,2\n3,4,5,6\n"})
    with pytest.raises(Precondition, match=r"/a.csv of orders@main cannot be read") as caught:
        read(lake)
    assert "trunkline table set" in caught.value.hint
    with lake.commit("orders") as commit:
        commit.put("/_table.json", CSV_TABLE)
    assert [(one.commit == first, paths(one)) for one in read(lake)] == [
        (True, ["/a.csv"]),
        (False, []),
    ]


def test_commits_whose_data_was_forgotten_are_passed_by(lake: Lake):
    put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{"b.csv": "id\n2\n"})
    put(lake, **{"c.csv": "id\n3\n"})
    lake.forget(f"orders@{second}")
    assert [paths(one) for one in read(lake)] == [["/a.csv"], ["/b.csv", "/c.csv"]]
    for since, until in ((second, None), (None, second)):
        with pytest.raises(Precondition, match="forgotten") as caught:
            read(lake, since=since, until=until)
        assert "stream restart sessions --from" in caught.value.hint


def test_commits_that_ended_in_error_are_passed_by(lake: Lake):
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{"b.csv": "id\n2\n"})
    third = put(lake, **{"c.csv": "id\n3\n"})
    with lake._core.database.write() as session:
        session.execute("UPDATE commits SET error = 'x' WHERE id = :id", {"id": second})
    assert [one.commit for one in read(lake)] == [first, third]
    assert [one.commit for one in read(lake, until=second)] == [first]
    with lake._core.database.write() as session:
        session.execute("UPDATE commits SET error = 'x' WHERE id = :id", {"id": first})
    assert read(lake, until=second) == []


def test_squashed_commits_are_covered_by_the_next(lake: Lake):
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{"b.csv": "id\n2\n"})
    third = put(lake, **{"c.csv": "id\n3\n"})
    lake.squash(f"orders@{second}")
    found = read(lake, since=first)
    assert [(one.commit, paths(one)) for one in found] == [(third, ["/b.csv", "/c.csv"])]
    with pytest.raises(Precondition, match=f"{second[:12]} of orders.* is gone"):
        read(lake, since=second)


def test_a_branch_that_was_moved_is_one_step(lake: Lake):
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{"b.csv": "id\n2\n"})
    lake.create_branch("orders@other", first)
    put(lake, "other", **{"c.csv": "id\n3\n"})
    third = put(lake, "other", **{"b.csv": "id\n2\n", "d.csv": "id\n4\n"})
    (found,) = read(lake, since=second, until=third)
    assert (found.commit, found.base, paths(found)) == (third, second, ["/c.csv", "/d.csv"])
    with pytest.raises(Precondition, match=r"/b.csv of orders was removed in commit"):
        read(lake, since=second, until=first)
    (skipped,) = read(lake, leaf("skip"), since=second, until=first)
    assert (skipped.is_empty, skipped.skipped) == (True, 1)


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_a_position_in_the_middle_of_a_commit(lake: Lake, taken: int):
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{f"b{n}.csv": f"id\n{n}\n" for n in range(3)})
    put(lake, **{"c.csv": "id\n9\n"})
    since = str(Place(second, taken, first))
    found = read(lake, since=since)
    assert [path for one in found for path in paths(one)] == [
        *[f"/b{n}.csv" for n in range(taken, 3)],
        "/c.csv",
    ]
    assert Place.parse(since) == Place(second, taken, first)


def test_in_the_middle_of_a_commit_the_branch_was_moved(lake: Lake):
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{f"b{n}.csv": f"id\n{n}\n" for n in range(3)})
    lake.create_branch("orders@other", first)
    third = put(lake, "other", **{"b0.csv": "id\n0\n", "b1.csv": "id\n1\n", "d.csv": "id\n4\n"})
    (found,) = read(lake, since=str(Place(second, 1, first)), until=third)
    assert paths(found) == ["/b1.csv", "/d.csv"]
    (found,) = read(lake, leaf("skip"), since=str(Place(second, 3, first)), until=third)
    assert (paths(found), found.skipped) == (["/d.csv"], 1)


def test_lag(lake: Lake):
    assert behind(lake._core, leaf(), None, None) == (0, None)
    first = put(lake, **{"a.csv": "id\n1\n"})
    second = put(lake, **{"b.csv": "id\n2\n"})
    third = put(lake, **{"c.csv": "id\n3\n"})
    at = {one.id: one.finished for one in lake.commits("orders")}
    core = lake._core
    assert behind(core, leaf(), None, third) == (3, at[first])
    assert behind(core, leaf(), first, third) == (2, at[second])
    assert behind(core, leaf(), str(Place(second, 1, first)), third) == (2, at[second])
    assert behind(core, leaf(), third, third) == (0, None)
    assert behind(core, leaf(), third, second) == (1, at[second])


def test_a_step_costs_what_changed_not_what_is_there(lake: Lake):
    """The tenth of a hundred commits takes no more calls than the last but a few."""
    ids = [lake.write_table("orders", [{"id": n}]).id for n in range(120)]
    early = calls(lambda: list(steps(lake._core, leaf(), ids[9], ids[10])))
    late = calls(lambda: list(steps(lake._core, leaf(), ids[-2], ids[-1])))
    assert late <= 2 * early, f"{early:,} calls at first, {late:,} at last"


FILES = st.dictionaries(st.sampled_from("abcdefgh"), st.lists(st.integers(0, 9), max_size=3))


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(history=st.lists(FILES, min_size=1, max_size=5), start=st.integers(0, 4))
def test_all_steps_together_are_the_table(
    new_lake: Path, tmp_path_factory: pytest.TempPathFactory, history: list, start: int
):
    folder = tmp_path_factory.mktemp("history") / "lake"
    copy_lake(new_lake, folder)
    with tl.open(folder) as lake:
        ids = []
        for number, files in enumerate(history):
            text = {
                f"day={number % 2}/{name}{number}.csv": "id,n\n"
                + "".join(f"{n},{number}\n" for n in numbers)
                for name, numbers in files.items()
            }
            ids.append(put(lake, **{"zero.csv": "id,n\n0,0\n"} | text))
        found = read(lake)
        assert rows(lake, _at(found)) == whole(lake)
        begin = min(start, len(ids) - 1)
        assert read(lake, since=ids[begin]) == found[begin + 1 :]
        assert head(lake) == ids[-1]


def _at(found: list) -> list:
    """The rows in the columns of the last commit, as the table has them."""
    return [replace(one, table=found[-1].table) for one in found]
