"""Cold start: `log`, `ls` and `status` as processes, beside `python -c pass` and `git log`.

The last lines say which modules each command imported of those that cost time and have no
business in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bench, Run, in_turns, typical, version
from benchmarks.report import Result, shown

CLAIM = "cold_start"
LIMIT = 0.3
HEAVY = (
    "alembic",
    "fastapi",
    "numpy",
    "obstore",
    "psycopg",
    "pyarrow",
    "pydantic",
    "pyspark",
    "rich",
    "sqlalchemy",
)
PROBE = """
import json, sys
from trunkline.cli import main
code = main(sys.argv[1:])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
sys.exit(code)
"""


def run(bench: Bench) -> Iterator[Result]:
    lake = bench.make_lake("lake", "data")
    home = bench.folder / "git"
    fill(bench, lake, home)
    commands = {
        "log -n 10": ("log", "data@main", "-n", "10"),
        "ls": ("ls", "data@main"),
        "status": ("status",),
    }
    runs: dict[str, Run] = {
        name: lambda number, words=words: bench.trunkline(*words, cwd=lake)  # type: ignore[misc]
        for name, words in commands.items()
    }
    git = f"git {version('git', '--version')} log -n 10"
    python = f"python {sys.version.split()[0]} -c pass"
    runs[git] = lambda number: bench.process("git", "log", "-n", "10", cwd=home)
    runs[python] = lambda number: bench.process(sys.executable, "-c", "pass")
    costs = in_turns(runs, bench.size(15, 5), sync=False)
    plain, log = typical(costs[python]), typical(costs[git])
    for name, words in commands.items():
        cost = typical(costs[name])
        loaded = heavy_modules(bench, lake, words)
        yield Result(
            CLAIM,
            f"trunkline {name}, imports {', '.join(loaded) or 'nothing heavy'}",
            shown(cost),
            f"{python}; {git}",
            f"{shown(plain)}; {shown(log)}",
            cost.wall,
            "s",
            f"≤ {LIMIT} s",
            cost.wall <= LIMIT and not loaded,
        )


def fill(bench: Bench, lake: Path, home: Path) -> None:
    """Twenty commits of one file, in both."""
    bench.process("git", "init", "--quiet", home)
    for name, value in (("user.name", "bench"), ("user.email", "bench@localhost")):
        bench.process("git", "config", name, value, cwd=home)
    for number in range(20):
        file = home / f"{number}.txt"
        file.write_text(f"{number}\n")
        bench.process("git", "add", file.name, cwd=home)
        bench.process("git", "commit", "--quiet", "-m", f"file {number}", cwd=home)
        bench.trunkline("put", "data@main", file, "-m", f"file {number}", "--lake", lake)


def heavy_modules(bench: Bench, lake: Path, words: tuple[str, ...]) -> list[str]:
    """Which of the heavy modules a command imports."""
    ended = subprocess.run(
        [sys.executable, "-c", PROBE, *words],
        cwd=lake,
        env=bench.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(ended.stderr.splitlines()[-1]))
    return [name for name in HEAVY if name in loaded]
