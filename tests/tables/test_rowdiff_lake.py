"""Row diffs of tables in a lake: any two commits, and only the files that can differ."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.served import home
from trunkline import Lake
from trunkline.errors import NotFound, Precondition, Usage
from trunkline.tables.comparing.rowdiff import RowDiff, diff_tables


def counts(found: RowDiff) -> tuple[int, int, int]:
    return found.added, found.removed, found.changed


def both_ways(lake: Lake, old: str, new: str, **options: Any) -> tuple[RowDiff, RowDiff]:
    """With the shortcut and without."""
    refs = [lake._ref(old), lake._ref(new)]
    with home(lake)._versions(refs) as [(before, _), (after, _)]:
        core = home(lake)._core
        quick = diff_tables(core, before, after, **options)
        full = diff_tables(core, before, after, shortcut=False, **options)
    assert quick.arrow().equals(full.arrow())
    assert (counts(quick), quick.columns) == (counts(full), full.columns)
    assert full.files_shared == 0
    return quick, full


def test_one_changed_partition_is_all_that_is_read(lake: Lake):
    rows = [
        {"day": f"2026-01-{d:02}", "id": d * 10 + i, "n": i} for d in range(1, 29) for i in (1, 2)
    ]
    lake.write_table("orders", rows, partition_by="day")
    lake.write_table(
        "orders",
        [{"day": "2026-01-05", "id": 51, "n": 7}, {"day": "2026-01-05", "id": 59, "n": 0}],
        mode="overwrite_partitions",
    )
    for key, expected in (([], (2, 2, 0)), (["id"], (1, 1, 1))):
        found, _ = both_ways(lake, "orders@main~1", "orders@main", key=key)
        assert counts(found) == expected
        assert (found.files_read, found.files_shared) == (2, 27)
        assert found.rows == 56
    default = lake.table_diff("orders@main~1", key="id")
    assert default.new == "orders@main"
    assert counts(default) == (1, 1, 1)


def test_the_recorded_key_is_used_and_may_be_left_out(lake: Lake):
    lake.write_table("orders", [{"id": 1, "n": 1}, {"id": 2, "n": 2}])
    lake.set_table("orders", key=["id"])
    lake.write_table("orders", [{"id": 1, "n": 5}, {"id": 2, "n": 2}], mode="overwrite")
    assert counts(lake.table_diff("orders@main~1")) == (0, 0, 1)
    assert counts(lake.table_diff("orders@main~1", key=())) == (1, 1, 0)


def test_two_repos_of_two_formats(lake: Lake):
    lake.create_repo("copies")
    lake.write_table("orders", [{"id": 1, "n": 1.5}, {"id": 2, "n": None}])
    with lake.commit("copies") as commit:
        commit.put("/a.csv", b"id,n\n1,1.5\n2,\n3,4\n")
    found = lake.table_diff("orders", "copies", key="id")
    assert counts(found) == (1, 0, 0)
    assert not found.schema


def test_text_that_another_file_gave_another_type(lake: Lake):
    with lake.commit("orders") as commit:
        commit.put("/a.csv", b"id,v\n1,1.50\n")
        commit.put("/b.csv", b"id,v\n2,8\n")
    with lake.commit("orders") as commit:
        commit.put("/b.csv", b"id,v\n2,x\n")
    found, _ = both_ways(lake, "orders@main~1", "orders@main", key=["id"])
    assert [str(change) for change in found.schema] == ["~ v double → string"]
    assert counts(found) == (0, 0, 2)
    assert found.files_shared == 0
    with lake.commit("orders") as commit:
        commit.put("/b.csv", b"id,v\n2,y\n")
    found, _ = both_ways(lake, "orders@main~1", "orders@main", key=["id"])
    assert counts(found) == (0, 0, 1)
    assert found.files_shared == 1


def test_the_same_file_in_another_folder_has_other_rows(lake: Lake):
    with lake.commit("orders") as commit:
        commit.put("/day=1/a.csv", b"id\n1\n")
        commit.put("/day=2/a.csv", b"id\n2\n")
    with lake.commit("orders") as commit:
        commit.delete("/day=1/a.csv")
        commit.put("/day=3/a.csv", b"id\n1\n")
    found, _ = both_ways(lake, "orders@main~1", "orders@main")
    assert counts(found) == (1, 1, 0)
    assert found.files_shared == 1


def test_a_column_that_was_added(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    lake.write_table("orders", [{"id": 2, "extra": "x"}])
    plain, _ = both_ways(lake, "orders@main~1", "orders@main", key=["id"])
    assert counts(plain) == (1, 0, 0)
    asked, _ = both_ways(lake, "orders@main~1", "orders@main", key=["id"], one_sided=True)
    assert counts(asked) == (1, 0, 0)
    assert asked.files_shared == 1
    assert [str(change) for change in asked.schema] == ["+ extra string"]


def test_a_table_that_is_not_there_yet_is_empty(lake: Lake):
    with lake.commit("orders") as commit:
        commit.put("/notes.txt", b"hello")
    lake.write_table("orders:/items", [{"id": 1}, {"id": 2}])
    assert counts(lake.table_diff("orders@main~1:/items", "orders@main:/items")) == (2, 0, 0)
    assert counts(lake.table_diff("orders@main:/items", "orders@main~1:/items")) == (0, 2, 0)
    with pytest.raises((NotFound, Precondition)):
        lake.table_diff("orders@main:/itmes", "orders@main:/items")
    with pytest.raises((NotFound, Precondition)):
        lake.table_diff("orders@main~1:/nothing", "orders@main:/nothing")


def test_a_key_that_is_not_there_is_refused(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    with pytest.raises(Usage, match='"idd".*Did you mean "id"'):
        lake.table_diff("orders", "orders", key="idd")


rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "a", "b"])), max_size=4)


@pytest.mark.slow
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(rows, min_size=1, max_size=4), st.data())
def test_leaving_shared_files_out_changes_nothing(lake: Lake, files, data):
    def put(branch: str, several: list[list[tuple[int, str | None]]]) -> None:
        with lake.commit(f"orders@{branch}") as commit:
            commit.delete("/")
            commit.put("/none.csv", b"k,v\n9,z\n")
            for number, some in enumerate(several):
                lines = "".join(f"{k},{v or ''}\n" for k, v in some)
                commit.put(f"/{number}.csv", f"k,v\n{lines}".encode())

    changed = [some if data.draw(st.booleans()) else data.draw(rows) for some in files]
    put("main", files)
    put("main", changed)
    for key in ([], ["k"]):
        both_ways(lake, "orders@main~1", "orders@main", key=key)


def test_the_rows_as_a_spark_frame(lake: Lake, spark):
    lake.write_table("orders", [{"id": 1, "n": 1}])
    lake.write_table("orders", [{"id": 1, "n": 2}], mode="overwrite")
    found = lake.table_diff("orders@main~1", key="id").spark()
    assert [tuple(row) for row in found.collect()] == [
        ("update_before", 1, 1), ("update_after", 1, 2)
    ]  # fmt: skip
