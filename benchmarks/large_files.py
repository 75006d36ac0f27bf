"""Large files: 20 of 100 MB, against `cp` and hashing the copy.

The peer copies the folder with `cp` and reads the copy once to hash it with BLAKE3, in a small
Python script. It leaves its bytes in the page cache. Ours is durable when it ends: every object
is synced. The budget is on the plain peer; the fair one, which syncs its copies, stands beside
it. On a disk slower than the processor the plain ratio says how slow the disk is.

Where memory has been free for some seconds, both sides are slower on our machine: a put took 2.0
to 2.5 s instead of 1.3 to 1.6, `cp` 0.8 to 1.1 instead of 0.6. (A host that takes free memory back
would explain it; that was not looked into.) So each run follows right after a copy that was made
and removed, and finds the same memory at hand as the others do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version as installed
from pathlib import Path

from benchmarks.measure import Bench, Cost, Run, best, in_turns, remove, version
from benchmarks.report import Result, times_as_long

CLAIM = "large_files"

HASH = """
import os, sys
from blake3 import blake3
piece = bytearray(1 << 20)
view = memoryview(piece)
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        hasher = blake3()
        with open(os.path.join(folder, name), "rb", buffering=0) as file:
            while count := file.readinto(piece):
                hasher.update(view[:count])
        print(hasher.hexdigest(), name)
"""


def run(bench: Bench) -> Iterator[Result]:
    count, size = bench.size(20, 8), bench.size(100, 50) * 1_000_000
    source = bench.folder / "source"
    make_files(source, count, size)
    peer = f"cp {version('cp', '--version')}, blake3 {installed('blake3')}"

    def have_memory() -> None:
        bench.process("cp", "-r", source, bench.folder / "freed")
        remove(bench.folder / "freed")

    def put(number: int) -> Cost:
        lake = bench.make_lake("lake", "files")
        os.sync()
        have_memory()
        cost = bench.trunkline("put", "-r", "files@main", source, "--lake", lake)
        remove(lake)
        return cost

    def copy(sync: bool) -> Cost:
        out = bench.folder / "copy"
        have_memory()
        cost = bench.process("cp", "-r", source, out)
        cost += bench.process(sys.executable, "-c", HASH, out)
        if sync:
            cost += bench.process("sync", *sorted(out.iterdir()))
        remove(out)
        return cost

    runs: dict[str, Run] = {
        "ours": put,
        "plain": lambda number: copy(sync=False),
        "synced": lambda number: copy(sync=True),
    }
    costs = {name: best(found) for name, found in in_turns(runs, bench.rounds).items()}
    what = f"put {count} files of {size // 1_000_000} MB"
    yield times_as_long(CLAIM, what, costs["ours"], peer, costs["plain"], 1.1)
    yield times_as_long(CLAIM, what, costs["ours"], f"{peer}, sync", costs["synced"], 1.1)


def make_files(folder: Path, count: int, size: int) -> None:
    folder.mkdir()
    for number in range(count):
        with open(folder / f"{number:02}.bin", "wb") as file:
            for start in range(0, size, 1 << 20):
                file.write(os.urandom(min(1 << 20, size - start)))
