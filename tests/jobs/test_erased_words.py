"""What datums printed of a file, and the words that jobs failed with, go when it is erased."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import zstandard

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.jobs.tables import Tables
from tests.jobs.test_logs import sh
from tests.served import home
from trunkline.lake.jobredaction import MESSAGE, PRINTED
from trunkline.lake.publish import Outcome, end_job
from trunkline.model.jobs import JobState
from trunkline.model.told import said
from trunkline.storage.catalog import repos

TALKS = sh("cat pfs/orders/*; cp -r pfs/orders/* pfs/out/")
FAILS = """
def f(datum):
    for one in datum.inputs["orders"]:
        if one.text() != "Bob":
            raise ValueError(f"no such patient: {one.text()}")
        datum.write(one.path, "fine")
"""


def everything(lake: tl.Lake) -> bytes:
    """All that the lake keeps, packed or not, in the store and in the catalog."""
    folder = Path(home(lake).location) / ".trunkline"
    with closing(sqlite3.connect(folder / "catalog.db")) as catalog:
        # The log of changes has old pages until it is used anew.
        assert catalog.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found.append(data)
            if data[:4] == zstandard.FRAME_HEADER:
                found.append(zstandard.ZstdDecompressor().decompressobj().decompress(data))
    return b"\n".join(found)


def test_what_its_reader_printed_goes_and_the_rest_stays(graph: Graph):
    graph.put("orders", a="Zaphod", b="Bob")
    graph.apply("b", "orders", TALKS)
    job = graph.run_well()
    assert b"Zaphod" in everything(graph.lake)
    report = graph.lake.erase("orders:/a")
    assert report.logs == 1
    graph.run_well()
    assert sorted(line.text for line in graph.lake.logs(f"b@{job.id}")) == sorted([PRINTED, "Bob"])
    # What it wrote is what it read, and shares nothing with it: that is erased by itself.
    assert graph.lake.erase("b:/a").versions == 1
    graph.lake.gc(grace=0)
    assert b"Zaphod" not in everything(graph.lake)
    assert graph.lake.fsck(deep=True).ok


def test_what_its_writer_printed_goes(graph: Graph):
    graph.put("orders", a="Zaphod", b="Bob")
    graph.apply("b", "orders", TALKS)
    job = graph.run_well()
    assert graph.lake.erase("b:/a").logs == 1
    assert sorted(line.text for line in graph.lake.logs(f"b@{job.id}")) == sorted([PRINTED, "Bob"])
    assert graph.lake.erase("b:/b").logs == 1
    assert [line.text for line in graph.lake.logs(f"b@{job.id}")] == [PRINTED, PRINTED]


def test_a_datum_that_read_a_folder(graph: Graph):
    """All of a folder is one datum: it may have printed any file of it."""
    graph.put("orders", x__a="Bob", y__a="Eve")
    graph.apply("b", tl.pfs("orders", "/*/"), sh("cat pfs/orders/*/*"))
    before = graph.run_well()
    graph.put("orders", x__z="Zaphod")
    after = graph.run_well()
    assert graph.lake.erase("orders:/x/z").logs == 1
    assert [line.text for line in graph.lake.logs(f"b@{after.id}")] == [PRINTED]
    # A job that ran before it was there keeps its words.
    assert sorted(line.text for line in graph.lake.logs(f"b@{before.id}")) == ["Bob", "Eve"]


def test_the_words_that_a_datum_failed_with(graph: Graph):
    graph.put("orders", a="Zaphod", b="Bob")
    graph.apply("b", "orders", FAILS)
    (job,) = graph.run()
    assert job.state is JobState.FAILURE
    assert "Zaphod" in job.reason
    assert graph.lake.erase("orders:/a").logs == 1
    assert graph.job("b", job.id).reason == MESSAGE
    assert b"patient: Zaphod" not in everything(graph.lake)
    (again,) = graph.run()
    assert again.state is JobState.SUCCESS
    graph.lake.gc(grace=0)
    assert b"Zaphod" not in everything(graph.lake)


def test_another_datum_s_failure_keeps_its_words(graph: Graph):
    graph.put("orders", a="Zaphod", b="Bob")
    graph.apply("b", "orders", FAILS)
    (job,) = graph.run()
    report = graph.lake.erase("orders:/b")
    assert report.logs == 0
    assert graph.job("b", job.id).reason == job.reason


def test_what_spark_quoted_of_a_table(spark: object, lake: tl.Lake, tmp_path: Path):
    lake.create_repo("people")
    people = Tables(lake, tmp_path / "code")
    people.put("people", {"/team=a/p.csv": b"name\nZaphod\n"})
    people.sql("ages", "SELECT cast(name AS int) AS age FROM people", tl.pfs("people", "/"))
    (job,) = people.run()
    assert job.state is JobState.FAILURE
    assert "Zaphod" in job.reason
    lake.erase("people:/team=a")
    assert lake.job(f"ages@{job.id}").info.reason == MESSAGE
    lake.gc(grace=0)
    assert b"Zaphod" not in everything(lake)


@pytest.mark.parametrize("idle", ["local"], indirect=True)
@pytest.mark.parametrize("as_", [None, "old"])
def test_a_job_that_read_a_repo_which_was_deleted_or_is_called_otherwise_now(
    idle: Graph, as_: str | None
):
    lake = idle.lake
    idle.put("orders", a="Zaphod")
    idle.put("rates", a="Bob")
    idle.apply("b", "orders", TALKS)
    (job,) = lake.jobs("b")
    core = home(lake)._core
    with core.database.write() as session:
        key = repos.key_of(session, job.pipeline)
        assert key is not None
        end_job(session, key, job.id, Outcome(JobState.FAILURE, said("no such patient: Zaphod")))
    idle.apply("b", "rates", TALKS)
    lake.delete_repo("orders", force=True)
    if as_:
        lake.undelete("orders", as_=as_)
        lake.create_repo("orders")
    lake.erase("rates:/a")
    assert "Zaphod" in idle.job("b", job.id).reason, "it did not read that"
    lake.erase(f"{as_ or 'orders'}:/a")
    assert idle.job("b", job.id).reason == MESSAGE
    assert b"patient: Zaphod" not in everything(lake)


def test_a_job_that_somebody_stopped_says_who(idle: Graph):
    idle.put("orders", a="Zaphod")
    idle.apply("b", "orders", TALKS)
    (job,) = idle.lake.jobs("b")
    idle.lake.cancel_job(f"b@{job.id}", "not today")
    reason = idle.job("b", job.id).reason
    assert reason
    idle.lake.erase("orders:/a")
    assert idle.job("b", job.id).reason == reason
