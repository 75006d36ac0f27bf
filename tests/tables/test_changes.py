"""Change rows between commits, all at once and commit by commit."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trunkline import Lake
from trunkline.errors import Usage


def applied(before: Counter, rows: list[dict]) -> Counter:
    """The rows after the changes, in the order they come."""
    now = Counter(before)
    for row in rows:
        cells = tuple(value for name, value in row.items() if not name.startswith("_"))
        now[cells] += -1 if row["_change"] in ("delete", "update_before") else 1
        assert now[cells] >= 0
    return +now


def test_all_at_once_and_commit_by_commit(lake: Lake):
    first = lake.write_table("orders", [{"id": 1, "n": 1}, {"id": 2, "n": 2}])
    second = lake.write_table("orders", [{"id": 1, "n": 5}, {"id": 2, "n": 2}], mode="overwrite")
    third = lake.write_table("orders", [{"id": 1, "n": 9}], mode="overwrite")
    found = lake.table_changes(f"orders@{first.id}", "orders", key="id")
    assert found.arrow().to_pylist() == [
        {"_change": "update_before", "_commit": third.id, "id": 1, "n": 1},
        {"_change": "update_after", "_commit": third.id, "id": 1, "n": 9},
        {"_change": "delete", "_commit": third.id, "id": 2, "n": 2},
    ]
    assert found.summary() == "0 inserted, 1 deleted, 1 updated"
    each = lake.table_changes(f"orders@{first.id}", key="id", per_commit=True)
    assert [tuple(row.values()) for row in each.arrow().to_pylist()] == [
        ("update_before", second.id, 1, 1), ("update_after", second.id, 1, 5),
        ("update_before", third.id, 1, 5), ("update_after", third.id, 1, 9),
        ("delete", third.id, 2, 2),
    ]  # fmt: skip
    assert (each.inserted, each.deleted, each.updated, len(each)) == (0, 1, 2, 5)
    assert len(each.pandas()) == len(each.polars()) == 5
    assert "2 updated" in repr(each) and "update_before" in each._repr_html_()


def test_without_a_key_rows_come_and_go(lake: Lake):
    lake.write_table("orders", [{"id": 1, "n": 1}])
    lake.write_table("orders", [{"id": 1, "n": 2}], mode="overwrite")
    found = lake.table_changes("orders@main~1")
    assert sorted(row["_change"] for row in found.arrow().to_pylist()) == ["delete", "insert"]
    assert found.summary() == "1 inserted, 1 deleted"


def test_columns_and_types_that_changed_on_the_way(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    lake.write_table("orders", [{"id": 2, "extra": "x"}])
    lake.write_table("orders", [{"id": 2.5, "extra": None}], mode="overwrite")
    found = lake.table_changes("orders@main~2", key="id", per_commit=True).arrow()
    assert found.column_names == ["_change", "_commit", "id", "extra"]
    assert str(found.schema.field("id").type) == "double"
    assert [(row["_change"], row["id"], row["extra"]) for row in found.to_pylist()] == [
        ("insert", 2.0, "x"), ("delete", 1.0, None), ("delete", 2.0, "x"), ("insert", 2.5, None)
    ]  # fmt: skip


def test_from_before_the_table_was_there(lake: Lake):
    with lake.commit("orders") as commit:
        commit.put("/notes.txt", b"hello")
    lake.write_table("orders", [{"id": 1}])
    for per_commit in (False, True):
        found = lake.table_changes("orders@main~1", "orders", per_commit=per_commit)
        assert [row["_change"] for row in found.arrow().to_pylist()] == ["insert"]
    same = lake.table_changes("orders", "orders", per_commit=True)
    assert len(same) == 0


def test_commits_that_are_not_in_a_line_are_refused(lake: Lake):
    lake.write_table("orders", [{"id": 1}])
    lake.write_table("orders", [{"id": 2}])
    with pytest.raises(Usage, match="not behind"):
        lake.table_changes("orders@main", "orders@main~1", per_commit=True)
    assert len(lake.table_changes("orders@main", "orders@main~1")) == 1


rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, "a", "b"])), max_size=5)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(rows, min_size=2, max_size=4), st.booleans())
def test_changes_lead_from_the_first_commit_to_the_last(lake: Lake, versions, with_key):
    commits = []
    for several in versions:
        data = [{"k": k, "v": v} for k, v in [*several, (9, "z")]]
        commits.append(lake.write_table("orders", data, mode="overwrite"))
    start, end = (Counter([*one, (9, "z")]) for one in (versions[0], versions[-1]))
    key = ["k"] if with_key else []
    for per_commit in (False, True):
        found = lake.table_changes(
            f"orders@{commits[0].id}", f"orders@{commits[-1].id}", key=key, per_commit=per_commit
        )
        assert applied(start, found.arrow().to_pylist()) == end
