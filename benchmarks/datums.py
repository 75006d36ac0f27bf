"""10,000 datums of one file of 1 KB, by a command and by a Python function, against xargs.

The command is `wc -c` on the file, through a shell that puts the number into a file, on both
sides. Ours includes planning and the commit. The Spark session is warm: its start is reported
apart. A second peer is xargs with as many processes and no shell at all.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bench, Cost, best, call, in_turns, remove
from benchmarks.report import Result, shown, times_as_long, times_faster
from benchmarks.spark import warm_session
from trunkline.sdk import Lake

CLAIM = "datums"
CMD_BUDGET, PYTHON_BUDGET = 1.15, 10.0
FUNCTION = """
def count(datum):
    file = datum.file("files")
    datum.write(f"/{file.name}", f"{len(file.read())}\\n")
"""
SHELL = 'wc -c < "$files" > "pfs/out/${files##*/}"'


def run(bench: Bench) -> Iterator[Result]:
    many = bench.size(10_000, 1_000)
    source = bench.folder / "source"
    source.mkdir()
    for number in range(many):
        (source / f"{number:06d}").write_bytes(os.urandom(512).hex().encode())
    (bench.folder / "count.py").write_text(FUNCTION)
    began = time.perf_counter()
    with warm_session():
        start = time.perf_counter() - began
        yield Result(CLAIM, "Spark, to its first result", f"{start:.1f} s", "", "", start, "s")
        yield from _compare(bench, source, many)


def _compare(bench: Bench, source: Path, many: int) -> Iterator[Result]:
    import trunkline as tl

    os.chdir(bench.folder)
    with tl.init(bench.folder / "lake") as lake:
        lake.create_repo("files")
        with lake.commit("files@main") as commit:
            commit.put_files([(f"/{path.name}", path) for path in source.iterdir()])
        transforms = {
            "by_command": {"cmd": ["sh", "-c", SHELL]},
            "by_python": {"python": "count.py:count"},
        }
        for name, transform in transforms.items():
            _work(lake, name, transform, many)
        costs = in_turns(
            {
                "cmd": lambda n: _work(lake, "by_command", transforms["by_command"], many),
                "python": lambda n: _work(lake, "by_python", transforms["by_python"], many),
                "xargs": lambda n: _xargs(bench, source),
                "bare": lambda n: _bare(bench, source),
            },
            bench.rounds,
        )
    cmd, python, xargs, bare = (best(costs[name]) for name in ("cmd", "python", "xargs", "bare"))
    what = f"{many:,} datums by a command"
    peer = f"xargs -P {_processes()} sh -c"
    yield times_as_long(CLAIM, what, cmd, peer, xargs, CMD_BUDGET)
    yield times_as_long(CLAIM, what, cmd, f"xargs -P {_processes()} wc -c, no shell", bare)
    yield times_faster(
        CLAIM, f"{many:,} datums by Python", python, "by a command", cmd, PYTHON_BUDGET
    )
    yield Result(
        CLAIM, "the same, datums per second", shown(python), "", "", many / python.wall, "/s"
    )


def _work(lake: Lake, name: str, transform: dict[str, object], many: int) -> Cost:
    """Everything again, as a job: planned, run, committed."""
    spec = {
        "pipeline": {"name": name},
        "input": {"pfs": {"repo": "files", "glob": "/*"}},
        "transform": transform,
    }
    lake.apply(spec, reprocess=True)

    def work() -> None:
        (job,) = lake.run(jobs=1).jobs
        assert (str(job.state), job.counts.processed) == ("success", many), job.reason

    return call(work)


def _xargs(bench: Bench, source: Path) -> Cost:
    out = bench.folder / "out"
    out.mkdir()
    script = (
        f"ls {source} | sed 's|^|{source}/|' | xargs -P {_processes()} -n 1 "
        """sh -c 'wc -c < "$0" > "out/${0##*/}"'"""
    )
    cost = bench.process("sh", "-c", script)
    assert len(os.listdir(out)) == len(os.listdir(source))
    remove(out)
    return cost


def _bare(bench: Bench, source: Path) -> Cost:
    script = f"ls {source} | sed 's|^|{source}/|' | xargs -P {_processes()} -n 1 wc -c > counts"
    return bench.process("sh", "-c", script)


def _processes() -> int:
    return len(os.sched_getaffinity(0))
