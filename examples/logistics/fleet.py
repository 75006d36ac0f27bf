"""A morning of delivery trucks as files: the same bytes for the same seed and scale, every time.

    python fleet.py incoming --until 10:00

writes what has arrived by ten o'clock:

    incoming/plan/sites/sites.csv            warehouses and customers, each with a geofence
    incoming/plan/vehicles/vehicles.csv      trucks: their home, and what they can carry
    incoming/plan/deliveries/deliveries.csv  today's stops: route, time window, load
    incoming/pings/pings-0630.jsonl …        positions, a file for each half hour

Called again with a later time it adds the files that have come since.

Trucks send a position every 30 seconds. Some are lost in tunnels, some arrive minutes late and out
of order, a few an hour late. Streets run north-south and east-west. Some trucks are held up at a
customer's dock.

NumPy and the standard library. It knows nothing of Trunkline: this is what arrives from elsewhere.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

DAY = "2026-03-03"
FIRST_DAY = date.fromisoformat(DAY).toordinal()
SOUTH, WEST = 52.30, 13.10  # the corner of the map
METRES_LAT, METRES_LON = 111_320.0, 67_840.0  # in a degree, at this latitude
STEP = 30  # seconds between positions
HALF_HOUR = 1800
FIRST, LAST = 6 * 3600, 20 * 3600
TOWN = 1_500.0  # metres of town at both ends of a way
LONG = 12_000.0  # ways that are longer use the motorway
SPEEDS = {"town": 28.0, "road": 52.0, "motorway": 78.0}  # km/h on a quiet road
RUSH = {7: 0.78, 8: 0.75, 9: 0.9, 16: 0.78, 17: 0.75}
SERVICE = 12 * 60
WAREHOUSES = {"W1": ("north depot", 15_000.0, 24_000.0), "W2": ("south depot", 9_000.0, 5_000.0),
              "W3": ("east depot", 26_000.0, 11_000.0)}  # fmt: skip
COMPANIES = ("Alder Foods", "Birch Paper", "Cedar Tools", "Dogwood Labs", "Elm Garden", "Fir Glass")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Site:
    site: str
    kind: str
    owner: str
    x: float
    y: float
    fence: tuple[tuple[float, float], ...]


@dataclass
class Stop:
    site: Site
    town: float
    fast: float
    road: str
    planned: float
    held_up: float = 0.0
    kilograms: int = 0


@dataclass
class Truck:
    vehicle: str
    home: Site
    capacity: int
    leaves: float
    pace: float
    stops: list[Stop] = field(default_factory=list)


def write(folder: Path, until: str = "12:00", scale: float = 1.0, seed: int = 11) -> int:
    """Write what has arrived by a time of the day; how many positions that are."""
    chance = np.random.default_rng(seed)
    sites = _sites(chance, scale)
    trucks = _trucks(chance, sites, scale)
    _write_plan(folder / "plan", sites, trucks)
    hours, minutes = map(int, until.split(":"))
    return _write_pings(folder / "pings", chance, trucks, hours * 3600 + minutes * 60)


def held_up(scale: float = 1.0, seed: int = 11) -> dict[str, str]:
    """Which trucks are made to wait, and where."""
    chance = np.random.default_rng(seed)
    trucks = _trucks(chance, _sites(chance, scale), scale)
    return {t.vehicle: s.site.site for t in trucks for s in t.stops if s.held_up}


# Sites --------------------------------------------------------------------------------------


def _sites(chance: np.random.Generator, scale: float) -> list[Site]:
    """Warehouses first. No two are near each other, so a truck is at one of them at most."""
    found = [
        Site(name, "warehouse", owner, x, y, _around(x, y, 220.0, 6))
        for name, (owner, x, y) in WAREHOUSES.items()
    ]
    spread = 30_000.0 * max(1.0, scale**0.5)
    taken = {(round(site.x / 1_000), round(site.y / 1_000)) for site in found}
    while len(found) < 3 + max(30, int(40 * scale)):
        x, y = chance.uniform(0, spread, 2)
        near = (round(x / 1_000), round(y / 1_000))
        if near in taken:
            continue
        taken.add(near)
        number = len(found) - 2
        x, y = near[0] * 1_000.0 + x % 300, near[1] * 1_000.0 + y % 300
        owner = COMPANIES[number % len(COMPANIES)]
        found.append(Site(f"C{number:04}", "customer", owner, x, y, _around(x, y, 90.0, 8)))
    return found


def _around(x: float, y: float, radius: float, corners: int) -> tuple[tuple[float, float], ...]:
    """The corners of a yard: further away at every other one."""
    angles = [2 * np.pi * k / corners for k in range(corners)]
    far = [radius * (1.0 if k % 2 else 1.2) for k in range(corners)]
    return tuple(
        (x + r * float(np.cos(a)), y + r * float(np.sin(a)))
        for a, r in zip(angles, far, strict=True)
    )


# Routes -------------------------------------------------------------------------------------


def _trucks(chance: np.random.Generator, sites: list[Site], scale: float) -> list[Truck]:
    depots, customers = sites[:3], sites[3:]
    found = []
    for number in range(max(8, int(20 * scale))):
        home = depots[number % 3]
        truck = Truck(
            f"T{number + 1:04}", home, int(chance.choice([3_500, 7_500, 12_000])),
            leaves=FIRST + float(chance.integers(20, 100)) * 60,
            pace=float(np.clip(chance.normal(1, 0.05), 0.88, 1.12)),
        )  # fmt: skip
        # Of some customers that are picked by chance, always the nearest is next.
        nearest = sorted(customers, key=lambda c: abs(c.x - home.x) + abs(c.y - home.y))
        pool = nearest[: max(30, len(nearest) // 3)]
        picked = [pool[k] for k in chance.choice(len(pool), int(chance.integers(7, 11)), False)]
        here, time = home, truck.leaves
        while picked:
            there = min(picked, key=lambda c: abs(c.x - here.x) + abs(c.y - here.y))
            picked.remove(there)
            way = abs(there.x - here.x) + abs(there.y - here.y)
            town = min(way, 2 * TOWN)
            road = "motorway" if way > LONG else "road"
            time += _seconds(town, way - town, road, 0.9)
            load = int(truck.capacity * chance.uniform(0.06, 0.11))
            truck.stops.append(Stop(there, town, way - town, road, time, kilograms=load))
            time += SERVICE
            here = there
        found.append(truck)
    for truck in found[:: max(5, len(found) // 8)]:  # these stand at a dock, and are late from then
        truck.stops[3].held_up = float(chance.integers(100, 160)) * 60
    return found


def _seconds(town: float, fast: float, road: str, factor: float) -> float:
    hours = town / SPEEDS["town"] + fast / SPEEDS[road]
    return hours / 1000 * 3600 / factor


def _write_plan(folder: Path, sites: list[Site], trucks: list[Truck]) -> None:
    fences = {
        site.site: " ".join(f"{_lat(y):.6f},{_lon(x):.6f}" for x, y in site.fence) for site in sites
    }
    _write(folder / "sites" / "sites.csv", "site,kind,owner,lat,lon,fence", (
        (s.site, s.kind, s.owner, f"{_lat(s.y):.6f}", f"{_lon(s.x):.6f}", f'"{fences[s.site]}"')
        for s in sites
    ))  # fmt: skip
    _write(folder / "vehicles" / "vehicles.csv", "vehicle,home,capacity_kg", (
        (truck.vehicle, truck.home.site, truck.capacity) for truck in trucks
    ))  # fmt: skip
    head = (
        "delivery,vehicle,stop,site,town_km,fast_km,road,window_from,window_to,service_min,load_kg"
    )
    rows = []
    for truck in trucks:
        for number, stop in enumerate(truck.stops, 1):
            due = round(stop.planned / 300) * 300
            rows.append((
                f"{truck.vehicle}-{number}", truck.vehicle, number, stop.site.site,
                f"{stop.town / 1000:.3f}", f"{stop.fast / 1000:.3f}", stop.road,
                _moment(due - HALF_HOUR), _moment(due + HALF_HOUR), SERVICE // 60, stop.kilograms,
            ))  # fmt: skip
    _write(folder / "deliveries" / "deliveries.csv", head, rows)


# Positions ----------------------------------------------------------------------------------


def _write_pings(folder: Path, chance: np.random.Generator, trucks: list[Truck], until: int) -> int:
    """A file for each half hour of arrival. All trucks are drawn, so that a later call goes on."""
    arrived: list[Array] = []
    lines: list[list[str]] = []
    for truck in trucks:
        at, x, y, speed, road = _drive(truck)
        kept = _without_tunnels(chance, at)
        at, x, y, speed, road = at[kept], x[kept], y[kept], speed[kept], road[kept]
        x, y = (values + chance.normal(0, 5, len(at)) for values in (x, y))
        speed = np.maximum(speed + chance.normal(0, 1.0, len(at)), 0) * (speed > 0)
        arrived.append(at + _delay(chance, len(at)))
        columns = (at.tolist(), _lat(y).tolist(), _lon(x).tolist(), speed.tolist(), road.tolist())
        lines.append([
            f'{{"vehicle": "{truck.vehicle}", "ts": "{_moment(a)}", "lat": {b:.6f}, "lon": {c:.6f},'
            f' "speed": {d:.1f}, "road": "{e}"}}\n'
            for a, b, c, d, e in zip(*columns, strict=True)
        ])  # fmt: skip
    order = np.argsort(np.concatenate(arrived), kind="stable")
    when, text = np.concatenate(arrived)[order], [line for part in lines for line in part]
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for start in range(FIRST, until, HALF_HOUR):
        first, end = np.searchsorted(when, [start, start + HALF_HOUR])
        count += int(end - first)
        name = _moment(start + HALF_HOUR)[11:16].replace(":", "")
        _put(folder / f"pings-{name}.jsonl", "".join(text[k] for k in order[first:end]))
    return count


def _drive(truck: Truck) -> tuple[Array, Array, Array, Array, Array]:
    """The day of a truck, every 30 seconds: time, place, km/h and kind of road."""
    times, ways, roads = [float(FIRST), truck.leaves], [(truck.home.x, truck.home.y)] * 2, ["yard"]
    now, here = truck.leaves, truck.home
    for stop in [*truck.stops, None]:
        there = stop.site if stop else truck.home
        for road, x, y, metres in _way(here, there):
            factor = RUSH.get(int(now // 3600), 1.0) * truck.pace
            now += metres / 1000 / (SPEEDS[road] * factor) * 3600
            times.append(now)
            ways.append((x, y))
            roads.append(road)
        now += (SERVICE * truck.pace + stop.held_up) if stop else LAST
        times.append(now)
        ways.append((there.x, there.y))
        roads.append("yard")
        here = there
    at = np.arange(FIRST, min(LAST, times[-2] + HALF_HOUR), STEP)
    leg = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(roads) - 1)
    corner = np.array(ways)
    x, y = np.interp(at, times, corner[:, 0]), np.interp(at, times, corner[:, 1])
    length = np.abs(np.diff(corner, axis=0)).sum(axis=1)
    speed = length / np.maximum(np.diff(times), 1e-9) * 3.6
    return at, x, y, speed[leg], np.array(roads)[leg]


def _way(here: Site, there: Site) -> Iterator[tuple[str, float, float, float]]:
    """First east or west, then north or south: the ends of stretches of one kind of road."""
    across, along = there.x - here.x, there.y - here.y
    whole = abs(across) + abs(along)
    town = min(whole, 2 * TOWN) / 2
    fast = "motorway" if whole > LONG else "road"
    ends = sorted({town, abs(across), whole - town, whole} - {0.0})
    before = 0.0
    for end in ends:
        middle = (before + end) / 2
        road = fast if town < middle < whole - town else "town"
        done = min(end, abs(across))
        x = here.x + np.sign(across) * done
        y = here.y + np.sign(along) * (end - done)
        yield road, float(x), float(y), end - before
        before = end


def _without_tunnels(chance: np.random.Generator, at: Array) -> Array:
    kept = np.ones(len(at), dtype=bool)
    for _ in range(int(chance.integers(0, 3))):
        start = chance.integers(FIRST, LAST)
        kept &= ~((at >= start) & (at < start + chance.integers(300, 600)))
    return kept


def _delay(chance: np.random.Generator, count: int) -> Array:
    """Seconds on the way: mostly two, for some minutes, for a few an hour."""
    kind = chance.random(count)
    minutes = chance.integers(60, 480, count)
    hour = chance.integers(3_000, 4_200, count)
    return np.where(kind < 0.002, hour, np.where(kind < 0.04, minutes, 2))


# Files --------------------------------------------------------------------------------------


def _lat(y: Any) -> Any:
    return SOUTH + y / METRES_LAT


def _lon(x: Any) -> Any:
    return WEST + x / METRES_LON


def _moment(seconds: float) -> str:
    days, whole = divmod(int(seconds), 86_400)
    day = date.fromordinal(FIRST_DAY + days)  # a long tour ends after midnight
    return f"{day}T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}Z"


def _write(file: Path, head: str, rows: Iterable[Sequence[object]]) -> None:
    lines = [",".join(map(str, row)) for row in rows]
    file.parent.mkdir(parents=True, exist_ok=True)
    _put(file, "\n".join([head, *lines]) + "\n")


def _put(file: Path, text: str) -> None:
    """A file that is there with these bytes stays as it is: who watches sees new ones only."""
    if file.exists() and file.read_text(encoding="utf-8") == text:
        return
    unfinished = file.with_name(f".{file.name}")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a morning of delivery trucks.")
    parser.add_argument("folder", type=Path, help="where to write it")
    parser.add_argument("--until", default="12:00", help="what has arrived by then, as 10:00")
    parser.add_argument("--scale", type=float, default=1.0, help="100 is 2,000 trucks")
    parser.add_argument("--seed", type=int, default=11, help="another one gives another day")
    asked = parser.parse_args()
    count = write(asked.folder, asked.until, asked.scale, asked.seed)
    print(f"{count} positions until {asked.until} in {asked.folder}/pings")


if __name__ == "__main__":
    main()
