"""The online game: what its pipelines found is what plain Python finds in the same files."""

from __future__ import annotations

import csv
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.examples.touring import EXAMPLES, Tour

LAST, PATCH = date(2026, 6, 12), date(2026, 5, 18)
ARENA = EXAMPLES / "games" / "arena.py"

Row = dict[str, Any]


@pytest.fixture(scope="module")
def incoming(lake: tl.Lake, place: Path) -> Path:
    """What the tour's generator wrote."""
    return place / "incoming"


def rows(lake: tl.Lake, query: str) -> list[Row]:
    found = lake.sql(query)
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows()]


def read_csv(folder: Path) -> Iterator[Row]:
    """The rows of all files below, with what their folders say."""
    for file in sorted(folder.rglob("*.csv")):
        named = dict(part.split("=") for part in file.parent.relative_to(folder).parts)
        with file.open() as lines:
            for row in csv.DictReader(lines):
                yield {**named, **row}


@pytest.fixture(scope="module")
def results(incoming: Path) -> list[Row]:
    """Each once: one of each day was sent twice."""
    sent = list(read_csv(incoming / "matches"))
    once = {(row["match_id"], row["player"]): row for row in sent}
    assert len(sent) - len(once) == 43
    return list(once.values())


@pytest.fixture(scope="module")
def joined(incoming: Path) -> dict[str, date]:
    return {row["player"]: date.fromisoformat(row["day"]) for row in read_csv(incoming / "players")}


@pytest.fixture(scope="module")
def kills(incoming: Path) -> list[Row]:
    files = sorted((incoming / "telemetry").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_its_readme_is_right(tour: Tour):
    assert not tour.difference, tour.difference


def test_its_picture(tour: Tour):
    tour.assert_pictured()


def test_results_are_there_once(lake: tl.Lake, results: list[Row]):
    found = lake.sql("SELECT match_id, player, won, kills FROM results").rows()
    assert sorted(found) == sorted(
        (row["match_id"], row["player"], row["won"] == "1", int(row["kills"])) for row in results
    )


def test_retention(lake: tl.Lake, results: list[Row], joined: dict[str, date]):
    played = {(row["player"], date.fromisoformat(row["day"])) for row in results}
    cohorts = defaultdict[date, list[str]](list)
    for player, day in joined.items():
        cohorts[day].append(player)

    def back(day: date, age: int) -> int | None:
        then = day + timedelta(days=age)
        return sum((p, then) in played for p in cohorts[day]) if then <= LAST else None

    wanted = [
        (day, len(cohorts[day]), back(day, 1), back(day, 7), back(day, 30))
        for day in sorted(cohorts)
    ]
    columns = "joined, players, d1, d7, d30"
    assert lake.sql(f"SELECT {columns} FROM retention ORDER BY joined").rows() == wanted
    assert [cohort[4] is None for cohort in wanted].count(False) == 13


def test_the_patch_hurt(lake: tl.Lake):
    cohorts = rows(lake, "FROM retention WHERE d7 IS NOT NULL")
    counted = [c for c in cohorts if c["joined"] + timedelta(days=7) != LAST]
    sides = [[c for c in counted if (c["joined"] >= PATCH) is after] for after in (False, True)]
    (n0, x0), (n1, x1) = (
        (sum(c["players"] for c in side), sum(c["d7"] for c in side)) for side in sides
    )
    share = (x0 + x1) / (n0 + n1)
    z = (x1 / n1 - x0 / n0) / math.sqrt(share * (1 - share) * (1 / n0 + 1 / n1))
    (found,) = rows(lake, "FROM patch")
    assert (found["joined_before"], found["joined_after"]) == (n0, n1)
    assert found["d7_before"] == pytest.approx(100 * x0 / n0, abs=0.006)
    assert found["d7_after"] == pytest.approx(100 * x1 / n1, abs=0.006)
    assert found["z"] == pytest.approx(z, abs=0.006)
    assert z < -2.6 and found["verdict"] == "it hurt"


def test_what_players_spent(lake: tl.Lake, incoming: Path, joined: dict[str, date]):
    purchases = list(read_csv(incoming / "purchases"))
    spent = Counter[str]()
    for row in purchases:
        if int(row["cents"]) > 0:
            spent[row["player"]] += int(row["cents"])
    weeks = defaultdict[date, list[int]](list)
    for player, day in joined.items():
        weeks[day - timedelta(days=day.weekday())].append(spent[player])
    found = {row["week"]: row for row in rows(lake, "FROM arpu")}
    assert found.keys() == weeks.keys()
    for week, cents in weeks.items():
        assert found[week]["players"] == len(cents)
        assert found[week]["payers"] == sum(c > 0 for c in cents)
        assert float(found[week]["arpu"]) == pytest.approx(sum(cents) / 100 / len(cents), abs=1e-4)
    wrong = lake.sql('SELECT purchase_id FROM "purchases_clean@main:/_quarantine/paid"').rows()
    assert sorted(wrong) == sorted(
        (row["purchase_id"],) for row in purchases if int(row["cents"]) <= 0
    )


def test_the_leaderboard(lake: tl.Lake, results: list[Row]):
    """Elo once more, from the rows as they were sent."""
    matches = defaultdict[tuple[str, str, str], list[Row]](list)
    for row in results:
        matches[row["season"], row["started_at"], row["match_id"]].append(row)
    rating = defaultdict[tuple[str, str], float](lambda: 1500.0)
    for (season, *_), players in sorted(matches.items()):
        won = [(season, p["player"]) for p in players if p["won"] == "1"]
        lost = [(season, p["player"]) for p in players if p["won"] == "0"]
        expected = 1 / (1 + 10 ** ((_mean(rating, lost) - _mean(rating, won)) / 400))
        for side, sign in ((won, 1), (lost, -1)):
            for who in side:
                rating[who] += sign * 32 * (1 - expected)
    found = {(str(r["season"]), r["player"]): r["rating"] for r in rows(lake, "FROM leaderboard")}
    assert found == pytest.approx(dict(rating), abs=1e-3)


def _mean(rating: dict[tuple[str, str], float], players: list[tuple[str, str]]) -> float:
    return sum(rating[who] for who in players) / len(players)


def test_a_season_that_is_over_is_not_computed_again(lake: tl.Lake):
    jobs = lake.jobs(pipeline="leaderboard")
    assert [(job.counts.processed, job.counts.skipped) for job in jobs] == [(1, 1), (1, 0)]
    assert [job.counts.processed for job in lake.jobs(pipeline="results")] == [1, 42]


def test_nothing_of_the_burst_is_lost(lake: tl.Lake, kills: list[Row], results: list[Row]):
    arrived = lake.sql("SELECT event_id, match_id, player FROM telemetry").rows()
    assert sorted(arrived) == sorted((k["event_id"], k["match_id"], k["player"]) for k in kills)
    by_hour = Counter(kill["ts"][:13] for kill in kills)
    counted = {f"{r['hour']:%Y-%m-%dT%H}": r["kills"] for r in rows(lake, "FROM load")}
    assert counted == by_hour
    usual = statistics.mean(by_hour[f"2026-06-{day:02}T18"] for day in range(6, 12))
    assert by_hour["2026-06-12T18"] > 50 * usual
    # What servers reported kill by kill is what they added up at the end of each match.
    told = {row["match_id"]: 0 for row in results if row["day"] >= "2026-06-06"}
    for row in results:
        if row["match_id"] in told:
            told[row["match_id"]] += int(row["kills"])
    reported = Counter(kill["match_id"] for kill in kills)
    assert {match: reported[match] for match in told} == told


def test_cheaters_are_found(lake: tl.Lake, place: Path, kills: list[Row]):
    """Who they are is known: precision and recall among those with kills enough to judge."""
    with (place / "truth" / "cheaters.csv").open() as lines:
        truth = {row["player"]: row["cheat"] for row in csv.DictReader(lines)}
    judged = {player for player, n in Counter(kill["player"] for kill in kills).items() if n >= 12}
    found = {row["player"]: row["signals"] for row in rows(lake, "FROM cheats")}
    assert found.keys() <= judged
    cheaters = truth.keys() & judged
    assert len(cheaters) > 20
    right = found.keys() & cheaters
    assert len(right) / len(found) >= 0.95  # precision
    assert len(right) / len(cheaters) >= 0.95  # recall
    assert all(("speed" in found[p]) is (truth[p] == "speed") for p in right)


def test_signals_are_robust_scores(lake: tl.Lake, kills: list[Row]):
    by_player = defaultdict[str, list[Row]](list)
    for kill in kills:
        by_player[kill["player"]].append(kill)
    reaction = {
        player: -statistics.median(kill["reaction_ms"] for kill in made)
        for player, made in by_player.items()
        if len(made) >= 12
    }
    middle = statistics.median(reaction.values())
    spread = 1.4826 * statistics.median(abs(value - middle) for value in reaction.values())
    for row in rows(lake, "FROM cheats"):
        wanted = (reaction[row["player"]] - middle) / spread
        assert row["z_reaction"] == pytest.approx(wanted, abs=0.006)


def test_each_has_a_case(lake: tl.Lake):
    suspects = {row["player"]: row["kills"] for row in rows(lake, "FROM cheats")}
    found = {}
    for file in lake.ls("cases@main:/"):
        case = json.loads(lake.read(f"cases@main:{file.path}"))
        found[case["player"]] = case["kills"]
    assert found == suspects


def written(folder: Path, *options: str) -> dict[str, bytes]:
    command = [sys.executable, str(ARENA), "2026-06-12", str(folder), *options]
    subprocess.run(command, check=True, capture_output=True)
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path):
    first = written(tmp_path / "one")
    assert written(tmp_path / "two") == first
    other = written(tmp_path / "three", "--seed", "2")
    assert all(other.get(name) != data for name, data in first.items())


def test_a_burst_meets_a_worker_that_dies(tmp_path: Path):
    """The launch comes while a worker takes files; it is killed, and another goes on."""
    with tl.init(tmp_path / "lake") as lake:
        (tmp_path / "lake" / "games").mkdir()
        spec = tmp_path / "lake" / "games" / "telemetry.yaml"
        spec.write_text((EXAMPLES / "games" / "telemetry.yaml").read_text())
        (tmp_path / "lake" / "incoming" / "telemetry").mkdir(parents=True)
        lake.apply(spec)
        sent = _sent_in_two(tmp_path, lake)
        found = Counter(row[0] for row in lake.sql("SELECT event_id FROM telemetry").rows())
        assert found == sent
        assert max(found.values()) == 1


def _sent_in_two(tmp_path: Path, lake: tl.Lake) -> Counter[str]:
    """Move files into the folder while workers run, the first of which is killed."""
    made = written(tmp_path / "made")
    files = sorted(name for name in made if name.startswith("telemetry/"))
    inbox = tmp_path / "lake" / "incoming"
    lines = [made[name].splitlines() for name in files]
    command = [sys.executable, "-m", "trunkline", "worker"]
    environ = {**os.environ, "TRUNKLINE_WORKER_LEASE": "3s"}
    half = len(files) // 2
    for start, end in ((0, half), (half, len(files))):
        worker = subprocess.Popen(
            command, cwd=tmp_path / "lake", env=environ, stdout=subprocess.DEVNULL
        )
        try:
            for name in files[start:end]:
                os.replace(tmp_path / "made" / name, inbox / name)
            wanted = sum(map(len, lines[:end]))
            # The first worker need not have taken all of them when it dies.
            until = wanted if end == len(files) else 1
            deadline = time.monotonic() + 120
            while lake.ingest("telemetry").rows < until:
                assert worker.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
        finally:
            worker.kill()
            worker.wait()
    return Counter(json.loads(line)["event_id"] for some in lines for line in some)
