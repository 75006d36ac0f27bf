"""Counts what clicks.py wrote, in plain Python: to compare with what came out at the other end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

UNTIL = "2026-01-04T10:00"


def main() -> None:
    clicks = []
    for file in sorted(Path(sys.argv[1]).glob("*.jsonl")):
        for line in file.read_text().splitlines():
            try:
                clicks.append(json.loads(line))
            except ValueError:
                print(f"{file.name} has a line that is no JSON")
    bought = [click for click in clicks if click["event"] == "purchase"]
    cents = sum(click["cents"] for click in bought)
    early = sum(click["ts"] < UNTIL for click in clicks)
    print(f"{len(clicks)} clicks, {early} of them before 10:00")
    print(f"{len(bought)} purchases for {cents} cents")


if __name__ == "__main__":
    main()
