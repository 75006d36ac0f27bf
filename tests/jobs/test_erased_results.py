"""What jobs noted of a file goes when the file is erased, and no job takes it over."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

import trunkline as tl
from tests.jobs.graphs import Graph
from tests.jobs.tables import Tables
from tests.served import home
from trunkline.lake import jobredaction
from trunkline.lake.jobobjects import replace_results, used_by_jobs
from trunkline.model.entries import line_path
from trunkline.model.ids import new_id
from trunkline.model.jobs import JobState
from trunkline.storage.catalog import erasures, pipelines
from trunkline.storage.objects.keys import KeyMaker

PEOPLE = "SELECT name, upper(name) AS loud, team FROM people"


@pytest.fixture
def people(spark, lake, tmp_path) -> Tables:
    lake.create_repo("people")
    found = Tables(lake, tmp_path / "code")
    found.put("people", {"/team=a/p.csv": b"name\nZaphod\n", "/team=b/p.csv": b"name\nBob\n"})
    return found


def objects_with(people: Tables, needle: bytes) -> set[str]:
    """The kinds of objects that hold this text, as they are or packed."""
    found = set()
    for path in (Path(home(people.lake).location) / ".trunkline" / "objects").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if data[:4] == zstandard.FRAME_HEADER:
                data += zstandard.ZstdDecompressor().decompressobj().decompress(data)
            if needle in data:
                found.add(path.suffix)
    return found


def test_bounds_of_what_a_job_made_are_gone_too(people: Tables):
    people.sql("loud", PEOPLE, tl.pfs("people", "/team=*/"), partition_by=["team"])
    people.run_well()
    assert objects_with(people, b"ZAPHOD") == {".part", ".tlm", ".parquet"}
    people.lake.erase("people:/team=a")
    people.run_well()
    (old,) = people.lake.ls("loud@main~1:/team=a")
    people.lake.erase(f"loud:{old.path}")
    people.lake.gc(grace=0)
    assert objects_with(people, b"ZAPHOD") == set()
    assert people.lake.fsck(deep=True).ok
    assert people.rows("loud@main", "loud") == [("BOB",)]


def test_a_datum_that_comes_back_is_computed_again(people: Tables):
    people.sql("loud", PEOPLE, tl.pfs("people", "/team=*/"), partition_by=["team"])
    people.run_well()
    people.put("people", {"/team=a/p.csv": None})
    people.run_well()
    (old,) = people.lake.ls("loud@main~1:/team=a")
    people.lake.erase(f"loud:{old.path}")
    people.put("people", {"/team=a/p.csv": b"name\nZaphod\n"})
    job = people.run_one()
    assert job.state is JobState.SUCCESS
    assert (job.counts.processed, job.counts.skipped) == (1, 1)
    assert people.rows("loud@main", "loud") == [("BOB",), ("ZAPHOD",)]


@pytest.mark.parametrize("idle", ["local"], indirect=True)
def test_a_deleted_pipeline_takes_nothing_of_it_over_either(idle: Graph):
    idle.apply("b", "orders")
    core = home(idle.lake)._core
    lines = [f"v\x1f{one}\x1fhash\t{new_id()}\t0\tjobs/1.part\t-".encode() for one in "ab"]
    stored = core.manifests.write([lines], KeyMaker(new_id()).manifest)[:2]
    with core.database.write() as session:
        (found,) = pipelines.all_pipelines(session)
        pipelines.set_results(session, found.repo, *stored)
    idle.lake.delete_pipeline("b")
    with core.database.read() as session:
        (row,) = pipelines.with_results(session)
    tree = core.manifests.read(row.results, row.results_hash)
    assert replace_results(core, row, tree, {line_path(lines[0])})
    with core.database.read() as session:
        (row,) = pipelines.with_results(session)
    assert list(core.manifests.read(row.results, row.results_hash).scan(b"")) == lines[1:]


def test_an_erasure_is_not_done_while_jobs_go_on_adding_results(graph: Graph, monkeypatch):
    """However often they add some it ends, and the next gc goes on with it."""
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    core = home(graph.lake)._core
    (made,) = graph.lake.ls("b@main:/")

    def is_done() -> bool:
        with core.database.read() as session:
            return not erasures.unsettled(session)

    with monkeypatch.context() as added:
        added.setattr(jobredaction, "replace_results", lambda *given: False)
        graph.lake.erase(f"b:{made.path}")
        assert not is_done()
    graph.lake.gc()
    assert is_done()


def test_gc_reads_what_took_the_place_of_results_that_another_gc_removed(graph: Graph, monkeypatch):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    core = home(graph.lake)._core
    with core.database.write() as session:
        # As of a job that is gone: nothing but the pipeline's results names its parts.
        session.execute("UPDATE jobs SET index_key = NULL, digest = ''")
        (row,) = pipelines.with_results(session)
    assert row.results
    before, read, others = used_by_jobs(core), core.manifests.read, [row.results]

    def after_another_gc(key: str, digest: str) -> object:
        if key in others:
            others.remove(key)
            tree = read(key, digest)
            assert replace_results(core, row, tree, {next(iter(tree.scan(b"")))})
            core.objects.delete([key])
        return read(key, digest)

    monkeypatch.setattr(core.manifests, "read", after_another_gc)
    lost = before - used_by_jobs(core)
    assert {key for key in lost if key.endswith(".part")} == set()
    assert others == []
