"""What may be going on when the process dies: a lake made ready, and one request to it.

A request can be repeated: what it did the first time, it does not do again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import trunkline as tl
from tests import flows
from tests.reliability import next_format
from trunkline.schedule.ticker import Ticker

KEY = "request-1"
LARGE = 3 << 20
SECRET = b"nobody may read this"


def _nothing(lake: tl.Lake) -> None:
    return


@dataclass(frozen=True)
class Scenario:
    """`act` is the request; `reaches` are the crash points on its way, `name:n` the n-th time."""

    act: Callable[[tl.Lake], object]
    reaches: tuple[str, ...]
    prepare: Callable[[tl.Lake], object] = _nothing


def prepare(name: str, lake: tl.Lake) -> None:
    """Two repos with some history, and what the scenario needs besides."""
    for repo in ("r", "s"):
        lake.create_repo(repo)
        _commit(lake, f"{repo}@main", {"/a": b"one", "/d/b": b"two"})
    SCENARIOS[name].prepare(lake)


def _commit(lake: tl.Lake, ref: str, files: dict[str, bytes]) -> None:
    with lake.commit(ref, f"{', '.join(files)}") as commit:
        for path, data in files.items():
            commit.put(path, data)


def _source(lake: tl.Lake, name: str, size: int) -> Path:
    path = Path(lake.location) / name
    if not path.exists():
        path.write_bytes(random.Random(name).randbytes(size))
    return path


# -- putting ---------------------------------------------------------------------------------


def _put_small(lake: tl.Lake) -> None:
    sources = [_source(lake, f"small-{n}", 100 * n) for n in range(3)]
    lake.put("r@main:/new/", sources, message="small files", key=KEY)


def _put_large(lake: tl.Lake) -> None:
    sources = [_source(lake, f"large-{n}.csv.gz", LARGE) for n in range(2)]
    lake.put("r@main:/new/", [*sources, _source(lake, "small", 9)], message="large", key=KEY)


def _put_stream(lake: tl.Lake) -> None:
    def chunks() -> Iterator[bytes]:
        for number in range(40):
            yield bytes([number]) * 100_000

    with lake.commit("r@main", "a stream", key=KEY) as commit:
        commit.put("/stream", chunks())
        commit.put("/small", b"beside it")


def _append(lake: tl.Lake) -> None:
    with lake.commit("r@main", "append", key=KEY) as commit:
        commit.put("/a", b"more", append=True)


def _remove(lake: tl.Lake) -> None:
    with lake.commit("r@main", "remove", key=KEY) as commit:
        commit.delete("/d")


def _first_commit(lake: tl.Lake) -> None:
    with lake.commit("empty@main", "first", key=KEY) as commit:
        commit.put("/a", b"first")


def _several_repos(lake: tl.Lake) -> None:
    with lake.transaction("several repos") as transaction:
        for repo in ("r", "s"):
            writer = transaction.commit(f"{repo}@main", key=KEY)
            writer.put("/same", f"of {repo}".encode())


def _new_repo(lake: tl.Lake) -> None:
    if "default/made" in [f"{repo.name.project}/{repo.name.repo}" for repo in lake.repos()]:
        return
    with lake.transaction("a repo and its first commit") as transaction:
        transaction.create_repo("made")
        transaction.commit("made@main").put("/a", b"first")
        transaction.commit("r@main").put("/a", b"together with made")


# -- joining, open commits, housekeeping -----------------------------------------------------


def _two_sides(lake: tl.Lake) -> None:
    lake.create_branch("r@side", "main")
    _commit(lake, "r@side", {"/theirs": b"theirs"})
    _commit(lake, "r@main", {"/ours": b"ours"})


def _merge(lake: tl.Lake) -> None:
    lake.merge("r@side", "r@main", message="merge")


def _revert(lake: tl.Lake) -> None:
    if lake.commit_info("r@main").message != "revert":
        lake.revert("r@main", message="revert")


def _open(lake: tl.Lake) -> None:
    lake.start_commit("r@main", "in two calls")
    with lake.commit("r@main") as commit:
        commit.put("/staged", b"first call")
        commit.put("/a", b"!", append=True)


def _write_to_open(lake: tl.Lake) -> None:
    with lake.commit("r@main") as commit:
        commit.put("/second", b"second call")


def _finish(lake: tl.Lake) -> None:
    if any(branch.open for branch in lake.branches("r")):
        lake.finish_commit("r@main")


def _rubbish(lake: tl.Lake) -> None:
    """Commits that no branch leads to, a deleted repo, and objects that no commit names."""
    lake.create_branch("r@gone", "main")
    for number in range(3):
        _commit(lake, "r@gone", {f"/{number}": os.urandom(2000)})
    lake.delete_branch("r@gone")
    lake.create_repo("gone")
    _commit(lake, "gone@main", {"/gone": os.urandom(2000)})
    lake.delete_repo("gone")
    for number in range(5):
        lake._core.objects.put(f"packs/20260101/{number:032x}-0.pack", b"nobody's")


def _gc(lake: tl.Lake) -> None:
    lake.gc(grace=0)


def _put_secrets(lake: tl.Lake) -> None:
    """Bytes to erase, in a pack and in an object of their own, each with a neighbour to keep."""
    files = {"/kept": b"kept", "/secret/small": SECRET, "/secret/large": SECRET * 60_000}
    with lake.commit("r@main", "secrets", key=KEY) as commit:
        for path, data in files.items():
            commit.put(path, data)


def _secrets(lake: tl.Lake) -> None:
    """And a table, of which manifests know the bounds."""
    _put_secrets(lake)
    lake.write_table("r@main:/secret/table", [{"said": SECRET.decode()}])


def _erase(lake: tl.Lake) -> None:
    lake.erase("r@main:/secret", "asked to")


# -- pipelines, none of which runs here --------------------------------------------------------


def _spec(name: str, source: str) -> dict[str, object]:
    return {
        "pipeline": {"name": name},
        "input": {"pfs": {"repo": source, "glob": "/*"}},
        "transform": {"cmd": ["true"]},
    }


def _apply(lake: tl.Lake) -> None:
    """One that stays as it is, one that gets another version, and a new one."""
    second = {**_spec("second", "first"), "datum_tries": 7, "transform": {"cmd": ["false"]}}
    lake.apply(_spec("first", "r"), second, _spec("third", "second"))


def _graph(lake: tl.Lake) -> None:
    lake.apply(_spec("first", "r"), _spec("second", "first"))


def _cron(lake: tl.Lake) -> None:
    """One slot is due, and no other comes as long as anybody watches."""
    ticks = {"name": "tick", "spec": "@every 10000d", "start": "2026-01-01T00:00:00Z"}
    lake.apply({**_spec("first", "r"), "input": {"cron": ticks}})


def _fire(lake: tl.Lake) -> None:
    Ticker(lake._core).fire_due()


def _stream(lake: tl.Lake) -> None:
    """A stream that has made three commits, and what reads it."""
    lake.apply(flows.stream_of("r"), flows.READER)
    for number in range(3):
        flows.batch(lake, "sessions", {"r": f"c{number}"})


def _rewind(lake: tl.Lake) -> None:
    if lake.stream("sessions").batch == 3:
        lake.rewind_stream("sessions", "main~2")


def _migrate(lake: tl.Lake) -> None:
    next_format.install(setattr)
    tl.migrate(lake.location)


_PUT = (
    "put.before_bytes",
    "put.during_bytes",
    "put.after_bytes",
    "commit.after_manifests",
    "commit.before_transaction",
    "commit.in_transaction",
    "commit.after_transaction",
)
_COMMIT = _PUT[3:]
_AROUND = ("commit.in_transaction", "commit.after_transaction")

# On the way of jobs, which need Spark: see test_job_crashes. `name:n` is in the n-th job.
JOB_POINTS = (
    "job.claimed",
    "job.claimed:2",
    "job.spark_started",
    "job.half_done",
    "job.all_done",
    "job.before_commit:3",
    "job.in_commit:2",
    "job.committed",
    "job.committed:2",
)

# On the way of jobs on tables: see test_table_jobs.
TABLE_JOB_POINTS = (
    "job.claimed",
    "job.spark_started",
    "job.tables_written",
    "job.tables_written:2",
    "job.all_done",
    "job.all_done:2",
    "job.before_commit:2",
    "job.in_commit",
    "job.committed:2",
)

# On the way of a stream's jobs: see test_stream_crashes. Three streams run at once.
STREAM_POINTS = (
    "job.claimed:3",
    "stream.forked",
    "stream.offsets_logged:2",
    "stream.data_written",
    "stream.batch_done:2",
    "stream.before_commit",
    "job.in_commit",
    "stream.committed:2",
)

# On the way of an ingest's batch: see test_folder of the ingests.
RESTORE_POINTS = ("restore.objects_written", "restore.catalog_written")
IDENTITY_POINTS = ("identity.marked",)  # see tests/lake/test_identity.py
EGRESS_POINTS = ("egress.claimed", "egress.sending", "egress.sent", "egress.recorded")
INGEST_POINTS = ("ingest.gathered", "ingest.written", "ingest.committed", "ingest.source_told")

SCENARIOS: dict[str, Scenario] = {
    "put small files": Scenario(_put_small, _PUT),
    "put large files": Scenario(
        _put_large,
        (*_PUT[:3], "put.before_bytes:2", "put.during_bytes:3", "put.after_bytes:3", _PUT[-1]),
    ),
    "put a stream": Scenario(_put_stream, ("put.during_bytes:20", "put.after_bytes:2")),
    "append": Scenario(_append, ("put.after_bytes", "put.after_bytes:2", *_AROUND)),
    "remove a folder": Scenario(_remove, _AROUND),
    "first commit": Scenario(_first_commit, _AROUND, lambda lake: lake.create_repo("empty")),
    "several repos": Scenario(_several_repos, ("put.after_bytes", *_COMMIT)),
    "a new repo": Scenario(_new_repo, _AROUND),
    "merge": Scenario(_merge, ("merge.before_transaction", *_AROUND), _two_sides),
    "revert": Scenario(_revert, _AROUND),
    "write to an open commit": Scenario(
        _write_to_open, ("put.after_bytes", "commit.after_manifests", *_AROUND), _open
    ),
    "finish": Scenario(_finish, ("finish.after_staging", "put.during_bytes"), _open),
    "gc": Scenario(_gc, ("gc.after_commits", "gc.half_deleted", "gc.after_deletes"), _rubbish),
    "apply pipelines": Scenario(
        _apply, ("put.after_bytes", *_COMMIT, "propagate.in_transaction"), _graph
    ),
    "put what pipelines read": Scenario(_append, ("propagate.in_transaction", *_AROUND), _graph),
    "fire a schedule": Scenario(
        _fire,
        ("schedule.slot_computed", "schedule.slot_inserted", "propagate.in_transaction", *_AROUND),
        _cron,
    ),
    "rewind a stream": Scenario(_rewind, ("stream.rewinding", "propagate.in_transaction"), _stream),
    "put secrets": Scenario(_put_secrets, (*_PUT[1:-1], *(f"{point}:2" for point in _PUT[1:3]))),
    "erase": Scenario(
        _erase,
        ("erase.after_record", "erase.copies_gone", "erase.half_done", "erase.trees_written"),
        _secrets,
    ),
    "migrate": Scenario(_migrate, ("migrate.before", "migrate.after")),
}
