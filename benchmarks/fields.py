"""The five fields of use at a hundred times their size: seconds, rows a second, peak memory.

Each is its whole demo, generator included. `--scale 3` makes them smaller. Memory is that of the
process and all below it, looked at four times a second.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.measure import Bench, CommandFailed, Cost, command_line, remove
from benchmarks.report import Result, shown

CLAIM = "fields"
FIELDS = ("ecommerce", "finance", "medicine", "logistics", "games")
ROOT = Path(__file__).resolve().parents[1]
LOOK_SECONDS = 0.25
DATA = (".csv", ".jsonl")


def run(bench: Bench) -> Iterator[Result]:
    scale = int(bench.scale) or bench.size(100, 1)
    for field in FIELDS:
        if (ROOT / "examples" / field / "tour.yaml").is_file():
            yield from _demo(bench, field, scale)


def _demo(bench: Bench, field: str, scale: int) -> Iterator[Result]:
    place = bench.folder / field
    options = ("--scale", str(scale), "--folder", str(place), "--no-serve", "--quiet")
    cost = watched(bench, *command_line(), "demo", field, *options)
    rows = rows_in(place)
    what = f"demo {field} --scale {scale}: {rows:,} rows"
    yield Result(CLAIM, what, shown(cost), "", "", rows / cost.wall, "rows/s")
    yield Result(CLAIM, f"{what}, memory", shown(cost), "", "", cost.peak / 10**6, "MB")
    remove(place)


def rows_in(folder: Path) -> int:
    """Lines of data that a generator wrote."""
    found = 0
    for file in folder.rglob("*"):
        if file.suffix in DATA and ".trunkline" not in file.parts:
            with file.open("rb") as lines:
                found += sum(1 for _ in lines)
    return found


def watched(bench: Bench, *command: str, cwd: Path | None = None) -> Cost:
    """Run a program to its end, with a look at the memory of all that it started."""
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=cwd or bench.folder, env=bench.environment, stdin=subprocess.DEVNULL,
            stdout=said, stderr=said,
        )  # fmt: skip
        peak, cpu = 0, 0.0
        while process.poll() is None:
            memory, used = _held(process.pid)
            peak, cpu = max(peak, memory), max(cpu, used)
            time.sleep(LOOK_SECONDS)
        wall = time.perf_counter() - started
        if process.returncode:
            said.seek(0)
            text = said.read().decode(errors="replace").strip()
            raise CommandFailed(f"{' '.join(command)}\n{text}")
    return Cost(wall, cpu, peak)


def _held(pid: int) -> tuple[int, float]:
    """Memory and seconds of processor, of a process and those below it."""
    memory, used = 0, 0.0
    try:
        above = psutil.Process(pid)
        family = [above, *above.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0, 0.0
    for one in family:
        try:
            memory += one.memory_info().rss
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system + times.children_user + times.children_system
    return memory, used
