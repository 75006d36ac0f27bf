"""Tables on two branches: rows of both, and a schema that holds both."""

import pytest

from tests.tables.lakes import rows, spec
from trunkline.errors import MergeConflict


@pytest.fixture
def branched(lake):
    lake.write_table("orders", [{"id": 1}])
    lake.create_branch("orders@dev")
    return lake


def test_appends_on_two_branches_merge_even_if_they_are_the_same(branched):
    branched.write_table("orders@dev", [{"id": 2}])
    branched.write_table("orders", [{"id": 2}])
    branched.merge("orders@dev", "orders@main")
    assert rows(branched, "orders") == [{"id": 1}, {"id": 2}, {"id": 2}]


def test_columns_added_on_two_branches_are_united(branched):
    branched.write_table("orders@dev", [{"id": 2, "a": "x"}])
    branched.write_table("orders", [{"id": 3, "b": 1.5}])
    report = branched.merge("orders@dev", "orders@main")
    assert [conflict.chosen for conflict in report.conflicts] == ["united"]
    assert spec(branched, "orders").schema.names == ("id", "b", "a")
    assert len(rows(branched, "orders")) == 3


def test_schemas_that_clash_are_a_conflict(branched):
    branched.write_table("orders@dev", [{"id": 2, "a": "x"}])
    branched.write_table("orders", [{"id": 3, "a": 1.5}])
    with pytest.raises(MergeConflict) as caught:
        branched.merge("orders@dev", "orders@main")
    assert caught.value.paths == ["/_table.json"]
