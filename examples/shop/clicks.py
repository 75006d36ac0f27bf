"""Clicks of a shop's visitors as JSON lines: the same bytes for the same part, every time.

    python clicks.py 1 inbox

writes inbox/clicks-001.jsonl: the first ten minutes of a morning, a line for each click. Part 2
goes on where part 1 ends; a visit may begin in one and end in the next.

Not every line comes as it should: --flaw late adds a click that was on its way for an hour,
--flaw cut adds half a line.

Standard library only. It knows nothing of Trunkline: this is what arrives from elsewhere.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHOPS = ("berlin", "lisbon", "osaka")
GOODS = {"apples": 320, "bread": 410, "coffee": 890, "dates": 560, "eggs": 380, "honey": 720}
OPENS = datetime.datetime(2026, 1, 4, 9, 0, tzinfo=datetime.UTC)
PART = 600.0  # seconds in one file
LONGEST = 300.0  # no visit is longer, so a part has visits that began in it or in the one before


def clicks(part: int, visits: int = 40) -> list[dict[str, Any]]:
    """The clicks of one part, in the order of their times."""
    start, end = (part - 1) * PART, part * PART
    made = [click for k in (part - 1, part) if k > 0 for click in _begun_in(k, visits)]
    inside = sorted((c for c in made if start <= c["at"] < end), key=lambda c: c["at"])
    return [{"ts": _moment(click.pop("at")), **click} for click in inside]


def _begun_in(part: int, visits: int) -> Iterator[dict[str, Any]]:
    chance = random.Random(f"clicks {part}")
    for number in range(1, visits + 1):
        visitor, shop = f"v{part:02}-{number:03}", chance.choice(SHOPS)
        first = at = (part - 1) * PART + chance.uniform(0, PART)
        while at - first < LONGEST:
            item = chance.choice(sorted(GOODS))
            click = {"at": at, "visitor": visitor, "shop": shop, "event": "view", "item": item}
            yield {**click, "cents": 0}
            if chance.random() < 0.25:  # who buys something often goes on looking
                at += chance.uniform(3, 15)
                cents = GOODS[item] * chance.randint(1, 4)
                yield {**click, "at": at, "event": "purchase", "cents": cents}
            if chance.random() < 0.2:
                break
            at += chance.uniform(2, 45)


def _moment(seconds: float) -> str:
    at = OPENS + datetime.timedelta(seconds=round(seconds, 3))
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def write_part(folder: Path, part: int, visits: int = 40, flaw: str = "") -> Path:
    """Write one part; the file."""
    lines = [json.dumps(click) for click in clicks(part, visits)]
    if flaw == "late":
        late = {"ts": _moment((part - 1) * PART - 3600), "visitor": "v00-001", "shop": "osaka"}
        lines.append(json.dumps({**late, "event": "purchase", "item": "honey", "cents": 720}))
    if flaw == "cut":
        lines.append(lines[0][:40])
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"clicks-{part:03}.jsonl"
    # First under another name: whoever watches the folder sees a whole file, or none.
    unfinished = folder / f".{file.name}"
    unfinished.write_text("".join(f"{line}\n" for line in lines))
    os.replace(unfinished, file)
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description="Write ten minutes of clicks.")
    parser.add_argument("part", type=int, help="which ten minutes: 1 is the first")
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--visits", type=int, default=40, help="how many begin (default: 40)")
    parser.add_argument("--flaw", choices=["late", "cut"], help="what is wrong with one line")
    asked = parser.parse_args()
    if asked.part < 1:
        parser.error("the first part is 1")
    file = write_part(asked.folder, asked.part, asked.visits, asked.flaw)
    lines = file.read_text().splitlines()
    print(f"{len(lines)} lines in {file}")


if __name__ == "__main__":
    main()
