"""Many small files: 100,000 of 1 KB in and out, against git and dvc.

Put: `trunkline put -r` as one process against `git add` and `git commit`, and `dvc add` where a
dvc is at hand. Ours is durable when it ends, and so is a git commit by git's own defaults; dvc
does not sync. Then the same folder once more after one file changed. Get: `get -r` into a new
folder against `git worktree add`, which is a checkout into one; git's objects are loose, as
`git add` leaves them, and once more packed, as `git repack` leaves them.

Nothing is deleted before the end: ext4 looks past every inode freed in the last minute or so, and
after a large removal making a file takes ten times as long, for whoever comes next.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Bench, Cost, Run, best, in_turns, version
from benchmarks.report import Result, times_as_long, times_faster

CLAIM = "small_files"
SIZE = 1000
PER_FOLDER = 1000


def run(bench: Bench) -> Iterator[Result]:
    count = bench.size(100_000, 10_000)
    source = bench.folder / "source"
    make_files(source, count)
    git = f"git {version('git', '--version')}"
    lakes = [bench.make_lake(f"lake{n}", "files") for n in range(bench.rounds)]
    gits = [Git(bench, n, source) for n in range(bench.rounds)]

    def put(number: int) -> Cost:
        return bench.trunkline("put", "-r", "files@main", source, "--lake", lakes[number])

    puts: dict[str, Run] = {"ours": put, "git": lambda number: gits[number].commit()}
    if bench.dvc:
        puts["dvc"] = lambda number: add_to_dvc(bench, source, number)
    costs = {name: best(found) for name, found in in_turns(puts, bench.rounds).items()}
    what = f"put {count:,} files of 1 KB"
    yield times_faster(CLAIM, what, costs["ours"], f"{git} add, commit", costs["git"], 6)
    if bench.dvc:
        dvc = f"dvc {version(bench.dvc, '--version')} add"
        yield times_faster(CLAIM, what, costs["ours"], dvc, costs["dvc"], 20)

    (source / "f0000" / "0.bin").write_bytes(b"changed")
    again = in_turns({name: puts[name] for name in ("ours", "git")}, bench.rounds)
    ours, theirs = best(again["ours"]), best(again["git"])
    yield times_faster(CLAIM, "put again after one change", ours, f"{git} add, commit", theirs)

    outs = count_up(bench.folder / "out")

    def get(number: int) -> Cost:
        return bench.trunkline("get", "-r", "files@main", next(outs), "--lake", lakes[number])

    def check_out(number: int) -> Cost:
        return gits[number].check_out(next(outs))

    what = f"get {count:,} files of 1 KB"
    gets = in_turns({"ours": get, "git": check_out}, bench.rounds)
    ours, theirs = best(gets["ours"]), best(gets["git"])
    yield times_as_long(CLAIM, what, ours, f"{git} checkout", theirs, 1)
    for held in gits:
        held.pack()
    gets = in_turns({"ours": get, "git": check_out}, bench.rounds)
    ours, theirs = best(gets["ours"]), best(gets["git"])
    yield times_as_long(CLAIM, what, ours, f"{git} checkout, after git repack", theirs)


def count_up(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.name}{number}") for number in itertools.count())


def make_files(folder: Path, count: int) -> None:
    """Files of random bytes, a thousand in each folder."""
    randoms = random.Random(1)
    for number in range(count):
        place, name = divmod(number, PER_FOLDER)
        below = f"{folder}/f{place:04}"
        if not name:
            os.makedirs(below)
        with open(f"{below}/{name}.bin", "wb") as file:
            file.write(randoms.randbytes(SIZE))


class Git:
    """A repository with its work tree elsewhere."""

    def __init__(self, bench: Bench, number: int, work_tree: Path) -> None:
        self._bench = bench
        self._home = bench.folder / f"git{number}"
        self._work_tree = work_tree
        bench.process("git", "init", "--quiet", "--bare", self._home)
        for name, value in (
            ("core.bare", "false"),
            ("gc.auto", "0"),
            ("user.name", "bench"),
            ("user.email", "bench@localhost"),
        ):
            bench.process("git", "--git-dir", self._home, "config", name, value)

    def commit(self) -> Cost:
        added = self._git("add", "-A")
        return added + self._git("commit", "--quiet", "-m", "files")

    def check_out(self, out: Path) -> Cost:
        return self._git("worktree", "add", "--quiet", "--detach", str(out), "HEAD")

    def pack(self) -> None:
        """What `git gc` does but for removing the loose objects: git prefers packed ones."""
        self._git("repack", "--quiet", "-a")

    def _git(self, *arguments: str) -> Cost:
        return self._bench.process(
            "git", "--git-dir", self._home, "--work-tree", self._work_tree, *arguments
        )


def add_to_dvc(bench: Bench, source: Path, number: int) -> Cost:
    """`dvc add` of a copy of the folder: dvc wants its data inside its own."""
    assert bench.dvc is not None
    home = bench.folder / f"dvc{number}"
    home.mkdir()
    shutil.copytree(source, home / "data")
    bench.process(bench.dvc, "init", "--quiet", "--no-scm", cwd=home)
    os.sync()
    return bench.process(bench.dvc, "add", "--quiet", "data", cwd=home)
