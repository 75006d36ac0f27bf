"""Days of an online game, five against five: players, matches, purchases, and telemetry.

    python arena.py 2026-05-01 incoming --days 42

writes

    incoming/players/day=2026-05-01/players.csv               who joined that day
    incoming/matches/season=1/day=2026-05-01/matches.csv      a row for each player of each match
    incoming/purchases/day=2026-05-01/purchases.csv           what was bought
    incoming/telemetry/2026-06-11-18.jsonl                    each kill of an hour, of the last week

The same day and seed give the same bytes. `--scale 10` has ten times the players.

Players have a skill that nobody sees, and some cheat: `--truth` writes who. A patch comes on
2026-05-18; who joins after it stays away sooner. On 2026-06-12 the second season is launched: in
two hours of that evening there is fifty times the traffic of a usual evening hour, in a file for
each minute. One purchase of each day has a negative amount, one result of each day is there twice.

It knows nothing of Trunkline.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

JOINS = 40  # on each day, at scale 1
TEAM = 5
OPENED = datetime.date(2026, 5, 1)
PATCH = datetime.date(2026, 5, 18)
TELEMETRY_FROM = datetime.date(2026, 6, 6)
LAUNCH = datetime.date(2026, 6, 12)
LAUNCH_JOINS = 15  # so many times the usual
PATCH_HURTS = 0.5
CHEATS = ("", "aim", "speed")
CHEATERS = 0.012  # of each kind
COUNTRIES = ("BR", "DE", "FR", "JP", "KR", "PL", "US")
PLATFORMS = ("console", "mobile", "pc")
WEAPONS = ("bow", "hammer", "rifle", "staff")
PRICES = (199, 499, 499, 999, 1999, 4999)
BUSY_HOURS = (4, 3, 2, 1, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 6, 8, 10, 12, 13, 13, 12, 9, 6)
RESULT = ("match", "started", "player", "team", "won", "kills")
ONE_DAY = datetime.timedelta(days=1)


class Arena:
    """One game. Who its players are follows from the seed, and their days from seed and day."""

    def __init__(self, scale: int = 1, seed: int = 1) -> None:
        self.scale, self.seed = scale, seed
        self.joined_on = cache(self._joined_on)

    def chance(self, *about: Any) -> np.random.Generator:
        return np.random.default_rng([self.seed, *"/".join(map(str, about)).encode()])

    def _joined_on(self, day: datetime.date) -> dict[str, np.ndarray]:
        """Who joined on a day: skill, kind of cheat, how much they like it, how much they spend."""
        number = JOINS * self.scale * (LAUNCH_JOINS if day == LAUNCH else 1)
        chance = self.chance("players", day)
        cheat = chance.random(number)
        first = (day - OPENED).days * JOINS * LAUNCH_JOINS * self.scale
        return {
            "player": first + np.arange(number),
            "skill": normal(chance, number),
            "cheat": (cheat < CHEATERS).astype(int) + 2 * (cheat > 1 - CHEATERS),
            "likes": 0.5 + chance.random(number),
            "spends": chance.random(number) ** 4,
            "country": (chance.random(number) * len(COUNTRIES)).astype(int),
            "platform": (chance.random(number) * len(PLATFORMS)).astype(int),
        }

    def active_on(self, day: datetime.date) -> dict[str, np.ndarray]:
        """Who plays on a day: fewer the longer they have been here, if they came back at all."""
        parts = []
        for since in days(OPENED, day):
            players = self.joined_on(since)
            age = (day - since).days
            stays = 0.45 * max(age, 1) ** -0.35 * players["likes"]
            if since >= PATCH:
                stays = stays * PATCH_HURTS
            if day == LAUNCH:
                stays = np.full(len(stays), 0.75)
            chance = self.chance("active", day, since).random(len(stays))
            plays = (chance < stays) | (age == 0)
            parts.append({name: column[plays] for name, column in players.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    # -- matches -----------------------------------------------------------------------------

    def matches(self, day: datetime.date) -> dict[str, np.ndarray]:
        """A row for each player of each match, in the order of matches."""
        chance = self.chance("matches", day)
        active = self.active_on(day)
        most = 7 if day == LAUNCH else 4
        wanted = 1 + (chance.random(len(active["player"])) * most).astype(int)
        rounds = []
        for number in range(1, most + 1):
            ready = np.flatnonzero(wanted >= number)
            ready = ready[np.argsort(chance.random(len(ready)))]
            rounds.append(ready[: len(ready) // (2 * TEAM) * 2 * TEAM])
        who = np.concatenate(rounds)
        count = len(who) // (2 * TEAM)
        team = np.tile(np.repeat([0, 1], TEAM), count)
        strength = active["skill"][who] + 1.5 * (active["cheat"][who] == 1)
        by_team = strength.reshape(count, 2, TEAM).mean(axis=2)
        first_wins = chance.random(count) < 1 / (1 + np.exp(-2.2 * (by_team[:, 0] - by_team[:, 1])))
        won = np.repeat(first_wins, 2 * TEAM) == (team == 0)
        mean = 3.0 * np.exp(0.35 * strength) * np.where(won, 1.25, 0.8)
        kills = np.minimum(-np.log1p(-chance.random(len(who))) * mean, 30).astype(int)
        started = np.sort(self._starts(chance, day, count))
        return {
            "match": np.repeat(np.arange(count), 2 * TEAM),
            "started": np.repeat(started, 2 * TEAM),
            "team": team,
            "won": won,
            "kills": kills,
            **{name: active[name][who] for name in ("player", "skill", "cheat")},
        }

    def _starts(self, chance: np.random.Generator, day: datetime.date, count: int) -> np.ndarray:
        if day == LAUNCH:  # all in one evening
            return np.round((18 + 2 * chance.random(count)) * 3600)
        shares = np.cumsum(np.array(BUSY_HOURS) / sum(BUSY_HOURS))
        hour = np.minimum(np.searchsorted(shares, chance.random(count), side="right"), 23)
        return np.round((hour + chance.random(count)) * 3600)

    def write_matches(self, folder: Path, day: datetime.date) -> int:
        found = self.matches(day)
        rows = [
            [f"m{day:%y%m%d}-{match:05}", moment(day, started), f"p{player:07}",
             "blue" if team else "red", int(won), kills]
            for match, started, player, team, won, kills in zip(
                *(found[name].tolist() for name in RESULT), strict=True)
        ]  # fmt: skip
        rows.append(rows[3])  # sent twice
        season = 2 if day >= LAUNCH else 1
        write_csv(
            folder / "matches" / f"season={season}" / f"day={day}" / "matches.csv",
            "match_id started_at player team won kills",
            rows,
        )
        return len(rows)

    # -- telemetry ---------------------------------------------------------------------------

    def write_telemetry(self, folder: Path, day: datetime.date) -> int:
        """A line for each kill, in a file for each hour; at the launch for each minute."""
        found = self.matches(day)
        chance = self.chance("telemetry", day)
        row = np.repeat(np.arange(len(found["kills"])), found["kills"])
        number = len(row)
        skill, cheat = found["skill"][row], found["cheat"][row]
        aims = cheat == 1
        at = found["started"][row] + np.round(chance.random(number) * 540, 3)
        hits = np.where(aims, 0.72, np.clip(0.22 + 0.05 * skill, 0.05, 0.4))
        headshot = np.where(chance.random(number) < hits, "true", "false")
        usual, steady = 260 - 20 * skill, 45 * normal(chance, number)
        reaction = np.where(aims, 95 + 12 * normal(chance, number), usual + steady)
        speed = np.where(cheat == 2, 9.5, 5.5) + 0.6 * normal(chance, number)
        distance = 4 + 40 * chance.random(number)
        victim = self._victims(chance, found, row)
        weapon = np.array(WEAPONS)[(chance.random(number) * len(WEAPONS)).astype(int)]
        moments = np.datetime64(day, "ms") + (at * 1000).round().astype("timedelta64[ms]")
        order = np.argsort(at, kind="stable")
        columns = (
            np.datetime_as_string(moments), found["match"][row], found["player"][row], victim,
            weapon, headshot, distance, np.maximum(reaction, 60), speed,
        )  # fmt: skip
        lines = [
            f'{{"event_id": "k{day:%y%m%d}-{n:07}", "ts": "{ts}Z", '
            f'"match_id": "m{day:%y%m%d}-{match:05}", "player": "p{player:07}", '
            f'"victim": "p{other:07}", "weapon": "{weapon}", "headshot": {head}, '
            f'"distance": {far:.1f}, "reaction_ms": {react:.0f}, "speed": {fast:.2f}}}\n'
            for n, (ts, match, player, other, weapon, head, far, react, fast) in enumerate(
                zip(*(column[order].tolist() for column in columns), strict=True)
            )
        ]
        seconds = 60 if day == LAUNCH else 3600
        parts = (at[order] // seconds).astype(int)
        for part in np.unique(parts):
            here = np.flatnonzero(parts == part)
            clock = f"{part // 60:02}{part % 60:02}" if seconds == 60 else f"{part:02}"
            write(folder / "telemetry" / f"{day}-{clock}.jsonl", lines[here[0] : here[-1] + 1])
        return len(lines)

    def _victims(
        self, chance: np.random.Generator, found: dict[str, np.ndarray], row: np.ndarray
    ) -> np.ndarray:
        """Somebody of the other team."""
        first = found["match"][row] * 2 * TEAM + np.where(found["team"][row] == 0, TEAM, 0)
        return found["player"][first + (chance.random(len(row)) * TEAM).astype(int)]

    # -- the rest ----------------------------------------------------------------------------

    def write_players(self, folder: Path, day: datetime.date) -> None:
        joined = self.joined_on(day)
        names = ("player", "country", "platform")
        rows = [
            [f"p{player:07}", COUNTRIES[country], PLATFORMS[platform]]
            for player, country, platform in zip(*(joined[n].tolist() for n in names), strict=True)
        ]
        file = folder / "players" / f"day={day}" / "players.csv"
        write_csv(file, "player country platform", rows)

    def write_purchases(self, folder: Path, day: datetime.date) -> None:
        active = self.active_on(day)
        chance = self.chance("purchases", day)
        buys = np.flatnonzero(chance.random(len(active["player"])) < 0.25 * active["spends"])
        rows = [
            [f"b{day:%y%m%d}-{n:05}", f"p{active['player'][who]:07}",
             PRICES[int(chance.random() * len(PRICES))]]
            for n, who in enumerate(buys)
        ]  # fmt: skip
        if rows:
            rows[-1][2] = -rows[-1][2]
        file = folder / "purchases" / f"day={day}" / "purchases.csv"
        write_csv(file, "purchase_id player cents", rows)

    def write_day(self, folder: Path, day: datetime.date) -> tuple[int, int]:
        """Write all that arrives on a day; how many results and kills."""
        self.write_players(folder, day)
        self.write_purchases(folder, day)
        results = self.write_matches(folder, day)
        kills = self.write_telemetry(folder, day) if day >= TELEMETRY_FROM else 0
        return results, kills

    def cheaters(self, until: datetime.date) -> dict[str, str]:
        """Who cheats, and how."""
        return {
            f"p{player:07}": CHEATS[cheat]
            for day in days(OPENED, until)
            for player, cheat in zip(
                self.joined_on(day)["player"], self.joined_on(day)["cheat"], strict=True
            )
            if cheat
        }


def normal(chance: np.random.Generator, number: int) -> np.ndarray:
    """Of the normal distribution, as Box and Muller make them."""
    far = np.sqrt(-2 * np.log1p(-chance.random(number)))
    return far * np.cos(2 * np.pi * chance.random(number))


def days(first: datetime.date, last: datetime.date) -> Iterator[datetime.date]:
    while first <= last:
        yield first
        first += ONE_DAY


def moment(day: datetime.date, seconds: float) -> str:
    start = datetime.datetime.combine(day, datetime.time(), datetime.UTC)
    return (start + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")


def write_csv(file: Path, head: str, rows: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(head.split())
        writer.writerows(rows)


def write(file: Path, lines: list[str]) -> None:
    """First under another name: whoever watches the folder sees a whole file, or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_name(f".{file.name}")
    unfinished.write_text("".join(lines))
    os.replace(unfinished, file)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write days of an online game.")
    parser.add_argument("day", type=datetime.date.fromisoformat, help="as 2026-05-01")
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--days", type=int, default=1, help="so many, from that day on")
    parser.add_argument("--scale", type=int, default=1, help="so many times the players")
    parser.add_argument("--seed", type=int, default=1, help="another game (default: 1)")
    parser.add_argument(
        "--truth", action="store_true", help="only who cheats, of those until that day"
    )
    asked = parser.parse_args()
    if asked.day < OPENED:
        parser.error(f"the game opened on {OPENED}")
    arena = Arena(asked.scale, asked.seed)
    if asked.truth:
        found = arena.cheaters(asked.day)
        write_csv(asked.folder / "cheaters.csv", "player cheat", found.items())
        print(f"{len(found)} players cheat")
        return
    results = kills = 0
    for day in days(asked.day, asked.day + (asked.days - 1) * ONE_DAY):
        more = arena.write_day(asked.folder, day)
        results, kills = results + more[0], kills + more[1]
    print(f"{asked.days} day{'s' * (asked.days > 1)}: {results:,} results, {kills:,} kills")


if __name__ == "__main__":
    main()
