"""Logistics: events, stays and estimates are what one pass over the sorted positions gives."""

from __future__ import annotations

import csv
import importlib.util
import json
import statistics
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

import trunkline as tl
from tests.examples.touring import EXAMPLES, Tour

DELAY = timedelta(minutes=10)
Event = tuple[str, str, str, datetime]
Fence = list[tuple[float, float]]


@pytest.fixture(scope="module")
def fleet() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fleet", EXAMPLES / "logistics" / "fleet.py")
    assert spec and spec.loader
    module = sys.modules["fleet"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# One pass over the sorted positions --------------------------------------------------------


class Position:
    def __init__(self, line: str) -> None:
        found = json.loads(line)
        self.vehicle: str = found["vehicle"]
        self.ts = datetime.fromisoformat(found["ts"])
        self.lat: float = found["lat"]
        self.lon: float = found["lon"]


def positions(*files: Path) -> list[Position]:
    return [Position(line) for file in files for line in file.read_text().splitlines()]


def rows(file: Path) -> list[dict[str, str]]:
    with file.open() as stream:
        return list(csv.DictReader(stream))


def fences(place: Path) -> dict[str, Fence]:
    return {
        row["site"]: [
            (float(lat), float(lon))
            for lat, lon in (corner.split(",") for corner in row["fence"].split())
        ]
        for row in rows(place / "plan" / "sites" / "sites.csv")
    }


def is_inside(lat: float, lon: float, fence: Fence) -> bool:
    inside = False
    for (lat1, lon1), (lat2, lon2) in zip(fence, fence[1:] + fence[:1], strict=True):
        if (lat1 > lat) != (lat2 > lat):
            inside ^= lon < (lon2 - lon1) * (lat - lat1) / (lat2 - lat1) + lon1
    return inside


def events(found: list[Position], sites: dict[str, Fence]) -> list[Event]:
    """Each change of the site that a truck is at."""
    made: list[Event] = []
    at: dict[str, str] = {}
    for one in sorted(found, key=lambda position: position.ts):
        near = (s for s, f in sites.items() if abs(f[0][0] - one.lat) < 0.01)
        now = next((s for s in near if is_inside(one.lat, one.lon, sites[s])), "")
        before = at.get(one.vehicle, "")
        if now != before:
            made += [(one.vehicle, before, "leave", one.ts)] if before else []
            made += [(one.vehicle, now, "enter", one.ts)] if now else []
        at[one.vehicle] = now
    return sorted(made)


def arrived(place: Path) -> list[Path]:
    """What the tour took. Its page then writes a file more, as time goes on."""
    files = sorted((place / "incoming" / "pings").glob("*.jsonl"))
    return [file for file in files if file.stem <= "pings-1000"]


def split(place: Path) -> tuple[list[Position], list[Position], datetime]:
    """What counted, what was late, and the watermark: of two batches, as they arrived."""
    files = arrived(place)
    first = positions(*[file for file in files if file.stem <= "pings-0830"])
    second = positions(*[file for file in files if file.stem > "pings-0830"])
    mark = max(one.ts for one in first) - DELAY
    late = [one for one in second if one.ts <= mark]
    kept = first + [one for one in second if one.ts > mark]
    return kept, late, max(one.ts for one in kept) - DELAY


# Tests -------------------------------------------------------------------------------------


def test_its_readme_is_right(tour: Tour):
    assert not tour.difference, tour.difference


def test_its_picture(tour: Tour):
    tour.assert_pictured()


def test_geofence_events(lake: tl.Lake, place: Path):
    kept, _, watermark = split(place)
    safe = [one for one in kept if one.ts <= watermark]
    assert [one.ts for one in safe] != sorted(one.ts for one in safe), "they came out of order"
    found = lake.sql("SELECT vehicle, site, event, ts FROM geofence_events").rows()
    assert sorted(found) == events(safe, fences(place / "incoming"))
    assert len(found) > 100


def test_positions_that_came_too_late_are_kept(lake: tl.Lake, place: Path):
    _, late, _ = split(place)
    assert late
    found = lake.table("geofence_events@main:/_late/pings").arrow().to_pylist()
    assert sorted((row["vehicle"], row["ts"]) for row in found) == sorted(
        (one.vehicle, one.ts) for one in late
    )


def test_idle_trucks_are_found(lake: tl.Lake, fleet: ModuleType):
    found = lake.sql("SELECT vehicle, site, owner, minutes FROM docks").rows()
    assert {vehicle: site for vehicle, site, _, _ in found} == fleet.held_up()
    assert all(minutes > 42 and owner for _, _, owner, minutes in found)


def test_estimates_are_near_what_came(
    lake: tl.Lake, fleet: ModuleType, place: Path, tmp_path: Path
):
    """The rest of the day is in files that the lake has not seen."""
    fleet.write(tmp_path, until="20:00")
    came: dict[tuple[str, str], datetime] = {}
    stays = defaultdict(list)
    everything = positions(*sorted((tmp_path / "pings").glob("*.jsonl")))
    for vehicle, site, event, ts in sorted(
        events(everything, fences(tmp_path)), key=lambda one: one[3]
    ):
        stays[vehicle, site].append((event, ts))
    for key, found in stays.items():
        pairs = zip(found[::2], found[1::2], strict=False)
        long = [a[1] for a, b in pairs if b[1] - a[1] >= timedelta(minutes=4)]
        if long:
            came[key] = long[0]
    waiting = {vehicle for (vehicle,) in lake.sql("SELECT vehicle FROM docks").rows()}
    made: list[float] = []
    coming: dict[str, list[float]] = {"next": [], "to come": []}
    for vehicle, site, state, arrives in lake.sql(
        "SELECT vehicle, site, state, arrives FROM arrivals"
    ).rows():
        off = abs((arrives - came[vehicle, site]).total_seconds()) / 60
        if state in ("delivered", "at the dock"):
            made.append(off)
        elif vehicle not in waiting:  # nobody knows when a dock is free
            coming[state].append(off)
    assert max(made) == 0
    assert len(coming["next"]) > 5 and len(coming["to come"]) > 5
    assert statistics.median(coming["next"]) < 5 and max(coming["next"]) < 15
    assert statistics.median(coming["to come"]) < 12


def test_every_delivery_has_an_estimate(lake: tl.Lake, place: Path):
    planned = {row["delivery"] for row in rows(place / "incoming/plan/deliveries/deliveries.csv")}
    found = {name for (name,) in lake.sql("SELECT delivery FROM arrivals").rows()}
    assert found == planned


def test_late_deliveries_are_those_behind_an_idle_truck_and_a_few(lake: tl.Lake):
    late = lake.sql("SELECT vehicle, late_min, window_to, arrives FROM late").rows()
    assert {vehicle for (vehicle,) in lake.sql("SELECT vehicle FROM docks").rows()} <= {
        vehicle for vehicle, *_ in late
    }
    for _, minutes, due, arrives in late:
        assert minutes == pytest.approx((arrives - due).total_seconds() / 60, abs=0.51)
        assert arrives > due


def test_utilisation_adds_up(lake: tl.Lake, place: Path):
    files = arrived(place)
    driving: dict[str, float] = defaultdict(float)
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    last: dict[str, datetime] = {}
    for line in sorted(lines, key=lambda one: one["ts"]):
        now = datetime.fromisoformat(line["ts"])
        seconds = (now - last.get(line["vehicle"], now)).total_seconds()
        last[line["vehicle"]] = now
        if seconds <= 120 and line["road"] != "yard":
            driving[line["vehicle"]] += seconds / 60
    found: dict[str, float] = dict(lake.sql("SELECT vehicle, driving_min FROM utilisation").rows())
    assert found.keys() == driving.keys()
    assert all(abs(found[name] - minutes) <= 0.5 for name, minutes in driving.items())
    (least, most) = lake.sql("SELECT min(load_percent), max(load_percent) FROM utilisation").rows()[
        0
    ]
    assert 30 < least <= most


def test_the_same_seed_is_the_same_day(fleet: ModuleType, tmp_path: Path):
    for name, seed in (("one", 11), ("two", 11), ("other", 12)):
        fleet.write(tmp_path / name, until="08:00", scale=0.1, seed=seed)
    assert content(tmp_path / "one") == content(tmp_path / "two")
    assert content(tmp_path / "one") != content(tmp_path / "other")


def test_a_later_call_only_adds_files(fleet: ModuleType, tmp_path: Path):
    fleet.write(tmp_path, until="08:00", scale=0.1)
    before = content(tmp_path)
    fleet.write(tmp_path, until="09:00", scale=0.1)
    after = content(tmp_path)
    assert {path: after[path] for path in before} == before
    assert len(after) == len(before) + 2


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}
