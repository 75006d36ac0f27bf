"""The queries of Nexmark as streams of a lake: each gives what DuckDB gives over all the events."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import trunkline as tl
from benchmarks.nexmark import pipelines
from benchmarks.nexmark.answers import answer, differences, final_watermark
from benchmarks.nexmark.generator import Generator, Views
from benchmarks.nexmark.queries import QUERIES, Sizes
from tests.flows import batches, flow_of
from trunkline.model.jobs import JobState

pytestmark = pytest.mark.slow
RATE = 500
STATEFUL = ("q3", "q4", "q5", "q6", "q7", "q8", "q11")


def sizes(generator: Generator) -> Sizes:
    """Windows short enough that some thousand events fill several."""
    return Sizes(generator.longest_life, window=4_000, slide=2_000, gap=2_000, bound=4_000)


def make(folder: Path, queries: tuple[str, ...], how: Sizes) -> tl.Lake:
    lake = tl.init(folder / "lake")
    for name in ("person", "auction", "bid"):
        lake.create_repo(name)
    code = folder / "code"
    pipelines.write_code(code, how)
    specs = [pipelines.spec(query) for query in queries]
    for spec in specs:
        spec["transform"]["code"] = str(code)
    lake.apply(*specs)
    return lake


def put_together(lake: tl.Lake, number: int, views: Views) -> None:
    """One commit in each repo, all in one set: a query of two of them gets one job."""
    with lake.transaction() as transaction:
        for name, table in views.tables().items():
            data = io.BytesIO()
            parquet.write_table(table, data)
            transaction.commit(f"{name}@main").put(f"/{number}.parquet", data.getvalue())


def put_apart(lake: tl.Lake, views: Views) -> None:
    """One commit after the other: a query of two of them runs when one is ahead of the other."""
    for name, table in views.tables().items():
        lake.write_table(f"{name}@main", table)


def drain(lake: tl.Lake) -> None:
    report = lake.run()
    bad = [
        (str(job.pipeline), job.reason) for job in report.jobs if job.state is not JobState.SUCCESS
    ]
    assert report.jobs and not bad, bad


def assert_right(lake: tl.Lake, query: str, views: Views, how: Sizes) -> pa.Table:
    flow = flow_of(lake, query)
    watermark = final_watermark(query, views)
    if query in STATEFUL:
        assert flow.facts["late"] == 0
        # The filters of q3 are Spark's to put before the watermark: it then sees fewer rows.
        if query != "q3":
            assert flow.facts["watermark"] == watermark * 1000
    found = lake.table(query).arrow()
    assert differences(found, answer(query, views, watermark, how)) == ([], [])
    numbers = list(batches(lake, query))
    assert numbers == [(n, n) for n in range(1, len(numbers) + 1)]
    return found


def test_events_in_order(spark: object, tmp_path: Path):
    generator = Generator(rate=RATE)
    how, events = sizes(generator), 12_000
    with make(tmp_path, tuple(QUERIES), how) as lake:
        put_together(lake, 0, generator.views(0, 5_000))
        drain(lake)
        put_together(lake, 1, generator.views(5_000, 9_000))
        put_apart(lake, generator.views(9_000, events))
        drain(lake)
        views = generator.views(0, events)
        for query in QUERIES:
            found = assert_right(lake, query, views, how)
            assert found.num_rows > 1, f"{query} gives too little to tell right from wrong"
        report = lake.fsck(deep=True)
        assert report.ok, report.problems


def test_events_out_of_order(spark: object, tmp_path: Path):
    generator = Generator(rate=RATE, group=1000)
    how, events = sizes(generator), 9_000
    with make(tmp_path, STATEFUL, how) as lake:
        # Not at the ends of groups: what comes next is older than what was there.
        put_together(lake, 0, generator.views(0, 4_300))
        put_together(lake, 1, generator.views(4_300, events))
        drain(lake)
        views = generator.views(0, events)
        for query in STATEFUL:
            found = assert_right(lake, query, views, how)
            assert found.num_rows > 1, f"{query} gives too little to tell right from wrong"
