"""The catalog: commits per second on one branch, from 1 process and from 8.

Each process commits one small file of its own, again and again. Reported only: it depends on
how fast the disk syncs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import trunkline
from benchmarks.measure import Bench
from benchmarks.report import Result

CLAIM = "catalog"


def run(bench: Bench) -> Iterator[Result]:
    seconds = bench.size(10, 3)
    for writers in (1, 8):
        lake = bench.make_lake(f"lake{writers}", "data")
        # Time for all of them to start; they begin together.
        start = time.time() + 1 + 0.2 * writers
        with ProcessPoolExecutor(writers, mp_context=get_context("spawn")) as pool:
            futures = [
                pool.submit(write, lake, number, start, seconds) for number in range(writers)
            ]
            waits = sorted(wait for future in futures for wait in future.result())
        median, slow = waits[len(waits) // 2], waits[len(waits) * 99 // 100]
        yield Result(
            CLAIM,
            f"commits on one branch, {writers} process{'es' if writers > 1 else ''}",
            f"median {median * 1000:.1f} ms, 99 % {slow * 1000:.0f} ms",
            "",
            "",
            len(waits) / seconds,
            "per second",
        )


def write(path: Path, number: int, start: float, seconds: float) -> list[float]:
    """Commit until the time is over; how long each commit took."""
    waits = []
    with trunkline.open(path) as lake:
        time.sleep(max(start - time.time(), 0))
        while (began := time.time()) < start + seconds:
            with lake.commit("data@main", "one file") as writer:
                writer.put(f"/{number}.txt", f"{began}".encode())
            waits.append(time.time() - began)
    return waits
