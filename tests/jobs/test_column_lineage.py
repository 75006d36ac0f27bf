"""A declarative project on the lake, from apply to its columns' lineage."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from trunkline import Lake
from trunkline.engine.session import Session
from trunkline.errors import NotFound, Precondition
from trunkline.model.columns import ColumnNode
from trunkline.model.pipelines import PipelineInfo

EXAMPLE = Path(__file__).parents[2] / "examples" / "declarative"
MORE = b"id,day,customer,amount\n5,2026-01-03,7,1.5\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    return Path(shutil.copytree(EXAMPLE, folder / "declarative"))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, spark: Session, project: Path) -> Iterator[Lake]:
    with tl.init(tmp_path_factory.mktemp("lake")) as lake:
        for name in ("orders", "customers"):
            lake.create_repo(name)
            lake.put(f"{name}@main:/1.csv", [project / "data" / f"{name}.csv"])
        lake.apply(project / "spark-pipeline.yml")
        yield lake


def spec(info: PipelineInfo) -> dict[str, object]:
    found = info.spec["transform"]
    assert isinstance(found, dict)
    return found


def tree(node: ColumnNode) -> object:
    """Names alone, without commits and projects."""
    name = f"{node.repo.repo}.{node.column}"
    return {name: [tree(one) for one in node.below]} if node.below else name


class TestApplied:
    def test_every_table_is_a_pipeline(self, lake: Lake, project: Path) -> None:
        found = {one.name.repo: one for one in lake.pipelines()}
        assert set(found) == {"paid_orders", "customers_of_the_day", "daily_revenue"}
        assert spec(found["paid_orders"])["mode"] == "append"
        assert spec(found["paid_orders"])["spark"] == "transformations/orders.py:paid_orders"
        assert found["paid_orders"].description == "Every order that was paid"
        assert spec(found["customers_of_the_day"])["partition_by"] == ["day"]
        assert str(spec(found["daily_revenue"])["sql"]).startswith("CREATE TEMPORARY VIEW")
        assert found["daily_revenue"].spec["spark"] == {"spark.sql.shuffle.partitions": "4"}

    def test_again_nothing_changes(self, lake: Lake, project: Path) -> None:
        again = lake.apply(project / "spark-pipeline.yml")
        assert {one.action for one in again.applied} == {"unchanged"}

    def test_a_repo_that_is_not_there(self, lake: Lake, tmp_path: Path) -> None:
        file = tmp_path / "spark-pipeline.yml"
        file.write_text("name: x\nstorage: s\nlibraries: [{glob: {include: a.sql}}]\n")
        (tmp_path / "a.sql").write_text("CREATE MATERIALIZED VIEW v AS SELECT * FROM oders")
        with pytest.raises(NotFound, match='reads the repo "oders", which does not exist'):
            lake.apply(file)

    def test_before_any_run_sql_tells_its_columns(self, lake: Lake) -> None:
        (found,) = lake.column_lineage("daily_revenue@main", "revenue").columns
        assert tree(found) == {"daily_revenue.revenue": ["customers_of_the_day.amount"]}


class TestRun:
    def test_all_of_it(self, lake: Lake) -> None:
        done = lake.run()
        assert [job.reason for job in done.jobs if job.state != "success"] == []
        assert {job.pipeline.repo for job in done.jobs} == {
            "paid_orders", "customers_of_the_day", "daily_revenue"
        }  # fmt: skip

    def test_columns_up_to_their_sources(self, lake: Lake) -> None:
        (found,) = lake.column_lineage("daily_revenue@main", "revenue").columns
        assert tree(found) == {
            "daily_revenue.revenue": [
                {"customers_of_the_day.amount": [{"paid_orders.amount": ["orders.amount"]}]}
            ]
        }
        every = lake.column_lineage("customers_of_the_day@main").columns
        assert [one.column for one in every] == ["day", "name", "amount"]
        assert tree(every[1]) == {"customers_of_the_day.name": ["customers.name"]}

    def test_columns_down_to_all_that_is_made_from_them(self, lake: Lake) -> None:
        down = {one.column: one for one in lake.column_lineage("orders@main").down}
        assert tree(down["amount"]) == {
            "orders.amount": [
                {"paid_orders.amount": [{"customers_of_the_day.amount": ["daily_revenue.revenue"]}]}
            ]
        }
        assert down["amount"].pipeline == ""
        (paid,) = down["amount"].below
        assert paid.pipeline == "paid_orders v1"
        assert paid.commit == lake.commit_info("paid_orders@main").id
        (last,) = lake.column_lineage("daily_revenue@main", "revenue").down
        assert last.below == ()

    def test_what_is_made_from_a_column_is_not_followed_without_end(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("trunkline.jobs.columns.MOST_USES", 1)
        (found,) = lake.column_lineage("orders@main", "amount").down
        (paid,) = found.below
        assert (paid.below, paid.note) == ((), "more follows")

    def test_a_column_that_is_not_there(self, lake: Lake) -> None:
        with pytest.raises(NotFound, match="Did you mean"):
            lake.column_lineage("daily_revenue@main", "revenu")

    def test_a_stream_reads_what_was_added(self, lake: Lake) -> None:
        with lake.commit("orders@main") as commit:
            commit.put("/2.csv", MORE)
        done = lake.run()
        assert [job.reason for job in done.jobs if job.state != "success"] == []
        parts = [one.path for one in lake.ls("paid_orders@main") if one.path.endswith(".parquet")]
        assert len(parts) == 2


def test_what_reads_no_table_runs_once(lake: Lake, tmp_path: Path) -> None:
    file = tmp_path / "spark-pipeline.yml"
    file.write_text("name: x\nstorage: s\nlibraries: [{glob: {include: a.sql}}]\n")
    (tmp_path / "a.sql").write_text("CREATE MATERIALIZED VIEW ten AS SELECT id FROM range(10)")
    (applied,) = lake.apply(file).applied
    assert applied.job
    assert not lake.run().failed
    (found,) = lake.column_lineage("ten@main").columns
    assert (found.column, found.note) == ("id", "made from no column")


def test_files_have_no_columns(lake: Lake) -> None:
    lake.create_repo("texts")
    lake.put("texts@main:/a.txt", [EXAMPLE / "README.md"])
    with pytest.raises(Precondition, match="The columns of texts@main are not known"):
        lake.column_lineage("texts@main")
