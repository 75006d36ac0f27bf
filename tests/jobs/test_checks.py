"""What is kept of checks, how it is shown, and quarantine made again."""

from __future__ import annotations

import pytest

from tests.cli.run import Cli
from tests.jobs.graphs import Graph
from tests.served import home
from trunkline import Lake, errors
from trunkline.lake.core import repo_key
from trunkline.model.expectations import Action, CheckKind, CheckResult, CheckState
from trunkline.storage.catalog import checks

# -- kept in the lake --------------------------------------------------------------------------


SAMPLE = '{"id":1,"revenue":-2}'


def record(graph: Graph, name: str, *results: CheckResult) -> str:
    """As a job of that pipeline would have left them."""
    job = graph.job(name)
    core = home(graph.lake)._core
    with core.database.write() as session:
        repo = repo_key(session, job.pipeline)
        checks.record(session, repo, job.id, results, session.now())
    return job.id


def one(name: str, state: CheckState, broken: int = 0) -> CheckResult:
    samples = (SAMPLE,) * bool(broken)
    said = f"{broken} of 10 rows break it"
    return CheckResult(name, CheckKind.EXPR, Action.FAIL, state, "", 10, broken, said, samples)


@pytest.fixture
def checked(idle: Graph) -> Graph:
    """Two jobs of b: in the first r failed, in the second all is well but s."""
    idle.follow("b", "orders")
    idle.put("orders", a="1")
    idle.run()
    record(idle, "b", one("r", CheckState.FAILED, 3), one("old", CheckState.PASSED))
    idle.put("orders", a="2")
    idle.run()
    record(idle, "b", one("r", CheckState.PASSED), one("s", CheckState.WARNED, 1))
    return idle


def test_the_lake_tells_of_the_newest_job_or_of_more(checked: Graph):
    lake = checked.lake
    assert [(c.pipeline, c.result.name) for c in lake.checks()] == [("b", "r"), ("b", "s")]
    assert [c.result.name for c in lake.checks("b", limit=2)] == ["r", "s", "r", "old"]
    assert lake.checks(failed=True) == []
    first = checked.sets("b")[0]
    (failed,) = lake.checks(job=f"b@{first}", failed=True)
    assert failed.result.samples == (SAMPLE,)
    assert lake.checks("b", job=first, failed=True) == [failed]
    assert failed.result.rate == 0.3
    with pytest.raises(errors.NotFound, match='no pipeline "nosuch"'):
        lake.checks("nosuch")


def test_they_go_with_the_pipeline(checked: Graph):
    checked.lake.delete_pipeline("b", keep_repo=True)
    assert checked.lake.checks(all_projects=True) == []
    assert checked.lake.fsck().ok


def test_erasing_and_gc_leave_no_rows_behind(checked: Graph):
    checked.lake.gc()
    assert any(c.result.samples for c in checked.lake.checks("b", limit=9)), "not yet"
    checked.lake.erase("orders@main:/a", "asked to")
    assert not any(c.result.samples for c in checked.lake.checks("b", limit=9))


def test_the_command_shows_states_trends_and_samples(checked: Graph, monkeypatch, capfdbinary):
    cli = Cli(capfdbinary)
    monkeypatch.setenv("TRUNKLINE_LAKE", checked.lake.location)
    text = cli.ok("checks")
    assert text.splitlines()[0].split()[:8] == [
        "PIPELINE", "RULE", "STATE", "BROKEN", "ROWS", "RATE", "ACTION", "TREND"
    ]  # fmt: skip
    rows = [line.split() for line in text.splitlines()[1:]]
    assert [row[1:8] for row in rows] == [
        ["r", "passed", "0", "10", "0.00%", "fail", "✗✓"],
        ["s", "warned", "1", "10", "10.00%", "fail", "!"],
    ]
    first, second = (job[:12] for job in checked.sets("b"))
    assert cli.ok("checks", "b", "--failed") == "No checks.\n"
    assert f"b@{first}" in cli.ok("checks", f"b@{first}", "--failed")
    assert cli.ok("checks", "--samples").endswith(f"\ns: 1 of 10 rows break it\n  {SAMPLE}\n")
    found = cli.json("checks", "list", "b")
    assert [(one["result"]["name"], one["job"][:12]) for one in found] == [
        ("r", second),
        ("s", second),
    ]
    page = cli.ok("job", "inspect", f"b@{first}")
    assert "Checks:\n  ✗ " in page.replace("✗  r", "✗ r")
    assert "replay" in cli.ok("checks", "--help")
    assert cli("checks", "nosuch").code == 3


# -- quarantine, made again --------------------------------------------------------------------


ASIDE = """
def f(datum):
    for one in datum.inputs["orders"]:
        name, text = one.path.strip("/"), one.text()
        rule = "odd" if "odd" in text else "bad" if "bad" in text else ""
        datum.write(f"_quarantine/{rule}/{name}" if rule else name, text)
"""
MENDED = ASIDE.replace('"odd" in text', "False")


@pytest.fixture
def aside(graph: Graph) -> Graph:
    """Four files, of which three are set aside by two rules; then the code is mended."""
    graph.put("orders", a="fine", b="odd", c="odd", d="bad")
    graph.apply("b", "orders", ASIDE)
    graph.run_well()
    assert set(graph.files("b@main")) == {
        "/a", "/_quarantine/odd/b", "/_quarantine/odd/c", "/_quarantine/bad/d"
    }  # fmt: skip
    graph.apply("b", "orders", MENDED, how={"no_reprocess": True})
    for job in graph.run():
        assert job.counts.processed == 0
    return graph


def test_only_what_is_quarantined_runs_again(aside: Graph):
    started = aside.lake.replay("b")
    job = aside.run_well()
    assert job.id == started
    assert job.cause == "replay"
    assert aside.ran(job) == {"/b", "/c", "/d"}
    assert set(aside.reasons(job).values()) == {"replay", "unchanged"}
    assert set(aside.files("b@main")) == {"/a", "/b", "/c", "/_quarantine/bad/d"}
    assert aside.lake.fsck(deep=True).ok


def test_of_one_rule_and_once(aside: Graph):
    aside.lake.replay("b", "odd")
    assert aside.ran(aside.run_well()) == {"/b", "/c"}
    with pytest.raises(errors.Precondition, match="No rows of b are quarantined by odd") as caught:
        aside.lake.replay("b", "odd")
    assert "bad" in caught.value.hint
    aside.put("orders", e="odd")
    assert aside.ran(aside.run_well()) == {"/e"}, "a later job is an ordinary one"


def test_a_replay_that_fails_can_be_tried_again(aside: Graph):
    aside.apply("b", "orders", "def f(datum): raise ValueError('oh')", how={"no_reprocess": True})
    aside.run()
    aside.lake.replay("b")
    assert str(aside.run_one().state) == "failure"
    assert "/_quarantine/odd/b" in aside.files("b@main")
    aside.apply("b", "orders", MENDED, how={"no_reprocess": True})
    aside.run()
    failed = next(job for job in aside.lake.jobs("b") if str(job.state) == "failure")
    aside.lake.rerun_job(f"b@{failed.id}")
    assert aside.ran(aside.run_well()) == {"/b", "/c", "/d"}


def test_without_quarantine_there_is_nothing_to_replay(idle: Graph, lake: Lake):
    idle.follow("b", "orders")
    with pytest.raises(errors.Precondition, match=r"No rows of b are quarantined\."):
        lake.replay("b")
    with pytest.raises(errors.NotFound):
        lake.replay("nosuch")


def test_a_replay_is_said_on_the_command_line(aside: Graph, monkeypatch, capfdbinary):
    cli = Cli(capfdbinary)
    monkeypatch.chdir(aside.lake.location)
    said = cli.json("checks", "replay", "b", "--rule", "bad")
    assert aside.run_well().id == said["job"]
    assert cli("checks", "replay", "b", "--rule", "od").code == 6
