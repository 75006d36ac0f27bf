"""fsck of jobs: finds what does not hold, and nothing where all is well."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability import graph
from tests.reliability.harness import assert_sound
from trunkline.engine.runner.task import read_part
from trunkline.model.shape import as_json


@pytest.fixture(scope="module")
def finished(spark, fast_folder: Path) -> Path:
    """Two sets are done, one failed between them, and one waits."""
    folder = fast_folder / "sound"
    with tl.init(folder) as lake:
        graph.make(lake, graph.words(4), folder / "marks")
        lake.run()
        (folder / "fail-w005").touch()
        graph.put(lake, graph.words(2, first=4))
        lake.run()
        graph.put(lake, {}, remove=("/w004", "/w005"))
        lake.run()
        graph.put(lake, graph.words(1, first=6))
        assert_sound(lake)
    return folder


@pytest.fixture
def lake(finished: Path, tmp_path: Path) -> Iterator[tl.Lake]:
    copy_lake(finished, tmp_path, dirs_exist_ok=True)
    with tl.open(tmp_path) as opened:
        yield opened


def edit(lake: tl.Lake, sql: str, *values: object) -> None:
    """Change the catalog behind the lake's back."""
    with sqlite3.connect(Path(lake.location) / ".trunkline" / "catalog.db") as connection:
        connection.execute(sql, values)
    connection.close()


def stored(lake: tl.Lake, key: str) -> Path:
    return Path(lake.location) / ".trunkline" / "objects" / key


def problems(lake: tl.Lake, deep: bool = False) -> set[tuple[str, str]]:
    """The kinds of problems and where they are, without the ids."""
    return {
        (problem.kind, problem.where.partition("@")[0]) for problem in lake.fsck(deep=deep).problems
    }


def parts_of(lake: tl.Lake, state: str) -> list[Path]:
    """The parts of the last job of `upper` that ended so."""
    (job, *_) = lake.jobs("upper", state=state)
    (repo,) = [repo.key for repo in lake.repos() if repo.name.repo == "upper"]
    return sorted(stored(lake, f"jobs/{job.id}-{repo}").glob("*.part"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-3])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("kind, damage", [("missing", Path.unlink), ("corrupt", cut)])
def test_a_part_that_is_lost_or_damaged(lake: tl.Lake, kind: str, damage: Callable[[Path], None]):
    damage(parts_of(lake, "failure")[0])
    found = problems(lake)
    assert (kind, "upper") in found
    assert {place for _, place in found} <= {"upper", "results of upper", "jobs"}


def test_a_part_with_one_bit_wrong(lake: tl.Lake):
    flip(parts_of(lake, "failure")[0])
    assert ("corrupt", "upper") in problems(lake)


@pytest.mark.parametrize("damage", [Path.unlink, cut])
def test_an_index_that_is_lost_or_damaged(lake: tl.Lake, damage: Callable[[Path], None]):
    (job, *_) = lake.jobs("pair", state="success")
    assert job.index is not None
    damage(stored(lake, job.index))
    assert ("index", "pair") in problems(lake)


def test_results_that_are_lost(lake: tl.Lake):
    with lake._core.database.read() as session:
        row = session.one(
            """SELECT p.results FROM pipelines p JOIN repos r ON r.key = p.repo
               WHERE r.name = 'upper'"""
        )
    assert row is not None
    stored(lake, row["results"]).unlink()
    assert ("index", "results of upper") in problems(lake)


def test_an_output_that_only_results_have(lake: tl.Lake):
    """What a failed job made is in no commit."""
    results = [one for part in parts_of(lake, "failure") for one in read_part(part.read_bytes())]
    (output,) = [output for result in results for output in result.outputs]
    held = stored(lake, output.split("\t")[3])
    flip(held)
    assert problems(lake) == set()
    assert problems(lake, deep=True) == {("corrupt", "results of upper:/w004")}
    held.unlink()
    assert problems(lake) == {("missing", "results of upper:/w004")}


def test_a_record_that_counts_otherwise(lake: tl.Lake):
    (job, *_) = lake.jobs("upper", state="success")
    counts = {**as_json(job.counts), "processed": 99}
    sql = "UPDATE jobs SET counts = ? WHERE id = ? AND state = 'success'"
    edit(lake, sql, json.dumps(counts), job.id)
    assert ("totals", "upper") in problems(lake)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE jobs SET state = 'killed', finished = 1 WHERE finished IS NULL",
        "UPDATE jobs SET finished = NULL, state = 'running' WHERE state = 'success'",
        "UPDATE commits SET finished = 1 WHERE finished IS NULL",
        "UPDATE commits SET error = 'no' WHERE origin = 'pipeline' AND error IS NULL",
        "DELETE FROM jobs WHERE finished IS NULL",
        "DELETE FROM commits WHERE finished IS NULL",
    ],
)
def test_a_job_and_a_commit_that_do_not_agree(lake: tl.Lake, sql: str):
    edit(lake, sql)
    assert {("job", name) for name in graph.PIPELINES} <= problems(lake)
