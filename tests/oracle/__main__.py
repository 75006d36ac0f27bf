"""The big run: python -m tests.oracle --examples 100000 --seed 7."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.oracle.groups import GROUPS
from tests.oracle.running import run
from tests.oracle.worlds import open_world


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="the name of a group; may be repeated")
    parser.add_argument("--most", type=int, default=20, help="stop after so many differences")
    given = parser.parse_args()
    groups = [group for group in GROUPS if given.only is None or group.name in given.only]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, open_world(Path(folder)) as world:
        report = run(
            world,
            groups,
            given.examples,
            given.seed,
            most=given.most,
            progress=lambda said: print(said, flush=True),
        )
    each = ", ".join(f"{name} {count}" for name, count in report.examples.items())
    print(
        f"\n{report.count} examples ({each}), seed {given.seed}, "
        f"{time.monotonic() - started:.0f} s: {len(report.differences)} differences"
    )
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
