"""What datums print: per job and datum, and while they run. SEMANTICS 7."""

from __future__ import annotations

import threading

import pytest

from tests.jobs.graphs import Graph
from tests.waiting import until
from trunkline import errors
from trunkline.model.jobs import JobState, LogLine


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


def texts(graph: Graph, name: str, stream: str = "out", **how) -> list[str]:
    job = graph.job(name)
    lines = graph.lake.logs(f"{name}@{job.id}", **how)
    return [line.text for line in lines if line.stream == stream]


def test_what_a_command_prints_is_kept_by_stream_job_and_datum(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh("echo hello; echo trouble >&2"))
    job = graph.run_well()
    lines = list(graph.lake.logs(f"b@{job.id}"))
    datum = graph.datums(job)["/a"]
    found = {(line.stream, line.text) for line in lines}
    assert {("out", "hello"), ("err", "trouble")} <= found
    assert {(line.job, line.pipeline, line.datum) for line in lines} == {(job.id, "b", datum.id)}
    assert [line.at for line in lines] == sorted(line.at for line in lines)


def test_the_lines_of_one_datum_can_be_had_alone(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", sh("ls pfs/orders"))
    job = graph.run_well()
    assert sorted(texts(graph, "b")) == ["a", "b"]
    datum = graph.datums(job)["/b"].id
    assert texts(graph, "b", datum=datum) == ["b"]
    assert texts(graph, "b", datum=datum[:8]) == ["b"]


def test_what_a_function_prints_is_kept_too(graph: Graph):
    body = """
    import sys

    def f(datum):
        print("one of", datum.file("orders").name)
        print("oh", file=sys.stderr)
    """
    graph.put("orders", a="x")
    graph.apply("b", "orders", body)
    graph.run_well()
    assert texts(graph, "b") == ["one of a"]
    assert texts(graph, "b", "err") == ["oh"]


def test_a_function_that_raises_leaves_its_trace(graph: Graph):
    graph.put("orders", a="bad")
    graph.apply("b", "orders")
    graph.run_one()
    trace = "\n".join(texts(graph, "b", "err"))
    assert "work.py" in trace
    assert "ValueError: bad content" in trace


def test_tries_that_failed_are_noted(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh("echo again; exit 3"), datum_tries=2)
    graph.run_one()
    assert texts(graph, "b") == ["again", "again"]
    notes = texts(graph, "b", "note")
    assert any(note.startswith("try 1 of 2 failed") for note in notes)
    assert any(note.startswith("failed") for note in notes)


def test_secrets_are_not_shown(graph: Graph, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_SECRET_TOKEN", "s3cret-value")
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh('echo "it is $token"; echo "$token" >&2'), secrets=["token"])
    graph.run_well()
    assert "s3cret-value" not in str(texts(graph, "b") + texts(graph, "b", "err"))


def test_bytes_that_are_no_text_are_shown_all_the_same(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh(r"printf 'a\377b\n'"))
    graph.run_well()
    (line,) = texts(graph, "b")
    assert line.startswith("a")
    assert line.endswith("b")


def test_a_skipped_datum_prints_nothing_again(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh("ls pfs/orders"))
    graph.run_well()
    graph.put("orders", b="y")
    graph.run_well()
    assert texts(graph, "b") == ["b"]


def test_the_logs_of_a_job_that_never_was_are_not_found(graph: Graph):
    with pytest.raises(errors.NotFound):
        list(graph.lake.logs("0" * 32))


def test_a_job_that_has_not_run_has_no_lines(idle: Graph):
    idle.follow("b", "orders")
    made = idle.put("orders", a="1")
    assert list(idle.lake.logs(made)) == []


@pytest.mark.slow
def test_followed_lines_come_while_the_datum_still_runs(graph: Graph, tmp_path):
    go = tmp_path / "go"
    script = f'echo early; until test -e "{go}"; do sleep 0.05; done; echo late'
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh(script))
    job = graph.job("b")
    worker = threading.Thread(target=graph.lake.run, daemon=True)
    worker.start()
    lines: list[LogLine] = []
    follower = threading.Thread(
        target=lambda: lines.extend(graph.lake.logs(f"b@{job.id}", follow=True)), daemon=True
    )
    follower.start()
    until(lambda: "early" in [line.text for line in lines])
    assert not graph.job("b").state.is_over
    go.touch()
    follower.join(90)
    worker.join(90)
    assert not follower.is_alive(), "following ends with the job"
    assert [line.text for line in lines if line.stream == "out"] == ["early", "late"]
    assert graph.job("b").state is JobState.SUCCESS
