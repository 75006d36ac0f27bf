"""`trunkline stream` and `trunkline ingest`, and where else commits of streams are shown."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import trunkline as tl
from tests.cli.run import home_of
from tests.cli.test_complete import bash
from tests.cli.test_terminal import on_a_terminal
from tests.flows import INGEST, READER, batch, flow_of, key_of, stream_of
from trunkline.model.streams import FlowState
from trunkline.storage.catalog import flows

SECOND = 1_000_000


@pytest.fixture
def ran(cli, lake):
    """A stream of orders with three batches, and an ingest with one; the stream's commits."""
    made = []
    with tl.open(home_of(lake)) as opened:
        opened.apply(stream_of("orders"))
        opened.apply(INGEST)
        for number in (1, 2, 3):
            with opened.commit("orders@main", message=f"more {number}") as commit:
                commit.put(f"/{number}.csv", b"x\n")
            made.append(
                batch(
                    opened,
                    "sessions",
                    {"orders": commit.result.id},
                    {"late": number, "watermark": 1_800_000_000 * SECOND, "kind": "no state: x"},
                    rows_in=1000 * number,
                    rows_out=number,
                    late=1,
                    watermark=1_800_000_000 * SECOND,
                    seconds=0.25,
                )
            )
        facts = {"offset_lag": 3, "rows": 7, "malformed": 1}
        batch(opened, "feed", {"value": 7}, facts, rows_in=8, rows_out=7, malformed=1)
    return made


def rows_of(text: str) -> list[list[str]]:
    return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]


def test_empty(cli, lake):
    assert cli.ok("stream", "list") == "No streams yet.\n"
    assert cli.ok("stream", "status") == "No streams yet.\n"
    assert cli.ok("ingest", "list") == "No ingests yet.\n"
    assert cli.json("stream", "list") == cli.json("ingest", "status") == []


def test_list_and_status(cli, ran):
    titles, row = rows_of(cli.ok("stream", "list"))
    assert titles[:5] == ["NAME", "STATE", "TRIGGER", "BATCH", "RATE"]
    assert [row[0], row[2], row[3], row[5], row[6]] == ["sessions", "every 1s", "3", "none", "3"]
    page = cli.ok("stream", "status", "sessions")
    for wanted in (
        r"^Kind: +no state: x$",
        r"^Batch: +3 \(epoch 1\)$",
        rf"^Last commit: {ran[-1][:12]}, .* ago$",
        r"^Last batch: +3,000 rows in, 3 out, 1 late, watermark 2027-01-1\d .*, 0\.25s$",
        r"^Rate: +[\d,.]+ rows/s lately, 12,000 rows/s in the last batch$",
        r"^Batches: +p50 0\.25s, p99 0\.25s$",
        r"^Lag: +orders@\w{12}: all read$",
        r"^Watermark: +2027-01-1\d .*, ahead of now$",
        r"^Late: +3 rows, in sessions:/_late/$",
        r"^Malformed: +0 rows$",
    ):
        assert re.search(wanted, page, re.MULTILINE), (wanted, page)
    assert cli.json("stream", "status")[0]["last"]["rows_in"] == 3000
    assert cli.json("stream", "status", "sessions")["batch"] == 3


def test_a_failed_one_is_seen(cli, lake, ran):
    with tl.open(home_of(lake)) as opened:
        repo = key_of(opened, "sessions")
        with opened._core.database.write() as session:
            flows.note(session, repo, FlowState.FAILED, "cannot be\ndone")
    for words in (["stream", "status"], ["stream", "status", "sessions"]):
        assert cli(*words).code == 1
    assert "State:       failed: cannot be done\n" in cli("stream", "status", "sessions").out
    assert cli("stream", "list").code == 0
    said = cli.ok("status")
    assert re.search(r"^Flows: +1 stream, 1 ingest$", said, re.MULTILINE)
    assert "Failed: sessions; trunkline pipeline inspect sessions says why.\n" in said
    assert cli.json("status")["flows_failed"] == ["sessions"]


def test_behind(cli, lake, ran):
    cli.ok("put", "orders@main:/more.csv", "in/a.csv")
    assert cli.json("stream", "status", "sessions")["lag_commits"] == 1
    page = cli.ok("stream", "status", "sessions")
    assert re.search(r"^Lag: .*: 1 commit behind, the oldest .* ago$", page, re.MULTILINE)


def test_batches(cli, ran):
    titles, newest, *_ = rows_of(cli.ok("stream", "batches", "sessions"))
    assert titles[:5] == ["BATCH", "EPOCH", "COMMIT", "AT", "ROWS IN"]
    assert newest[:3] == ["3", "1", ran[-1][:12]]
    found = cli.json("stream", "batches", "sessions", "-n", "2")
    assert [one["commit"] for one in found] == [ran[2], ran[1]]
    assert found[0]["start"] == found[1]["end"]


def test_rewind_says_what_it_undoes_and_wants_a_yes(cli, lake, ran):
    with tl.open(home_of(lake)) as opened:
        opened.apply(READER)
    refused = cli("stream", "rewind", "sessions", "--to", ran[0])
    assert refused.code == 2
    assert refused.out == ""
    lines = refused.err.splitlines()
    assert lines[0] == (
        f"Rewinding sessions to {ran[0][:12]} (batch 1) undoes 2 commits with 5 rows (2 late)."
    )
    assert lines[1].startswith("It reads on from orders@")
    assert lines[2] == "Told of it: report."
    assert "--yes" in refused.err
    with tl.open(home_of(lake)) as opened:
        assert flow_of(opened, "sessions").epoch == 1

    done = cli("stream", "rewind", "sessions", "--to", "main~2", "--yes")
    assert done.code == 0
    assert re.match(r"sessions goes on after batch 1 \(epoch 2\), from orders@\w{12}\.\n", done.out)
    assert " what waits." in done.out
    assert cli.json("branch", "list", "sessions")[0]["head"] == ran[0]
    again = cli("stream", "rewind", "sessions", "--to", ran[2], "--yes", "--json")
    assert (again.json["batch"], again.json["epoch"], again.err) == (3, 3, "")
    quiet = cli("stream", "rewind", "sessions", "--to", ran[0], "-y", "--quiet")
    assert quiet == (0, "", "")


def test_on_a_terminal_a_person_is_asked(lake, ran):
    rewind = ("stream", "rewind", "sessions", "--to", ran[0])
    asked = on_a_terminal(*rewind, typed=b"n\n", after=b"[y/N]")
    assert f"Rewind sessions to {ran[0][:12]}? [y/N]" in asked
    with tl.open(home_of(lake)) as opened:
        assert flow_of(opened, "sessions").epoch == 1
    on_a_terminal(*rewind, typed=b"y\n", after=b"[y/N]")
    with tl.open(home_of(lake)) as opened:
        assert flow_of(opened, "sessions").epoch == 2


def test_restart(cli, lake, ran):
    refused = cli("stream", "restart", "sessions", "--from", "start")
    assert refused.code == 2
    assert "takes the place of the output there is" in refused.err
    done = cli("stream", "restart", "sessions", "--from", "start", "--yes")
    assert "sessions goes on after batch 0 (epoch 2), from the beginning." in done.out
    kept = cli("stream", "restart", "sessions", "--from", "orders@main~1", "--keep", "--yes")
    assert "is added to the output" in kept.err
    with tl.open(home_of(lake)) as opened:
        flow = flow_of(opened, "sessions")
        at = opened.commit_info("orders@main~1").id
    assert (flow.epoch, flow.position, flow.facts) == (3, {"orders": at}, {})


def test_savepoints(cli, ran):
    assert cli.ok("stream", "savepoints", "sessions") == "No savepoints.\n"
    refused = cli("stream", "savepoint", "sessions")
    assert refused.code == 6
    assert "keeps no state" in refused.err


def test_errors(cli, ran):
    for words, code in [
        (["stream", "status", "session"], 3),
        (["stream", "status", "feed"], 2),
        (["ingest", "status", "sessions"], 2),
        (["ingest", "pause", "sessions"], 2),
        (["stream", "rewind", "sessions", "--to", "nothing", "-y"], 3),
        (["stream", "rewind", "sessions", "--to", "orders@main", "-y"], 2),
        (["stream", "restart", "sessions", "--from", "nothing", "-y"], 3),
        (["branch", "move", "sessions@main", ran[0]], 5),
    ]:
        refused = cli(*words)
        assert refused.code == code, (words, refused)
        assert sum(line.startswith("error: ") for line in refused.err.splitlines()) == 1
        assert "Traceback" not in refused.err


def test_ingests(cli, lake, ran):
    titles, row = rows_of(cli.ok("ingest", "list"))
    assert titles[:5] == ["NAME", "STATE", "SOURCE", "BATCH", "ROWS"]
    assert row[:5] == ["feed", "idle", "rate 10 rows/s", "1", "7"]
    page = cli.ok("ingest", "status", "feed")
    assert re.search(r"^State: +idle: no worker holds it", page, re.MULTILINE)
    assert re.search(r"^Malformed: +1 row, in feed:/_malformed/$", page, re.MULTILINE)
    assert re.search(r"^Offset lag: +3$", page, re.MULTILINE)
    assert cli.ok("ingest", "pause", "feed") == "Paused feed.\n"
    assert cli.json("ingest", "status", "feed")["state"] == "paused"
    assert cli.json("ingest", "start", "feed") == {"started": "feed"}
    assert cli.json("ingest", "status")[0]["state"] == "idle"


def test_commits_show_their_batch(cli, ran):
    line = r"^Batch: +3 \(epoch 1\): 3,000 rows in, 3 out, 1 late, watermark .*, 0\.25s$"
    for words in (
        ["commit", "inspect", "sessions@main"],
        ["show", ran[2]],
        ["log", "sessions", "-n", "1"],
    ):
        page = cli.ok(*words)
        assert re.search(line, page, re.MULTILINE), page
        assert re.search(r"^Read to: +orders@\w{12}$", page, re.MULTILINE), page
    assert cli.json("commit", "inspect", "sessions@main")["batch"]["number"] == 3
    assert cli.json("show", ran[1])["batches"]["sessions"]["number"] == 2
    assert [one["batch"]["number"] for one in cli.json("log", "sessions")] == [3, 2, 1]
    assert "batch" not in cli.json("commit", "inspect", "orders@main")
    assert "Batch:" not in cli.ok("log", "orders")


def test_a_pipeline_shows_how_it_flows(cli, ran):
    page = cli.ok("pipeline", "inspect", "sessions")
    assert re.search(r"^  Trigger: +every 1s$", page, re.MULTILINE)
    assert cli.json("pipeline", "inspect", "sessions")["flow"]["batch"] == 3
    assert "  Source:" in cli.ok("pipeline", "inspect", "feed")
    assert cli.json("pipeline", "inspect", "feed")["flow"]["rows"] == 7


def test_names_are_completed(ran):
    assert bash("stream", "status", "") == ["sessions"]
    assert bash("ingest", "pause", "f") == ["feed"]


def test_watching_goes_on_until_ctrl_c(lake, ran):
    watcher = subprocess.Popen(
        [sys.executable, "-m", "trunkline", "stream", "status", "sessions", "--watch", "--json"],
        stdout=subprocess.PIPE,
        env=dict(os.environ),
    )
    assert watcher.stdout is not None
    seen = [json.loads(watcher.stdout.readline())["batch"] for _ in range(2)]
    watcher.send_signal(signal.SIGINT)
    watcher.communicate()
    assert (seen, watcher.returncode) == ([3, 3], 130)


@pytest.mark.parametrize("name", [["sessions"], []], ids=["one", "all"])
def test_watching_on_a_terminal_is_one_picture(lake, ran, name):
    text = on_a_terminal("stream", "status", *name, "--watch", typed=b"\x03", after=b"every 1s")
    assert "sessions" in text
    assert "Traceback" not in text
