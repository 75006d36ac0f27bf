"""Three streams for tests that are hard on them, and what they must come to.

bid             -> q7       (windows: the highest bids)
person, auction -> sellers  (a join: who sells what, soon after they came)
bid             -> totals   (bids of each auction, upserted)

The events are Nexmark's, so what the streams must hold is asked of DuckDB.
"""

from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import parquet

import trunkline as tl
from benchmarks.nexmark import pipelines
from benchmarks.nexmark.answers import answer, differences, final_watermark
from benchmarks.nexmark.generator import Generator, Views
from benchmarks.nexmark.queries import Sizes
from tests.flows import flow_of
from tests.reliability.harness import assert_sound
from trunkline.model.jobs import JobState

STREAMS = ("q7", "sellers", "totals")
EVENTS = Generator(rate=500)
SIZES = Sizes(EVENTS.longest_life, window=1_000, slide=500, gap=500, bound=2_000)
DELAY = 500
BOUND = 2_000
_CODE = f"""
from pyspark.sql import functions as F

def sellers(person, auction):
    p, a = person.alias("p"), auction.alias("a")
    soon = F.expr("a.ts BETWEEN p.ts AND p.ts + INTERVAL {BOUND} MILLISECONDS")
    both = p.join(a, (F.col("a.seller") == F.col("p.id")) & soon)
    return both.select("p.name", F.col("a.id").alias("auction"), "a.category")

def totals(bid):
    return bid.groupBy("auction").agg(F.count("*").alias("bids"), F.max("price").alias("price"))
"""
_ANSWERS = {
    "sellers": f"""
        SELECT p.name, a.id AS auction, a.category FROM person p JOIN auction a ON a.seller = p.id
        WHERE epoch_ms(a.ts) - epoch_ms(p.ts) BETWEEN 0 AND {BOUND}
    """,
    "totals": "SELECT auction, count(*) AS bids, max(price) AS price FROM bid GROUP BY auction",
}


def views(start: int, stop: int) -> Views:
    return EVENTS.views(start, stop)


def specs(code: Path, trigger: object = "on_commit") -> list[dict[str, Any]]:
    """The pipelines; their code is written into a folder."""
    pipelines.write_code(code, SIZES)
    (code / "more.py").write_text(_CODE)
    delay = f"{DELAY}ms"
    found = {
        "q7": pipelines.spec("q7", delay, trigger),
        "sellers": pipelines.spec("q3", delay, trigger),
        "totals": pipelines.spec("q7", delay, trigger),
    }
    for name, one in found.items():
        one["pipeline"]["name"] = name
        one["transform"]["code"] = str(code)
        if name != "q7":
            one["transform"]["stream"] = f"more.py:{name}"
    found["totals"]["transform"]["output"] = {"upsert": ["auction"]}
    return list(found.values())


def make(lake: tl.Lake, code: Path, trigger: object = "on_commit") -> None:
    """Empty repos, and the streams."""
    for name in ("person", "auction", "bid"):
        lake.create_repo(name)
    lake.apply(*specs(code, trigger))


def put(lake: tl.Lake, start: int, stop: int) -> None:
    """The events from one number to another: a commit in each repo, all in one set."""
    with lake.transaction() as transaction:
        for name, table in views(start, stop).tables().items():
            data = io.BytesIO()
            parquet.write_table(table, data)
            writer = transaction.commit(f"{name}@main")
            writer.put(f"/{start:06}.parquet", data.getvalue())


def answers(events: int) -> dict[str, pa.Table]:
    """What the streams hold when they have read so many events."""
    every = views(0, events)
    found = {"q7": answer("q7", every, final_watermark("q7", every, DELAY), SIZES)}
    with duckdb.connect() as connection:
        for name, table in every.tables().items():
            connection.register(name, table)
        for name, text in _ANSWERS.items():
            found[name] = connection.sql(text).to_arrow_table()
    return found


def wrong(lake: tl.Lake, events: int) -> dict[str, Any]:
    """By stream, the rows that are missing and those too many."""
    found = {}
    for name, wanted in answers(events).items():
        assert wanted.num_rows > 1, f"{name} gives too little to tell right from wrong"
        missing, more = differences(lake.table(name).arrow(), wanted)
        if missing or more:
            found[name] = (missing[:5], more[:5])
    return found


def assert_right(lake: tl.Lake, events: int) -> None:
    """Each event counts once, no batch is missing, and nothing in the lake is at fault."""
    assert wrong(lake, events) == {}
    for name in STREAMS:
        assert_joined(lake, name)
        assert flow_of(lake, name).facts["late"] == 0
        assert all(job.state is JobState.SUCCESS for job in lake.jobs(name))
    assert_sound(lake)


def assert_joined(lake: tl.Lake, name: str) -> None:
    """Batches are numbered without a gap, and each starts where the one before ended."""
    every = lake.stream_batches(name, None)[::-1]
    assert every[0].first == 1
    for one, two in pairwise(every):
        assert two.first == one.number + 1
        assert two.passed or one.end == two.start
    flow = flow_of(lake, name)
    assert flow.number == every[-1].number
    assert flow.facts.get("passed") or flow.position == every[-1].end
