"""Lineage over HTTP: what the lake tells, without names of what one may not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.server.lakewide.conftest import As
from tests.server.lakewide.people import asked_by
from trunkline import Lake
from trunkline.errors import NotFound
from trunkline.model.columns import ColumnLineage
from trunkline.model.lineage import GraphEdge, Lineage, LineageNode
from trunkline.sdk.wire.values import decode, encode

PEOPLE = {
    "root": {"lake": "admin"},
    "analyst": {"default/orders": "reader", "default/report": "reader"},
    "bookkeeper": {"default/report": "reader", "default/sums": "reader"},
    "clerk": {"default/tables": "reader"},
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """orders → payroll → report and orders → report; none has a datum, so none needs Spark.

    Beside them tables → wages → sums, of SQL, none of which has run.
    """
    with tl.init(tmp_path_factory.mktemp("lineage")) as lake:
        lake.create_repo("orders")
        lake.create_repo("tables")
        graph = Graph(lake, tmp_path_factory.mktemp("code"))
        graph.follow("payroll", "orders")
        graph.follow("report", "payroll", "orders")
        graph.put("orders@main", a="1")
        lake.run()
        graph.put("orders@main", a="2")
        lake.run()
        lake.put("tables@main:/1.csv", [_csv(tmp_path_factory.mktemp("csv"))])
        lake.apply(sql("wages", "SELECT id, pay * 2 AS pay FROM tables", "tables"))
        lake.apply(sql("sums", "SELECT id, pay AS total, pay AS again FROM wages", "wages"))
        yield lake


@pytest.fixture(scope="module")
def as_(lake: Lake) -> Iterator[As]:
    with asked_by(lake, PEOPLE) as ask:
        yield ask


def sql(name: str, text: str, source: str) -> dict[str, object]:
    return {
        "pipeline": {"name": name},
        "input": tl.pfs(source, "/"),
        "transform": {"sql": text},
    }


def _csv(folder: Path) -> Path:
    (folder / "1.csv").write_text("id,pay\n1,10\n")
    return folder / "1.csv"


def every(nodes: tuple[LineageNode, ...]) -> list[LineageNode]:
    return [one for node in nodes for one in (node, *every(node.below))]


def names(nodes: tuple[LineageNode, ...]) -> list[str]:
    return [node.text.partition("@")[0] for node in nodes]


def test_lineage_is_what_the_lake_tells(lake: Lake, as_: As) -> None:
    remote = as_("root")
    for ref in ("report@main", "orders@main", "payroll@main^", "orders@main:/a", "orders@main:/"):
        assert remote.lineage(ref) == lake.lineage(ref)
        assert remote.lineage(ref, limit=1) == lake.lineage(ref, limit=1)
    found = lake.lineage("report@main")
    assert {one.kind for one in every(found.up)} >= {"commit", "code"}
    assert decode(Lineage, encode(Lineage, found)) == found
    with pytest.raises(NotFound):
        remote.lineage("nothing@main")


def test_column_lineage_is_what_the_lake_tells(lake: Lake, as_: As) -> None:
    remote, found = as_("root"), lake.column_lineage("sums@main")
    assert remote.column_lineage("sums@main") == found
    assert remote.column_lineage("sums@main", "total") == lake.column_lineage("sums", "total")
    assert decode(ColumnLineage, encode(ColumnLineage, found)) == found
    said = []
    for one in (lake, remote):
        with pytest.raises(NotFound) as raised:
            one.column_lineage("sums@main", "totl")
        said.append(str(raised.value))
    assert said[0] == said[1]


def test_the_graph_is_what_the_lake_tells(lake: Lake, as_: As) -> None:
    found = as_("root").graph()
    assert found == lake.graph()
    assert all(isinstance(edge, GraphEdge) for edge in found.edges)
    assert found.to_dot() == lake.graph().to_dot()


def test_what_is_hidden_has_no_name(lake: Lake, as_: As) -> None:
    analyst = as_("analyst")
    up = analyst.lineage("report@main")
    assert sorted(names(up.up)) == ["orders", "report.code", "something you may not see"]
    assert LineageNode("something you may not see", "hidden") in up.up
    down = analyst.lineage("orders@main")
    assert all(node.kind == "hidden" or "payroll" not in node.text for node in every(down.down))
    for path in ("lineage?ref=report@main", "lineage?ref=orders@main", "graph?project=default"):
        answer = analyst._client._http.get(path)
        assert answer.status_code == 200
        assert "orders" in answer.text
        assert "payroll" not in answer.text
    for ref in ("payroll@main", "payroll@main:/a"):
        with pytest.raises(NotFound, match='There is no repo "payroll".'):
            analyst.lineage(ref)
        with pytest.raises(NotFound, match='There is no repo "payroll".'):
            analyst.column_lineage(ref)


def test_what_is_seen_is_told_in_full_though_its_first_mention_is_hidden(
    lake: Lake, as_: As
) -> None:
    whole, shown = lake.lineage("orders@main"), as_("analyst").lineage("orders@main")
    assert any(one.seen for one in every(whole.down))
    reports = [one for one in every(shown.down) if names((one,)) == ["report"]]
    assert [one.seen for one in reports].count(False) == 1


def test_the_graph_leaves_out_what_is_hidden(lake: Lake, as_: As) -> None:
    found = as_("analyst").graph()
    assert [one.name for one in found.nodes] == ["orders", "report"]
    assert [(edge.source, edge.target) for edge in found.edges] == [("orders", "report")]
    with pytest.raises(NotFound, match='There is no project "other".'):
        as_("analyst").bound(project="other").graph()


def test_hidden_columns_have_no_names(lake: Lake, as_: As) -> None:
    keeper = as_("bookkeeper")
    found = keeper.column_lineage("sums@main")
    assert [one.column for one in found.columns] == ["id", "total", "again"]
    assert [one.text for one in found.columns[1].below] == ["something you may not see"]
    text = keeper._client._http.get("lineage/columns?ref=sums@main").text
    assert "wages" not in text
    assert "tables" not in text
    assert '"pay"' not in text


def test_of_what_is_made_from_a_column_hidden_parts_have_no_names(lake: Lake, as_: As) -> None:
    whole = lake.column_lineage("tables@main", "pay").down
    (wages,) = whole[0].below
    assert sorted(one.column for one in wages.below) == ["again", "total"]
    assert as_("root").column_lineage("tables@main", "pay").down == whole
    found = as_("clerk").column_lineage("tables@main", "pay")
    (node,) = found.down
    assert [one.text for one in node.below] == ["something you may not see"]
    assert node.below[0].below == ()
