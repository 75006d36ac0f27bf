"""A long history: 10,000 commits on one branch, against 100.

Both are made through the SDK, a tiny commit at a time, and measured in a process at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import trunkline
from benchmarks.measure import Bench, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from trunkline.sdk import Lake

CLAIM = "history"
BUDGET = 1.3
SHORT = 100


def run(bench: Bench) -> Iterator[Result]:
    long = bench.size(10_000, 2_000)
    lake_path = bench.make_lake("lake", "long", "short")
    with trunkline.open(lake_path) as lake:
        for repo, commits in (("short", SHORT), ("long", long)):
            for number in range(commits):
                commit(lake, repo, number)

        def log(repo: str, length: int) -> object:
            return list(lake.log(f"{repo}@main", limit=10))

        def back(repo: str, length: int) -> object:
            return lake.commit_info(f"{repo}@main~{length * 9 // 10}")

        def put(repo: str, length: int) -> object:
            commit(lake, repo, length)
            return None

        works: dict[str, tuple[Callable[[str, int], object], int]] = {
            "log -n 10": (log, 50),
            f"~{long * 9 // 10} against ~{SHORT * 9 // 10}": (back, 50),
            "put of one file": (put, 50),
        }
        for what, (work, repeats) in works.items():
            costs = in_turns(
                {
                    "long": lambda n, work=work: call(lambda: work("long", long)),  # type: ignore[misc]
                    "short": lambda n, work=work: call(lambda: work("short", SHORT)),  # type: ignore[misc]
                },
                bench.size(repeats, 20),
                sync=False,
            )
            peer = f"the same, {SHORT} commits"
            yield times_as_long(
                CLAIM,
                f"{what}, {long:,} commits",
                typical(costs["long"]),
                peer,
                typical(costs["short"]),
                BUDGET,
            )


def commit(lake: Lake, repo: str, number: int) -> None:
    with lake.commit(f"{repo}@main", f"number {number}") as writer:
        writer.put(f"/{number % 50}.txt", b"%d" % number)
