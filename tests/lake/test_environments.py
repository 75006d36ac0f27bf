"""Environments on both databases, in backups, and what fsck says of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.postgres import postgres
from trunkline import Lake
from trunkline.model.environments import CodeState, DataState, Environment
from trunkline.sdk.backups import restore


@pytest.fixture(params=["sqlite", "postgresql"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Graph]:
    """orders → b → c, in a lake on each database; its jobs have no datums, and need no Spark."""
    place = {}
    if request.param == "postgresql":
        place = {"catalog": postgres().catalog(), "store": f"file://{tmp_path}/store"}
    with tl.init(tmp_path / "lake", **place) as lake:
        made = Graph(lake, tmp_path / "code")
        lake.create_repo("orders")
        made.follow("b", "orders")
        made.follow("c", "b")
        made.put("orders", a="1")
        made.run()
        lake.create_environment("dev")
        yield made


def change(graph: Graph) -> None:
    """New code, a new pipeline and new data in dev."""
    graph.follow("b", "orders", env={"WORD": "new"}, how={"env": "dev"})
    graph.follow("d", "c", how={"env": "dev"})
    graph.put("orders@dev", a="2")
    graph.run()


def states(lake: Lake) -> set[str]:
    found = lake.environment_status("dev")
    states = [str(one.state) for one in found.pipelines]
    return {*states, *(str(one.state) for one in found.branches)}


def test_from_the_first_change_to_the_end(graph: Graph):
    lake = graph.lake
    change(graph)
    assert lake.fsck().ok
    assert (lake.merge_environment("dev").published, graph.run()) == (3, [])
    assert states(lake) == {str(CodeState.SAME), str(DataState.SAME)} == {"same"}
    lake.delete_pipeline("d", env="dev")
    lake.delete_pipeline("d")
    graph.put("orders", a="3")
    graph.run()
    lake.sync_environment("dev")
    assert graph.run() == []
    assert states(lake) == {"same"}
    lake.delete_environment("dev")
    lake.gc()
    assert lake.fsck().ok
    assert graph.head("c") is not None


def test_deleted_by_force_it_leaves_main_as_it_was(graph: Graph):
    before = [graph.head(name) for name in ("orders", "b", "c")]
    change(graph)
    graph.put("orders@dev", a="3")
    graph.lake.delete_environment("dev", force=True)
    assert [graph.head(name) for name in ("orders", "b", "c")] == before
    assert graph.run() == []
    assert {str(one.name) for one in graph.lake.repos()} == {"orders", "b", "c"}
    graph.lake.delete_pipeline("c")
    graph.lake.delete_pipeline("b")
    graph.lake.delete_repo("orders", force=True)
    assert graph.lake.fsck().ok


def test_a_backup_has_environments(graph: Graph, tmp_path: Path):
    change(graph)
    graph.lake.backup(str(tmp_path / "backup"))
    restore(tmp_path / "backup", tmp_path / "restored")
    with tl.open(tmp_path / "restored") as restored:
        assert restored.environment_status("dev") == graph.lake.environment_status("dev")
        assert restored.merge_environment("dev").published == 3
        assert restored.fsck().ok


def test_a_project_goes_with_its_environments(graph: Graph):
    graph.lake.create_project("empty")
    graph.lake.bound(project="empty").create_environment("dev")
    graph.lake.delete_project("empty")
    assert [one.project for one in graph.lake.environments(all_projects=True)] == ["default"]


def test_fsck_finds_what_does_not_fit(graph: Graph):
    with graph.lake._core.database.write() as session:
        session.execute("UPDATE environment_pipelines SET version = 9")
        session.execute("DELETE FROM branches WHERE name = 'dev' AND repo IN "
                        "(SELECT key FROM repos WHERE name = 'orders')")  # fmt: skip
    told = {(one.where, one.message) for one in graph.lake.fsck().problems}
    assert ("b in dev", "has version 9, which is not there") in told
    assert ("b in dev", "reads orders@dev, which is not there") in told


def test_the_same_code_in_two_versions_is_the_same(graph: Graph):
    for how in ({"env": "dev"}, {}):
        graph.follow("b", "orders", env={"WORD": "new"}, how=how)
    graph.run()
    found = {str(one.name): one for one in graph.lake.environment_status("dev").pipelines}
    assert (found["b"].version, found["b"].base_version) == (2, 3)
    assert found["b"].state is CodeState.SAME


def test_several_branches_of_a_repo_are_merged_and_those_that_are_only_there(graph: Graph):
    for branch in ("staging", "dev.staging", "dev.mine"):
        graph.lake.create_branch(f"orders@{branch}")
    for branch in ("dev", "dev.staging", "dev.mine"):
        graph.put(f"orders@{branch}", a=branch)
    graph.run()
    done = graph.lake.merge_environment("dev")
    for branch, origin in (("dev", "main"), ("dev.staging", "staging"), ("dev.mine", "mine")):
        assert graph.files(f"orders@{origin}") == {"/a": branch}
    heads = {graph.head(f"orders@{branch}") for branch in ("main", "staging", "mine")}
    assert len(heads) == 3
    assert done.set_id in heads
    assert graph.head("b") == done.set_id
    assert states(graph.lake) == {"same"}
    assert graph.lake.fsck().ok


def test_every_branch_has_one_name_in_an_environment_and_back():
    found = Environment("default", "dev", "main", 0, "ada")
    for branch in ("main", "staging", "dev", "a.b"):
        assert found.owns(found.branch(branch))
        assert found.origin(found.branch(branch)) == branch
    assert not found.owns("main")
    assert not found.owns("development")
