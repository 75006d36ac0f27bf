"""A repo of 1,000,000 files: a commit, a diff and a listing, against a repo of 1,000.

The two repos are made through the internals: one commit whose lines name files that do not
exist, because listing a file needs no bytes of it. Everything measured after that goes through
the SDK. A diff and the reading of a manifest both start with nothing in the lake's own cache and
with a warm page cache; commits and listings are those of a process that has been at work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import trunkline
from benchmarks.measure import Bench, Cost, call, in_turns, typical
from benchmarks.report import Result, times_as_long
from trunkline.lake.manifests import ManifestStore
from trunkline.lake.transaction import Transaction
from trunkline.model.ids import new_id
from trunkline.model.refs import parse_ref
from trunkline.sdk import Lake

CLAIM = "big_repo"
PER_FOLDER = 1000
CHANGES = 100


def run(bench: Bench) -> Iterator[Result]:
    files = bench.size(1_000_000, 200_000)
    repeats = bench.size(31, 15)
    path = bench.make_lake("lake", "big", "small")
    with trunkline.open(path) as lake:
        fill(lake, "big", files)
        fill(lake, "small", PER_FOLDER)
        yield from commits(lake, files, repeats)
        yield from listings(lake, files, repeats)
        yield from diffs(path, lake, files, max(repeats // 4, 5))


def fill(lake: Lake, repo: str, files: int) -> None:
    every = range(files)
    write(lake, f"{repo}@main", [line(number, "0") for number in every])


def write(lake: Lake, ref: str, lines: list[bytes]) -> None:
    transaction = Transaction(lake._core, "bench")
    with transaction:
        draft = transaction.draft(parse_ref(ref, project=lake.project))
        draft.changes.put_all(lines)


def line(number: int, edition: str) -> bytes:
    """A file of a thousand bytes that is said to be in a pack."""
    folder, name = divmod(number, PER_FOLDER)
    digest = f"{number:x}{edition}".rjust(64, "a")
    pack = f"packs/20260101/{number >> 16:032x}-0.pack"
    place = (number & 0xFFFF) * 1000
    return f"/year=2026/f{folder:04}/part-{name:05}.bin\t{digest}\t1000\t{pack}\t{place}".encode()


def commits(lake: Lake, files: int, repeats: int) -> Iterator[Result]:
    numbers = count()

    def commit(repo: str) -> Cost:
        folder = next(numbers) * 7 % (files // PER_FOLDER) if repo == "big" else 0
        return call(lambda: put_one(lake, repo, f"/year=2026/f{folder:04}/{new_id()}.txt"))

    costs = in_turns(
        {"big": lambda number: commit("big"), "small": lambda number: commit("small")},
        repeats,
        sync=False,
    )
    big, small = typical(costs["big"]), typical(costs["small"])
    peer = "the same, 1,000 files"
    yield times_as_long(CLAIM, f"one-file commit, {files:,} files", big, peer, small, 3)


def put_one(lake: Lake, repo: str, path: str) -> None:
    with lake.commit(f"{repo}@main", "one file") as writer:
        writer.put(path, b"one more")


def listings(lake: Lake, files: int, repeats: int) -> Iterator[Result]:
    folder = f"f{files // PER_FOLDER // 2:04}"
    costs = in_turns(
        {
            "big": lambda number: call(lambda: list(lake.ls(f"big@main:/year=2026/{folder}"))),
            "small": lambda number: call(lambda: list(lake.ls("small@main:/year=2026/f0000"))),
        },
        repeats,
        sync=False,
    )
    big, small = typical(costs["big"]), typical(costs["small"])
    peer = "the same, 1,000 files"
    yield times_as_long(CLAIM, f"ls of 1,000 files, {files:,} files", big, peer, small, 1.5)


def diffs(path: Path, lake: Lake, files: int, repeats: int) -> Iterator[Result]:
    middle = files // 2
    lake.create_branch("big@near", "big@main")
    write(lake, "big@near", [line(middle + number, "1") for number in range(CHANGES)])
    lake.create_branch("big@far", "big@main")
    scattered = files // 10_000
    write(lake, "big@far", [line(n, "1") for n in range(0, files, files // scattered)])

    def compare(branch: str, changes: int) -> Callable[[Lake], None]:
        def work(fresh: Lake) -> None:
            found = sum(1 for _ in fresh.diff("big@main", f"big@{branch}").changes)
            assert found == changes, found

        return work

    def read(fresh: Lake) -> None:
        tree = fresh._core.tree(fresh.commit_info("big@main"))
        assert sum(map(len, tree.chunks())) >= files

    with trunkline.open(path) as fresh:

        def cold(work: Callable[[Lake], None]) -> Cost:
            fresh._core.manifests = ManifestStore(fresh._core.objects)
            return call(lambda: work(fresh))

        costs = in_turns(
            {
                "near": lambda number: cold(compare("near", CHANGES)),
                "far": lambda number: cold(compare("far", scattered)),
                "read": lambda number: cold(read),
            },
            repeats,
            sync=False,
        )
    near, far, whole = (typical(costs[name]) for name in ("near", "far", "read"))
    peer = f"reading the manifest of {files:,} files"
    yield times_as_long(CLAIM, f"diff, {CHANGES} changes in a folder", near, peer, whole, 0.1)
    yield times_as_long(CLAIM, f"diff, {scattered} changes, scattered", far, peer, whole, 1)
