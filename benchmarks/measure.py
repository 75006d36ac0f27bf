"""Timing: processes and calls, by the clock and by the processor, in turns with their peers."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

Run = Callable[[int], "Cost"]
"""One measured run; it is told the number of its round."""


class CommandFailed(Exception):
    """A command that is being measured did not end well."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds by the clock, seconds of processor (user and system, with helpers), peak memory."""

    wall: float
    cpu: float
    peak: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.wall + other.wall, self.cpu + other.cpu, max(self.peak, other.peak))


@dataclass(frozen=True, slots=True)
class Bench:
    """What a claim may use: a folder of its own, and how far to go."""

    folder: Path
    rounds: int
    quick: bool = False
    large: bool = False
    dvc: str | None = None
    scale: float = 0.0
    engine: str = "both"
    peers: Path | None = None

    def size(self, full: int, quick: int) -> int:
        return quick if self.quick else full

    @property
    def median_rounds(self) -> int:
        """How often, where the median counts: one of fewer than three is none."""
        return self.rounds if self.quick else max(3, self.rounds)

    def tpch_scale(self) -> float:
        return self.scale or (0.02 if self.quick else 1.0)

    @property
    def environment(self) -> dict[str, str]:
        """Without what the user has set for any of the programs."""
        kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
        return {name: os.environ[name] for name in kept if name in os.environ} | {
            "HOME": str(self.folder),
            "GIT_CONFIG_NOSYSTEM": "1",
            "DVC_NO_ANALYTICS": "1",
            "DVC_SITE_CACHE_DIR": str(self.folder / "dvc-site"),
            "TRUNKLINE_AUTHOR": "bench",
        }

    def process(self, *command: str | Path, cwd: Path | None = None) -> Cost:
        """Run a program to its end. What its own children use counts as its own."""
        with tempfile.TemporaryFile() as said:
            started = time.perf_counter()
            process = subprocess.Popen(
                command,
                cwd=cwd or self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                said.seek(0)
                text = said.read().decode(errors="replace").strip()
                raise CommandFailed(f"{' '.join(map(str, command))}\n{text}")
        return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)

    def trunkline(self, *arguments: str | Path, cwd: Path | None = None) -> Cost:
        return self.process(*command_line(), *arguments, cwd=cwd)

    def make_lake(self, name: str, *repos: str) -> Path:
        lake = self.folder / name
        self.trunkline("init", lake)
        for repo in repos:
            self.trunkline("repo", "create", repo, "--lake", lake)
        return lake


def command_line() -> list[str]:
    """The `trunkline` of this interpreter."""
    script = Path(sys.executable).with_name("trunkline")
    return [str(script)] if script.exists() else [sys.executable, "-m", "trunkline"]


def call(work: Callable[[], object]) -> Cost:
    """Run something in this process."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def in_turns(runs: Mapping[str, Run], rounds: int, *, sync: bool = True) -> dict[str, list[Cost]]:
    """Every run once in each round. With `sync` nobody pays for what another left unwritten."""
    costs: dict[str, list[Cost]] = {name: [] for name in runs}
    for number in range(rounds):
        for name, run in runs.items():
            if sync:
                os.sync()
            costs[name].append(run(number))
    return costs


def best(costs: Sequence[Cost]) -> Cost:
    """The least of each: for long runs, where all that is added is noise."""
    return Cost(
        min(cost.wall for cost in costs),
        min(cost.cpu for cost in costs),
        max(cost.peak for cost in costs),
    )


def typical(costs: Sequence[Cost]) -> Cost:
    """The median of each: for short runs, of which there are many."""
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def version(*command: str) -> str:
    """The last word of the first line that a program says about its version."""
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.splitlines()[0].split()[-1]


def find_dvc(named: str | None) -> str | None:
    return shutil.which(named or "dvc")


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def cpu_seconds() -> float:
    """What this process and all below it have used so far, with those that have ended."""
    own = psutil.Process()
    used = 0.0
    for process in [own, *own.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system + times.children_user + times.children_system
    return used
