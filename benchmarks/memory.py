"""Memory: one file of 2 GB (10 GB with --large) in and out, and the most that either held.

The peak is that of the whole process as the kernel counts it. A parent's own size would count
towards it until the program is started, so a small process stands between.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bench, Cost, command_line, remove
from benchmarks.report import Result, shown

CLAIM = "memory"
LIMIT = 300
LAUNCH = """
import json, os, sys, time
started = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, used = os.wait4(child, 0)
wall = time.perf_counter() - started
json.dump([wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024], sys.stderr)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(bench: Bench) -> Iterator[Result]:
    gigabytes = 10 if bench.large else 2
    size = bench.size(gigabytes * 10**9, 400 * 10**6)
    source, out = bench.folder / "source.bin", bench.folder / "out.bin"
    make_file(source, size)
    lake = bench.make_lake("lake", "files")
    what = f"a file of {size / 10**9:g} GB"
    cost = launch(bench, "put", "files@main", source, "--lake", lake)
    yield peak(f"put {what}", cost)
    remove(source)
    cost = launch(bench, "get", "files@main:/source.bin", out, "--lake", lake)
    yield peak(f"get {what}", cost)
    assert out.stat().st_size == size


def peak(what: str, cost: Cost) -> Result:
    megabytes = cost.peak / 10**6
    budget = f"< {LIMIT} MB"
    return Result(CLAIM, what, shown(cost), "", "", megabytes, "MB", budget, megabytes < LIMIT)


def launch(bench: Bench, *arguments: str | Path) -> Cost:
    ended = subprocess.run(
        [sys.executable, "-I", "-S", "-c", LAUNCH, *command_line(), *map(str, arguments)],
        env=bench.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return Cost(*json.loads(ended.stderr.splitlines()[-1]))


def make_file(path: Path, size: int) -> None:
    """The same 64 MB over and over, each time with another start: nothing depends on more."""
    block = bytearray(os.urandom(64 << 20))
    with open(path, "wb") as file:
        for start in range(0, size, len(block)):
            block[:8] = start.to_bytes(8, "big")
            file.write(memoryview(block)[: size - start])
