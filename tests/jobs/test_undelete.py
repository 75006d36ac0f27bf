"""A deleted pipeline comes back with its output, its code, its schedule and what it computed."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.jobs.graphs import Graph, reads
from tests.postgres import postgres
from tests.served import home
from trunkline import errors
from trunkline.model.commits import RepoKind
from trunkline.model.jobs import JobState
from trunkline.storage.catalog import timing

DAY = 86_400.0


def test_a_pipeline_comes_back_paused_with_all_that_it_had(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.apply("b", "orders", datum_tries=2)
    graph.run()
    before = graph.lake.pipeline("b")
    files, jobs = graph.files("b"), graph.lake.jobs("b")
    graph.lake.delete_pipeline("b")
    assert [(one.kind, one.name, one.takes) for one in graph.lake.deleted()] == [
        ("pipeline", "b", ("b.code",))
    ]
    assert (graph.lake.pipelines(), graph.lake.jobs()) == ([], [])
    assert graph.lake.status().pipelines == 0
    assert graph.lake.gc(grace=DAY).deletions == 0
    graph.put("orders", a="x", b="y")
    assert graph.run() == []
    assert graph.lake.fsck(deep=True).ok
    done = graph.lake.undelete("b")
    assert done.notes == ("It is paused: trunkline pipeline resume b",)
    after = graph.lake.pipeline("b")
    assert (after.version, after.state) == (before.version, "paused")
    assert (graph.files("b"), graph.lake.jobs("b")) == (files, jobs)
    assert [one.version for one in graph.lake.pipeline_versions("b")] == [2, 1]
    graph.lake.resume_pipeline("b")
    job = graph.run_well()
    assert graph.ran(job) == {"/b"}, "what it had computed is taken over"
    assert graph.lake.fsck(deep=True).ok


def test_nobody_stumbles_over_what_was_deleted(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["false"])
    graph.run()
    graph.put("orders", a="y")
    graph.run()
    graph.lake.create_branch("orders@gone", "main")
    lake = graph.lake
    lake.delete_pipeline("b")
    lake.delete_branch("orders@gone")
    moments = [one.id for one in lake.sets()]
    assert [node.name.repo for node in lake.overview().nodes] == ["orders", "rates"]
    for moment in moments:
        assert {node.name.repo for node in lake.overview(at=moment).nodes} <= {"orders", "rates"}
    for text in ("b", "gone", *(moment[:8] for moment in moments)):
        assert all(one.repo.repo != "b" for one in lake.search(text).items)
    assert (lake.graph().edges, lake.status().pipelines) == ((), 0)


def test_after_gc_nothing_of_it_is_left(idle: Graph):
    idle.put("orders", a="x")
    idle.apply("b", tl.cross(tl.pfs("orders", "/no"), tl.cron("tick", "@every 1h")), ["true"])
    idle.run()
    idle.lake.delete_pipeline("b")
    idle.lake.gc(grace=0)
    with home(idle.lake)._core.database.read() as session:
        for table in ("pipelines", "pipeline_versions", "pipeline_inputs", "crons", "jobs"):
            assert not session.all(f"SELECT * FROM {table}"), table
        names = [row["name"] for row in session.all("SELECT name FROM every_repo ORDER BY name")]
        assert names == ["orders", "rates"]
    assert idle.lake.fsck(deep=True).ok
    with pytest.raises(errors.NotFound):
        idle.lake.undelete("b")


def test_its_schedule_rests_meanwhile(idle: Graph):
    idle.apply("b", tl.cross(tl.pfs("orders", "/no"), tl.cron("tick", "@every 1h")), ["true"])
    core = home(idle.lake)._core
    idle.lake.delete_pipeline("b")
    with core.database.read() as session:
        assert timing.crons(session) == []
    idle.lake.undelete("b")
    with core.database.read() as session:
        assert [str(one.name) for one in timing.crons(session)] == ["b_tick"]
    assert idle.lake.fsck().ok


def test_branches_that_were_made_for_it_come_back(idle: Graph):
    trigger = tl.pfs("orders", "/no", trigger={"commits": 3})
    idle.apply("b", trigger, ["true"])
    before = idle.lake.triggers("orders")
    assert before
    idle.lake.delete_pipeline("b")
    assert idle.lake.triggers("orders") == []
    idle.lake.undelete("b")
    after = idle.lake.triggers("orders")
    assert [(one["branch"], one["on"]) for one in after] == [
        (one["branch"], one["on"]) for one in before
    ]
    assert idle.lake.fsck().ok


def test_a_name_that_is_taken_again_and_inputs_that_are_gone(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.delete_pipeline("b")
    idle.follow("b", "rates")
    with pytest.raises(errors.AlreadyExists) as refused:
        idle.lake.undelete("b")
    assert "pipeline delete b" in refused.value.hint
    with pytest.raises(errors.Usage, match="cannot have another"):
        idle.lake.undelete("b", as_="c")
    old = idle.lake.deleted()[-1]
    idle.lake.delete_pipeline("b")
    idle.lake.delete_repo("orders")
    with pytest.raises(errors.InUse, match="reads orders, which is deleted too"):
        idle.lake.undelete("b", id=old.id)
    idle.lake.undelete("orders")
    idle.lake.undelete("b", id=old.id)
    assert idle.lake.pipeline("b").state == "paused"
    assert idle.lake.fsck().ok


def test_an_input_that_gc_took_is_told_on_resume(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.delete_pipeline("b")
    idle.lake.delete_repo("orders")
    core = home(idle.lake)._core
    with core.database.write() as session:
        session.execute("UPDATE deletions SET at = 0 WHERE name = 'orders'")
    assert idle.lake.gc(grace=DAY).deletions == 1
    idle.lake.undelete("b")
    with pytest.raises(errors.Precondition, match="An input of b was deleted"):
        idle.lake.resume_pipeline("b")
    assert idle.lake.fsck().ok


def test_readers_of_one_that_was_forced_are_named(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    found = idle.lake.deletion("pipeline", "b")
    assert found.refused is not None
    assert [one.how for one in found.readers] == ["pipeline c reads its branch main"]
    idle.lake.delete_pipeline("b", force=True)
    done = idle.lake.undelete("b")
    assert [one.how for one in done.readers] == ["c reads it again, and is paused."]
    idle.lake.resume_pipeline("b")
    idle.lake.resume_pipeline("c")
    idle.put("orders", a="1")
    assert {job.state for job in idle.run()} == {JobState.SUCCESS}


def test_readers_that_were_deleted_too_read_it_again(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    idle.lake.delete_pipeline("b", force=True)
    idle.lake.delete_pipeline("c")
    idle.lake.undelete("b")
    idle.lake.undelete("c")
    idle.lake.resume_pipeline("c")
    assert list(map(str, idle.lake.pipeline("c").inputs)) == ["b"]
    assert idle.lake.fsck().ok


def test_what_is_made_anew_is_read_by_who_is_applied_again(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b")
    idle.lake.delete_pipeline("b", force=True)
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.run()
    with pytest.raises(errors.Precondition, match="An input of c was deleted"):
        idle.lake.resume_pipeline("c")
    assert idle.follow("c", "b").action == "updated"
    idle.lake.resume_pipeline("c")
    assert list(map(str, idle.lake.pipeline("c").inputs)) == ["b"]
    assert reads(idle.run_one()) == {"b": idle.head("b")}
    assert idle.follow("c", "b").action == "unchanged"
    assert idle.lake.fsck().ok


def test_readers_that_have_changed_stay_as_they_are(idle: Graph):
    idle.follow("b", "orders")
    idle.follow("c", "b", "rates")
    idle.lake.delete_pipeline("b", force=True)
    idle.follow("c", "rates")
    (reader,) = idle.lake.undelete("b").readers
    assert reader.how == "c read it, and has changed since."
    assert list(map(str, idle.lake.pipeline("c").inputs)) == ["rates"]
    assert idle.lake.fsck().ok


def test_a_repo_that_a_deleted_pipeline_read_can_be_deleted(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.delete_pipeline("b")
    idle.lake.delete_repo("orders")
    idle.lake.gc(grace=0)
    assert idle.lake.fsck().ok
    assert idle.lake.deleted() == []


def test_on_a_database_server(tmp_path: Path):
    store = f"file://{tmp_path}/store"
    with tl.init(tmp_path / "lake", catalog=postgres().catalog(), store=store) as lake:
        graph = Graph(lake, tmp_path / "code")
        lake.create_repo("orders")
        graph.put("orders", a="1")
        lake.create_branch("orders@dev", "main")
        clock = tl.cron("tick", "@every 1h")
        graph.apply("b", tl.cross(tl.pfs("orders", "/no"), clock), ["true"])
        graph.run()
        assert lake.deletion("pipeline", "b").refused is None
        for _ in range(2):
            lake.delete_pipeline("b")
            lake.delete_branch("orders@dev")
            lake.delete_repo("orders")
            assert (lake.repos(), lake.pipelines(), lake.jobs()) == ([], [], [])
            assert len(lake.deleted()) == 2
            assert lake.gc(grace=DAY).deletions == 0
            assert lake.fsck(deep=True).ok
            lake.undelete("orders")
            lake.undelete("orders@dev")
            lake.undelete("b")
        assert graph.files("orders@dev") == {"/a": "1"}
        lake.delete_pipeline("b")
        lake.delete_repo("orders")
        assert lake.gc(grace=0).deletions == 2
        assert lake.fsck(deep=True).ok
        with home(lake)._core.database.read() as session:
            assert not session.all("SELECT * FROM every_repo")


def on_orders(lake: tl.Lake) -> list[tuple[object, object]]:
    return [(one["branch"], one["on"]) for one in lake.triggers("orders")]


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_pipeline_whose_repo_was_kept_comes_back_to_it(tmp_path: Path, database: str):
    address = postgres().catalog() if database == "postgres" else None
    store = f"file://{tmp_path}/objects" if address else None
    with tl.init(tmp_path / "lake", catalog=address, store=store) as lake:
        graph = Graph(lake, tmp_path / "code")
        lake.create_repo("orders")
        graph.put("orders", a="x")
        graph.follow("b", "orders")
        graph.follow("b", "orders", priority=2)
        graph.follow("c", "b")
        trigger = tl.pfs("orders", "/no", trigger={"commits": 3})
        graph.apply("t", tl.cross(trigger, tl.cron("tick", "@every 1h")), ["true"])
        graph.run()
        triggers, head = on_orders(lake), graph.head("b")
        assert head
        for name in "bt":
            lake.delete_pipeline(name, keep_repo=True)
        assert lake.gc(grace=DAY).deletions == 0
        graph.put("b", mine="x")
        with pytest.raises(errors.Precondition, match="has changed since its pipeline"):
            lake.undelete("b")
        lake.move_branch("b@main", f"b@{head}")
        assert lake.undelete("b").notes == ("It is paused: trunkline pipeline resume b",)
        assert [one.version for one in lake.pipeline_versions("b")] == [2, 1]
        assert (lake.pipeline("b").state, lake.repo("b").kind) == ("paused", RepoKind.OUTPUT)
        lake.undelete("t")
        assert on_orders(lake) == triggers
        assert lake.repo("t_tick").kind is RepoKind.CRON
        assert lake.deleted() == []
        lake.resume_pipeline("b")
        assert all(job.state is JobState.SUCCESS for job in graph.run())
        assert lake.fsck(deep=True).ok


def test_a_kept_repo_outlives_what_gc_forgets_of_its_pipeline(idle: Graph):
    idle.follow("b", "orders")
    idle.lake.delete_pipeline("b", keep_repo=True)
    idle.lake.gc(grace=0)
    assert idle.lake.repo("b").kind is RepoKind.USER
    with pytest.raises(errors.NotFound):
        idle.lake.undelete("b")
    assert idle.lake.fsck().ok
