"""`kill -9` at every crash point: what is left is the state before or the state after."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

import trunkline as tl
from tests.copies import copy_lake
from tests.reliability import next_format
from tests.reliability.harness import (
    State,
    assert_no_orphans,
    assert_sound,
    expire_leases,
    job,
    killed,
    state,
)
from tests.reliability.scenarios import (
    EGRESS_POINTS,
    IDENTITY_POINTS,
    INGEST_POINTS,
    JOB_POINTS,
    RESTORE_POINTS,
    SCENARIOS,
    SECRET,
    STREAM_POINTS,
    TABLE_JOB_POINTS,
    prepare,
)
from trunkline.errors import Erased, WrongFormat
from trunkline.lake.manifests import decompress
from trunkline.storage.crashpoints import CRASHPOINTS

CASES = [
    (point, scenario)
    for scenario, described in SCENARIOS.items()
    for point in described.reaches
    if scenario not in ("erase", "migrate")
]
MIGRATIONS = SCENARIOS["migrate"].reaches


@pytest.fixture(scope="module")
def ready(fast_folder: Path):
    """A lake made ready for a scenario, and its states before and after the request."""
    made: dict[str, tuple[Path, State, State]] = {}

    def make(scenario: str) -> tuple[Path, State, State]:
        if scenario not in made:
            folder, copy = (fast_folder / f"{scenario}, {which}" for which in ("ready", "done"))
            with tl.init(folder) as lake:
                prepare(scenario, lake)
                before = state(lake)
            copy_lake(folder, copy)
            with tl.open(copy) as lake:
                SCENARIOS[scenario].act(lake)
                after = state(lake)
                assert_sound(lake)
            made[scenario] = folder, before, after
        return made[scenario]

    return make


@pytest.mark.parametrize("name", CRASHPOINTS)
def test_every_crash_point_is_reached_by_a_scenario(name: str):
    points = [point for scenario in SCENARIOS.values() for point in scenario.reaches]
    of_jobs = (*JOB_POINTS, *TABLE_JOB_POINTS, *STREAM_POINTS, *INGEST_POINTS, *EGRESS_POINTS)
    elsewhere = (*RESTORE_POINTS, *IDENTITY_POINTS)
    reached = {point.partition(":")[0] for point in (*points, *of_jobs, *elsewhere)}
    assert name in reached, f"add a scenario that passes {name}: a crash there is not checked"


@pytest.mark.parametrize("point, scenario", CASES)
def test_a_crash_leaves_the_state_before_or_after(point, scenario, ready, tmp_path):
    folder, before, after = ready(scenario)
    copy_lake(folder, tmp_path, dirs_exist_ok=True)

    result = job("act", tmp_path, scenario, TRUNKLINE_CRASH_AT=point)
    assert killed(result), f"{scenario} does not die at {point}: {result}"

    with tl.open(tmp_path) as lake:
        assert_sound(lake)
        assert state(lake) in (before, after)
        if point.startswith("commit.after_transaction"):
            assert state(lake) == after

        SCENARIOS[scenario].act(lake)  # the retry: one commit, however often it was asked for
        assert state(lake) == after
        assert_no_orphans(lake)
        assert state(lake) == after

        with lake.commit("s@main") as more:
            more.put("/later", b"work goes on")
        assert_sound(lake)


@pytest.mark.parametrize("point", SCENARIOS["erase"].reaches)
def test_an_erasure_that_was_recorded_is_finished_after_a_crash(point: str, tmp_path: Path):
    with tl.init(tmp_path) as lake:
        prepare("erase", lake)
        assert SECRET in _all_bytes(tmp_path)

    assert killed(job("act", tmp_path, "erase", TRUNKLINE_CRASH_AT=point))

    with tl.open(tmp_path) as lake:
        assert_sound(lake)
        expire_leases(lake)  # the dead one might have used the trees that are replaced
        lake.gc(grace=0)
        assert SECRET not in _all_bytes(tmp_path)
        assert lake.read("r@main:/kept") == b"kept"
        for path in ("small", "large"):
            with pytest.raises(Erased):
                lake.read(f"r@main~2:/secret/{path}")
        assert_sound(lake)


@pytest.mark.parametrize("point", SCENARIOS["put secrets"].reaches)
def test_what_a_killed_put_left_behind_is_erased_with_what_was_put_again(
    point: str, ready, tmp_path
):
    folder, _, _ = ready("put secrets")
    copy_lake(folder, tmp_path, dirs_exist_ok=True)
    assert killed(job("act", tmp_path, "put secrets", TRUNKLINE_CRASH_AT=point))
    assert SECRET in _all_bytes(tmp_path)

    with tl.open(tmp_path) as lake:
        SCENARIOS["put secrets"].act(lake)
        lake.erase("r@main:/secret")
        assert SECRET not in _all_bytes(tmp_path)
        assert lake.read("r@main:/kept") == b"kept"
        assert_sound(lake)


def _all_bytes(folder: Path) -> bytes:
    """All that is stored, as it is and unpacked."""
    stored = folder / ".trunkline" / "objects"
    found = [path.read_bytes() for path in sorted(stored.rglob("*")) if path.is_file()]
    packed = [data for data in found if data[:4] == zstandard.FRAME_HEADER]
    return b"".join([*found, *(map(decompress, packed))])


@pytest.mark.parametrize("point", [*MIGRATIONS, "in its middle"])
def test_a_crash_in_a_migration_leaves_the_old_format_or_the_new(
    point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with tl.init(tmp_path) as lake:
        prepare("migrate", lake)
        before = state(lake)
    dying = {"TRUNKLINE_CRASH_AT": point} if point in MIGRATIONS else {"DIE_IN_MIGRATION": "1"}

    assert killed(job("act", tmp_path, "migrate", **dying))

    if point == "migrate.after":
        with pytest.raises(WrongFormat, match="reads up to"):
            tl.open(tmp_path)
        next_format.install(monkeypatch.setattr)
    else:
        with tl.open(tmp_path) as lake:
            assert state(lake) == before
        next_format.install(monkeypatch.setattr)
        with pytest.raises(WrongFormat, match="older format"):
            tl.open(tmp_path)
        assert tl.migrate(tmp_path).to_format == next_format.NEXT
    with tl.open(tmp_path) as lake:
        assert state(lake) == before
        assert_no_orphans(lake)
        with lake.commit("r@main") as more:
            more.put("/later", b"work goes on")
        assert_sound(lake)


def test_a_helper_that_dies_takes_nothing_with_it(lake, tmp_path):
    """Thousands of small files are packed by helper processes; each crashes by itself."""
    source = tmp_path / "many"
    source.mkdir()
    for number in range(4_100):
        (source / f"{number}").write_bytes(b"%d" % number)
    for point in ("put.before_bytes", "put.during_bytes", "put.after_bytes"):
        result = job("put_folder", tmp_path, source, TRUNKLINE_CRASH_AT=point)
        assert result.json["error"] == "unavailable"
        assert "helper process ended unexpectedly" in result.json["message"]
        assert lake.commits("r@main") == []
    lake.put("r@main:/", [source], recursive=True)
    assert sum(1 for _ in lake.ls("r@main", recursive=True)) == 4_100
    assert_no_orphans(lake)
