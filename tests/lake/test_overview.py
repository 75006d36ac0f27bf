"""The lake at a glance, now and as of a commit set, on each database that there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.postgres import postgres
from trunkline import Lake
from trunkline.errors import NotFound
from trunkline.lake.core import repo_key
from trunkline.lake.publish import Outcome, end_job
from trunkline.lake.sets import sets_page
from trunkline.model.commits import Commit, Origin, RepoName
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.model.ids import new_id
from trunkline.model.jobs import JobState
from trunkline.model.overview import CheckCounts, Overview, OverviewNode
from trunkline.model.streams import Batch, FlowState
from trunkline.model.told import said
from trunkline.storage.catalog import checks, commits, flows
from trunkline.storage.catalog.sqlite import SqliteSession


@pytest.fixture(params=["sqlite", "postgresql"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "lake"
    place: dict[str, str] = {}
    if request.param == "postgresql":
        place = {"catalog": postgres().catalog(), "store": f"file://{tmp_path}/store"}
    with tl.init(folder, **place) as made:
        made.create_repo("orders", "What was sold")
        yield made


@pytest.fixture
def graph(lake: Lake, tmp_path: Path) -> Graph:
    return Graph(lake, tmp_path / "code")


def node(found: Overview, name: str) -> OverviewNode:
    (one,) = [node for node in found.nodes if str(node.name) == name]
    return one


def names(found: Overview) -> list[str]:
    return [str(one.name) for one in found.nodes]


def arrows(found: Overview) -> list[tuple[str, str]]:
    return [(str(one.source), str(one.target)) for one in found.edges]


def head(found: Overview, name: str) -> str | None:
    one = node(found, name).head
    return one.commit if one else None


def fail(lake: Lake, pipeline: str, job: str, reason: str = "it broke") -> None:
    with lake._core.database.write() as session:
        repo = repo_key(session, RepoName("default", pipeline))
        end_job(session, repo, job, Outcome(JobState.FAILURE, said(reason)))


def test_now_everything_is_as_it_is(lake: Lake, graph: Graph):
    graph.follow("clean", "orders", description="Can be trusted")
    graph.follow("report", "clean", "orders")
    change = graph.put("orders@main", a="1")
    lake.run()
    found = lake.overview()
    assert (found.at, names(found)) == (None, ["clean", "orders", "report"])
    assert arrows(found) == [("orders", "clean"), ("clean", "report"), ("orders", "report")]
    orders, clean, report = (node(found, name) for name in ("orders", "clean", "report"))
    assert (orders.kind, orders.state, orders.description) == ("repo", "", "What was sold")
    assert orders.head and (orders.head.files, orders.head.origin) == (1, "user")
    assert (clean.kind, clean.state, clean.how, clean.version) == ("pipeline", "success", "cmd", 1)
    assert clean.description == "Can be trusted"
    assert [str(one) for one in report.inputs] == ["clean", "orders"]
    assert {head(found, name) for name in names(found)} == {change}
    assert report.job and (report.job.id, report.job.state) == (change, JobState.SUCCESS)
    assert (orders.behind, clean.behind, report.behind) == (0, 0, 0)


def test_a_pipeline_is_new_then_waits_then_is_behind_no_more(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    assert node(lake.overview(), "clean").state == "new"
    graph.put("orders@main", a="1")
    before = node(lake.overview(), "clean")
    assert (before.state, before.behind, before.head) == ("waiting", 1, None)
    lake.run()
    assert node(lake.overview(), "clean").behind == 0


def test_a_version_of_then_is_shown_with_what_it_read(lake: Lake, graph: Graph):
    graph.follow("clean", "orders", description="one")
    first = graph.put("orders@main", a="1")
    lake.run()
    lake.create_repo("later")
    graph.put("later@main", a="1")
    graph.follow("clean", "orders", "later", description="two")
    lake.run()
    applied = graph.sets("clean")[-1]
    then, at_change, now = (lake.overview(at=one) for one in (first, applied, None))
    assert (then.at, names(then)) == (first, ["clean", "orders"])
    assert (node(then, "clean").version, node(then, "clean").description) == (1, "one")
    assert arrows(then) == [("orders", "clean")]
    assert node(then, "clean").inputs == (RepoName("default", "orders"),)
    for found in (at_change, now):
        assert (node(found, "clean").version, node(found, "clean").description) == (2, "two")
        assert arrows(found) == [("orders", "clean"), ("later", "clean")]
        assert names(found) == ["clean", "later", "orders"]
    assert lake.overview(at=first[:20]) == then


def test_what_was_not_there_yet_is_absent(lake: Lake, graph: Graph):
    first = graph.put("orders@main", a="1")
    graph.follow("clean", "orders")
    lake.run()
    assert names(lake.overview(at=first)) == ["orders"]
    applied = graph.sets("clean")[0]
    assert names(lake.overview(at=applied)) == ["clean", "orders"]
    assert node(lake.overview(at=applied), "clean").state == "success"


def test_a_set_counts_however_long_it_took(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    graph.follow("report", "clean")
    first, second = (graph.put("orders@main", a=text) for text in "12")
    lake.run()
    for change in (first, second):
        then = lake.overview(at=change)
        assert {head(then, name) for name in names(then)} == {change}
        assert {node(then, name).behind for name in names(then)} == {0}
        assert {one.job.id for one in then.nodes if one.job} == {change}


def test_a_failure_stays_what_it_was(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    graph.follow("report", "clean")
    good = graph.put("orders@main", a="1")
    lake.run()
    bad = graph.put("orders@main", a="2")
    fail(lake, "clean", bad)
    mended = graph.put("orders@main", a="3")
    lake.run()
    then = lake.overview(at=bad)
    clean = node(then, "clean")
    assert (clean.state, clean.behind, head(then, "clean")) == ("failure", 1, good)
    assert clean.job and (clean.job.reason, clean.job.finished is not None) == ("it broke", True)
    assert node(then, "report").state == "unrunnable"
    assert (head(then, "orders"), head(then, "report")) == (bad, good)
    now = lake.overview()
    assert (node(now, "clean").state, head(now, "clean")) == ("success", mended)


def test_a_backfill_does_not_tell_how_a_pipeline_is(lake: Lake, graph: Graph):
    graph.put("orders@main", a="1")
    graph.put("orders@main", a="2")
    graph.follow("clean", "orders")
    lake.run()
    newest = node(lake.overview(), "clean").job
    lake.backfill("clean", "orders@main~1")
    waiting = [job for job in lake.jobs("clean") if job.backfill is not None]
    for job in waiting:
        fail(lake, "clean", job.id)
    assert waiting
    clean = node(lake.overview(), "clean")
    assert (clean.state, clean.job) == ("success", newest)


def test_checks_are_those_of_the_last_job_that_had_some(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    first, second = (_run(graph, text) for text in "12")
    results = [
        CheckResult("a", CheckKind.EXPR, Action.FAIL, CheckState.PASSED),
        CheckResult("b", CheckKind.EXPR, Action.QUARANTINE, CheckState.WARNED),
        CheckResult("c", CheckKind.EXPR, Action.WARN, CheckState.WARNED),
    ]
    with lake._core.database.write() as session:
        repo = repo_key(session, RepoName("default", "clean"))
        at = session.now()
        checks.record(session, repo, first, results, at - 1)
        checks.record(session, repo, second, results[:1], at)
    assert node(lake.overview(at=first), "clean").checks == CheckCounts(1, 1, 1, 0)
    assert node(lake.overview(), "clean").checks == CheckCounts(1)


def _run(graph: Graph, text: str) -> str:
    change = graph.put("orders@main", a=text)
    graph.run()
    return change


def test_a_paused_pipeline_says_so(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    change = _run(graph, "1")
    lake.pause_pipeline("clean")
    graph.put("orders@main", a="2")
    clean = node(lake.overview(), "clean")
    assert (clean.state, clean.paused, clean.behind) == ("paused", True, 1)
    then = node(lake.overview(at=change), "clean")
    assert (then.state, then.paused) == ("success", False)


def test_a_schedule_is_told_in_words(lake: Lake, graph: Graph):
    daily = {"cron": "0 6 * * *"}
    graph.follow("clean", "orders", schedule=daily)
    graph.follow("report", "clean")
    first = graph.put("orders@main", a="1")
    graph.follow("clean", "orders", schedule={"cron": "0 7 * * *"})
    words = {one: (lake.overview(at=one), "06:00" if one else "07:00") for one in (first, None)}
    for found, time in words.values():
        assert time in node(found, "clean").schedule
        ticks = node(found, "clean_schedule")
        assert (ticks.kind, ticks.schedule) == ("cron", node(found, "clean").schedule)
        starts = {(str(e.source), str(e.target)): e.starts for e in found.edges}
        assert starts["clean_schedule", "clean"] and not starts["orders", "clean"]


def test_flows_tell_how_fast_they_are_and_what_was_late(lake: Lake, graph: Graph):
    lake.apply(
        {"ingest": {"name": "feed"}, "source": {"rate": {"rows_per_second": 10}}},
        {
            "pipeline": {"name": "sums"},
            "input": {"pfs": {"repo": "orders", "glob": "/"}},
            "transform": {"stream": "SELECT * FROM orders", "trigger": {"interval": "1s"}},
        },
    )
    first, second = (graph.put("orders@main", a=text) for text in "12")
    made = [_batch(lake, "sums", number, late) for number, late in ((1, 2), (2, 3))]
    with lake._core.database.write() as session:
        repo = repo_key(session, RepoName("default", "sums"))
        flows.note(session, repo, FlowState.IDLE)
    now, then = lake.overview(), lake.overview(at=made[0])
    assert [(node(now, one).kind, node(now, one).how) for one in ("feed", "sums")] == [
        ("ingest", "rate"),
        ("stream", "stream"),
    ]
    assert (node(now, "feed").state, node(now, "sums").state) == ("idle", "idle")
    assert (node(now, "sums").rows_per_second, node(now, "sums").late) == (7.5, 5)
    assert (node(then, "sums").rows_per_second, node(then, "sums").late) == (5.0, 2)
    assert (node(then, "sums").state, node(then, "feed").state) == ("running", "idle")
    assert node(lake.overview(at=made[1]), "sums").late == 5
    assert [node(lake.overview(at=one), "sums").behind for one in (first, made[0])] == [1, 1]
    assert (node(now, "sums").behind, head(now, "orders")) == (1, second)
    lake.pause_pipeline("feed")
    assert node(lake.overview(), "feed").state == "paused"


def _batch(lake: Lake, name: str, number: int, late: int) -> str:
    """A commit that a batch of a stream made, which has read nothing yet; its id."""
    with lake._core.database.write() as session:
        repo, now = repo_key(session, RepoName("default", name)), session.now()
        stream = RepoName("default", name)
        made = Commit(new_id(), stream, "main", None, "", "stream", now, now, Origin.PIPELINE)
        commits.add(session, repo, made)
        batch = Batch(made.id, 1, number, number, {}, {}, rows_in=10, late=late, seconds=2.0)
        facts = {"late": 5, "rows_per_second": 7.5}
        flows.advance(session, repo, batch, {}, facts)
    return made.id


def test_a_head_that_was_squashed_is_what_is_left_of_it(lake: Lake, graph: Graph):
    lake.create_repo("other")
    first, second = (graph.put("orders@main", a=text) for text in "12")
    meanwhile = graph.put("other@main", a="1")
    graph.put("orders@main", a="3")
    assert head(lake.overview(at=meanwhile), "orders") == second
    lake.squash(f"orders@{second}")
    assert head(lake.overview(at=meanwhile), "orders") == first


def test_a_project_has_its_own_and_what_it_is_connected_to(lake: Lake, graph: Graph):
    lake.create_project("lab")
    lake.create_repo("lab/notes")
    lake.create_repo("apart")
    lake.apply(
        {
            "pipeline": {"name": "copy", "project": "lab"},
            "input": {"pfs": {"repo": "orders", "project": "default", "glob": "/none"}},
            "transform": {"cmd": ["true"]},
        }
    )
    assert names(lake.overview("lab")) == ["orders", "lab/copy", "lab/notes"]
    assert names(lake.overview()) == ["apart", "orders", "lab/copy", "lab/notes"]


def test_what_is_not_there_is_not_found(lake: Lake):
    with pytest.raises(NotFound, match='no project "nowhere"'):
        lake.overview("nowhere")
    with pytest.raises(NotFound, match="No commit has the id"):
        lake.overview(at="0" * 32)
    with pytest.raises(NotFound, match="No commit has the id"):
        lake.overview(at="words")


def test_sets_tell_where_they_began_and_what_came_of_them(lake: Lake, graph: Graph):
    graph.follow("clean", "orders")
    graph.follow("report", "clean")
    good = graph.put("orders@main", a="1")
    lake.run()
    bad = graph.put("orders@main", a="2")
    fail(lake, "clean", bad)
    waits = graph.put("orders@main", a="3")
    found = {one.id: one for one in lake.sets()}
    assert list(found)[:3] == [waits, bad, good]
    assert [str(one) for one in found[good].origin] == ["orders"]
    assert [str(one) for one in found[good].repos] == ["orders", "clean", "report"]
    assert found[good].jobs == {"success": 2}
    assert (found[good].finished or 0) >= found[good].at
    assert found[bad].jobs == {"failure": 1, "unrunnable": 1}
    assert (found[waits].finished, sum(found[waits].jobs.values())) == (None, 2)
    applied = list(found.values())[3:]
    assert [one.message for one in applied] == ["applied report", "applied clean"]
    assert [[str(name) for name in one.origin] for one in applied] == [["report"], ["clean"]]


def test_sets_come_in_pages_that_leave_nothing_out(lake: Lake, graph: Graph):
    lake.create_project("lab")
    lake.create_repo("lab/notes")
    changes = [graph.put(f"{'lab/notes' if n % 3 else 'orders'}@main", a=str(n)) for n in range(7)]
    paged: list[str] = []
    rest = None
    while True:
        page = sets_page(lake._core, None, 3, rest)
        paged += [one.id for one in page.items]
        rest = page.rest
        if rest is None:
            break
    assert paged == changes[::-1] == [one.id for one in lake.sets(limit=None)]
    assert [one.id for one in lake.sets(limit=2)] == changes[:-3:-1]
    lab = [one for n, one in enumerate(changes) if n % 3]
    assert [one.id for one in lake.sets("lab")] == lab[::-1]


def test_the_number_of_statements_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("orders")
        graph = Graph(lake, tmp_path / "code")
        graph.follow("p0", "orders")
        few = _statements(monkeypatch, lake, _run(graph, "1"))
        for n in range(1, 9):
            graph.follow(f"p{n}", f"p{n - 1}")
        many = _statements(monkeypatch, lake, _run(graph, "2"))
    assert few == many
    assert max(many) < 20


def _statements(monkeypatch: pytest.MonkeyPatch, lake: Lake, change: str) -> list[int]:
    """How many statements each of the ways to look at the lake takes."""
    counts = []
    for ask in (lake.overview, lambda: lake.overview(at=change), lake.sets):
        noted: list[str] = []
        with monkeypatch.context() as patched:
            for name in ("one", "all"):
                patched.setattr(SqliteSession, name, _noting(getattr(SqliteSession, name), noted))
            ask()
        counts.append(len(noted))
    return counts


def _noting(real: Any, noted: list[str]) -> Any:
    def call(self: SqliteSession, sql: str, *values: Any) -> Any:
        noted.append(sql)
        return real(self, sql, *values)

    return call
