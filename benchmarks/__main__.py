"""`python -m benchmarks [NAME…]`: run claims, print each result as it comes, then a table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from benchmarks import CLAIMS
from benchmarks.measure import Bench, find_dvc, remove
from benchmarks.report import Result, as_json, machine, table


def main() -> int:
    options = _parse()
    with tempfile.TemporaryDirectory(prefix="trunkline-bench-", dir=options.dir) as folder:
        about = machine(Path(folder))
        _say(", ".join(f"{name} {value}" for name, value in about.items()))
        results = list(_run(options, Path(folder)))
    if options.json:
        print(json.dumps({"machine": about, "results": as_json(results)}, indent=2))
    else:
        print(f"\n{table(results)}")
    missed = [result for result in results if result.met is False]
    return 1 if missed and options.strict else 0


def _run(options: argparse.Namespace, folder: Path) -> Iterator[Result]:
    for name in options.names or CLAIMS:
        claim = import_module(f"benchmarks.{name}")
        own = folder / name
        own.mkdir()
        bench = Bench(
            own,
            rounds=options.rounds,
            quick=options.quick,
            large=options.large,
            dvc=find_dvc(options.dvc),
            scale=options.scale,
            engine=options.engine,
            peers=Path(options.peers) if options.peers else None,
        )
        _say(f"\n{name}: {(claim.__doc__ or '').splitlines()[0]}")
        yield from _told(claim.run(bench))
        remove(own)


def _told(results: Iterable[Result]) -> Iterator[Result]:
    for found in results:
        peer = f", {found.peer} {found.theirs}" if found.peer else ""
        budget = f", budget {found.budget}: {found.verdict}" if found.budget else ""
        _say(f"  {found.what}: {found.ours}{peer}: {found.shown_value}{budget}")
        yield found


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of {', '.join(CLAIMS)}")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work or less")
    parser.add_argument("--large", action="store_true", help="10 GB where 2 GB would do")
    parser.add_argument("--rounds", type=int, default=3, help="how often long runs are repeated")
    parser.add_argument("--json", action="store_true", help="the results on stdout as JSON")
    parser.add_argument("--dir", help="where to work: a folder on the disk to measure")
    parser.add_argument("--dvc", help="the dvc command to compare with")
    parser.add_argument("--scale", type=float, default=0.0, help="of TPC-H; millions of Nexmark")
    parser.add_argument("--engine", choices=("duckdb", "spark", "both"), default="both")
    parser.add_argument("--peers", help="an environment with dagster and pyspark[pipelines]")
    parser.add_argument("--strict", action="store_true", help="fail when a budget is not met")
    options = parser.parse_args()
    for name in options.names:
        if name not in CLAIMS:
            parser.error(f"there is no claim {name!r}; choose from {', '.join(CLAIMS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
