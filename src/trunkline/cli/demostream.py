"""The second half of the demo: a stream of clicks, beside the batch pipelines, and a worker that
is killed in the middle of it.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from trunkline.cli.beside import Beside, ended_politely
from trunkline.errors import Failed

SPECS = "shop/clicks.yaml shop/sessions.py shop/live_revenue.yaml shop/visits.yaml"
STREAMS = ("live_revenue", "sessions")
DAY_4 = "2026-01-04"
PATIENCE = 300.0
LOOK_SECONDS = 0.05
RESULT = "SELECT item, sold, cents FROM live_revenue ORDER BY item"
ARRIVED = "SELECT count(*) AS clicks FROM clicks"
EARNED = "SELECT sum(sold) AS purchases, sum(cents) AS cents FROM live_revenue"
SESSIONS = "SELECT sum(clicks) AS in_sessions FROM sessions WHERE start < '2026-01-04 10:00:00+00'"
LATE = 'SELECT count(*) AS late FROM "sessions@main:/_late/clicks"'


class Stage(Protocol):
    """What the demo shows things with."""

    place: Path

    def say(self, sentence: str) -> None: ...
    def run(self, command: str) -> None: ...
    def shell(self, command: str) -> None: ...
    def prompt(self, command: str) -> None: ...
    def write(self, line: str) -> None: ...
    def dim(self, line: str) -> None: ...


class StreamTour:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.worker: Beside | None = None

    def give(self) -> None:
        from trunkline import sdk

        with ended_politely(), sdk.open(self.stage.place) as self.lake:
            try:
                self.it_flows()
                self.what_is_wrong()
                self.a_kill()
                self.totals()
                self.a_rewind()
            finally:
                if self.worker is not None:
                    self.worker.stop()

    def it_flows(self) -> None:
        self.stage.say("Now what never ends. Clicks arrive as files; an ingest takes each once:")
        self.stage.shell("cat shop/clicks.yaml")
        self.stage.say("A stream makes visits of them. It keeps those that are not over as state:")
        self.stage.shell("cat shop/sessions.py")
        self.stage.say("Another, in SQL, has what each thing earned. visits.yaml is a batch below.")
        self.stage.shell("cat shop/live_revenue.yaml")
        self.stage.run(f"pipeline apply {SPECS}")
        self.stage.say("A worker runs all of it, as things come. Others take over after 3 s.")
        self.stage.run("config set worker.lease 3s")
        self.stage.shell("python3 shop/clicks.py 1 inbox")
        self.start_worker()
        self.until_read()
        self.stage.run(f'sql "{RESULT}"')

    def what_is_wrong(self) -> None:
        self.stage.say("More arrives, at once: a click that is an hour late, half a line of JSON,")
        self.stage.write("# and beside the streams a day of orders for the batch pipelines.")
        self.stage.shell("python3 shop/clicks.py 2 inbox --flaw late")
        self.stage.shell("python3 shop/clicks.py 3 inbox --flaw cut")
        self.stage.shell(f"python3 shop/day.py {DAY_4} incoming --table")
        self.stage.run('put -r orders@main incoming -m "The fourth day"')
        self.until_read()
        self.stage.run("draw")
        self.stage.say("The late click missed its visit. It is not lost, and says why:")
        self.stage.run("table head sessions@main:/_late/clicks")
        self.stage.run("table head clicks@main:/_malformed")
        self.stage.run("stream status")

    def a_kill(self) -> None:
        self.stage.say("In the middle of a batch, the worker is killed.")
        self.stage.shell("python3 shop/clicks.py 4 inbox")
        self.until(self.is_in_a_batch, "a batch")
        assert self.worker is not None
        self.worker.kill()
        self.stage.prompt("kill -9 %1")
        self.stage.run("job list -n 3")
        self.stage.say("Clicks go on arriving. Another worker takes over.")
        self.stage.shell("python3 shop/clicks.py 5 inbox")
        self.stage.shell("python3 shop/clicks.py 9 inbox --visits 1")
        self.start_worker()
        self.until_read()

    def totals(self) -> None:
        self.stage.say("Nothing is missing, and nothing is there twice. Counted by plain Python:")
        self.stage.shell("python3 shop/count.py inbox")
        self.stage.say("And in the lake. A visit after 10:00 goes on: it is no row yet.")
        for query in (ARRIVED, EARNED, SESSIONS):
            self.stage.run(f'sql "{query}"')
        self.stage.run(f"sql '{LATE}'")
        self.check()

    def a_rewind(self) -> None:
        self.stage.say("A stream can go back: rows, offsets and state. Then it goes on from there.")
        self.stage.run("stream batches live_revenue -n 3")
        self.stage.run("stream rewind live_revenue --to main~1 --yes")
        self.until_read()
        self.stage.run(f'sql "{EARNED}"')
        self.check()

    # -- waiting -----------------------------------------------------------------------------

    def start_worker(self) -> None:
        self.stage.prompt("trunkline worker &")
        self.worker = Beside("worker")

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Show what the worker says until something holds."""
        assert self.worker is not None
        deadline = time.monotonic() + PATIENCE
        line = ""
        while True:
            # Asked first: what it said last is shown too.
            over, there = self.worker.is_over, holds()
            for line in self.worker.lines():
                self.stage.dim(f"  {line}")
            sys.stdout.flush()
            if there:
                return
            if over:
                raise Failed(f"The demo stopped: its worker has ended. {line}".rstrip())
            if time.monotonic() > deadline:
                raise Failed(f"The demo stopped: it waited {PATIENCE:.0f} s for {what}.")
            time.sleep(LOOK_SECONDS)

    def until_read(self) -> None:
        """Until what was written has gone all the way, and nothing runs."""
        self.until(self.is_all_read, "what was written to be read")

    def is_all_read(self) -> bool:
        if self.lake.ingest("clicks").rows != len(written(self.stage.place)):
            return False
        flows = [self.lake.stream(name) for name in STREAMS]
        if any(flow.batch == 0 or flow.lag_commits or str(flow.state) != "idle" for flow in flows):
            return False
        return all(job.state.is_over for job in self.lake.jobs())

    def is_in_a_batch(self) -> bool:
        running = self.lake.jobs(state="running")
        return any(job.pipeline.repo in STREAMS for job in running)

    def check(self) -> None:
        """The demo shows figures that agree, or none."""
        clicks = written(self.stage.place)
        bought = [click for click in clicks if click["event"] == "purchase"]
        early = sum(click["ts"] < "2026-01-04T10:00" for click in clicks)
        expected = {
            ARRIVED: (len(clicks),),
            EARNED: (len(bought), sum(click["cents"] for click in bought)),
            SESSIONS: (early - 1,),
            LATE: (1,),
        }
        for query, wanted in expected.items():
            found = tuple(int(value) for value in self.lake.sql(query).rows()[0])
            if found != wanted:
                raise Failed(f"The demo stopped: {query} is {found}, and should be {wanted}.")


def written(place: Path) -> list[dict[str, Any]]:
    """The clicks that are whole lines of JSON."""
    found = []
    for file in sorted((place / "inbox").glob("*.jsonl")):
        for line in file.read_text().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found
