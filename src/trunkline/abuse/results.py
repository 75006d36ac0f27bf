"""The end of pipelines: what waits is run, and their results are what their inputs must give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.abuse import flows
from trunkline.abuse.closing import Expected, Findings, blaming, expected
from trunkline.abuse.memory import data_of, remembered
from trunkline.errors import NotFound
from trunkline.model.jobs import JobState

if TYPE_CHECKING:
    from trunkline.sdk import Lake

PIPELINES = (*flows.CHANGING, "seen")
_TIMES = 3


def finish(lake: Lake) -> Findings:
    """Run what still waits, and once more what failed while things were taken from it."""
    found, mine = Findings(), lake.bound(project=flows.PROJECT)
    for _ in range(_TIMES):
        with suppress(NotFound):  # at once, whatever clock told when
            mine.retry_deliveries("loud")
        mine.run()
        failed = [one for name in PIPELINES for one in _newest(mine, name) if _has_failed(one)]
        if not failed:
            return found
        for one in failed:
            mine.rerun_job(f"{one.pipeline}@{one.id}")
    found.wrong += [f"job {one.pipeline}@{one.id} fails: {one.reason}" for one in failed]
    return found


def _newest(lake: Lake, name: str) -> list[Any]:
    return [one for one in lake.jobs(name) if one.branch == "main"][:1]


def _has_failed(job: Any) -> bool:
    return job.state.is_over and job.state is not JobState.SUCCESS


def compare(lake: Lake, memory: Path) -> Findings:
    """Results against what was acknowledged, and against a run from scratch."""
    found, known = Findings(), expected(remembered(memory))
    _compare_files(lake, known, found)
    _compare_delivered(lake, memory.parent / flows.DELIVERED, found)
    for table in (flows.SALES, flows.DROPS):
        with blaming(found.lost, table):
            rows = lake.table(table).arrow(["id"])["id"].to_pylist() if known.rows[table] else []
            _compare_rows(table, rows, _ids(known, table), found)
    with blaming(found.wrong, "totals"):
        _compare_totals(lake, known, found)
    if known.rows[flows.DROPS]:
        with blaming(found.wrong, "seen"):
            _compare_seen(lake, known, found)
    report = lake.verify()
    found.wrong += [
        f"{one.pipeline}@{one.commit} is not what a run from scratch gives: {one.reason}"
        for one in report.results
        if str(one.verdict) in ("different", "failed")
    ]
    return found


def _compare_files(lake: Lake, known: Expected, found: Findings) -> None:
    """Each word is there, as the newest code says it."""
    head = f"v{known.versions['loud']}\n".encode()
    ref = f"{flows.PROJECT}/loud@main"
    with blaming(found.lost, ref):
        there = {info.path for info in lake.ls(ref, recursive=True)}
        wanted = known.shared[flows.WORDS]
        found.lost += [f"{ref}:{path}" for path in wanted.keys() - there]
        found.wrong += [f"{ref}:{path} was made of nothing" for path in there - wanted.keys()]
        found.wrong += [
            f"{ref}:{path} is not of the newest code and input"
            for path in there & wanted.keys()
            if lake.read(f"{ref}:{path}") != head + data_of(wanted[path])
        ]


def _compare_delivered(lake: Lake, folder: Path, found: Findings) -> None:
    """The folder outside is what the output is."""
    ref = f"{flows.PROJECT}/loud@main"
    with blaming(found.wrong, "what was delivered"):
        there = {f"/{one.relative_to(folder)}": one for one in folder.rglob("*") if one.is_file()}
        there = {path: one for path, one in there.items() if not one.name.startswith(".")}
        wanted = {info.path for info in lake.ls(ref, recursive=True)}
        found.lost += [f"{ref}:{path} was not delivered" for path in wanted - there.keys()]
        found.wrong += [f"{there[path]} is not of {ref}" for path in there.keys() - wanted]
        found.wrong += [
            f"{there[path]} is another file than in {ref}"
            for path in there.keys() & wanted
            if there[path].read_bytes() != lake.read(f"{ref}:{path}")
        ]


def _ids(known: Expected, table: str) -> set[str]:
    counts = known.rows[table].items()
    return {row["id"] for (who, act), count in counts for row in flows.rows_of(who, act, count)}


def _compare_rows(table: str, there: Iterable[str], wanted: set[str], found: Findings) -> None:
    counted = Counter(there)
    if table == flows.SALES:
        wanted = wanted | {row["id"] for row in flows.rows_of(*flows.FIRST)}
    found.lost += [f"row {one} of {table}" for one in sorted(wanted - counted.keys())]
    found.wrong += [f"row {one} of {table} is gone, and there" for one in counted.keys() - wanted]
    found.wrong += [f"row {one} of {table} is there {n} times" for one, n in counted.items()
                    if n > 1]  # fmt: skip


def _compare_totals(lake: Lake, known: Expected, found: Findings) -> None:
    rows = [row for (who, act), count in known.rows[flows.SALES].items()
            for row in flows.rows_of(who, act, count)]  # fmt: skip
    rows += flows.rows_of(*flows.FIRST)
    counts, amounts = Counter[int](), Counter[int]()
    for row in rows:
        counts[row["who"]] += 1
        amounts[row["who"]] += row["amount"]
    wanted = {who: (counts[who], amounts[who], known.versions["totals"]) for who in counts}
    there = {
        row["who"]: (row["rows"], row["amount"], row["version"])
        for row in lake.table(f"{flows.PROJECT}/totals@main").arrow().to_pylist()
    }
    found.wrong += _differences("totals", there, wanted)


def _compare_seen(lake: Lake, known: Expected, found: Findings) -> None:
    wanted = Counter[int]()
    for (who, _), count in known.rows[flows.DROPS].items():
        wanted[who] += count
    rows = lake.table(f"{flows.PROJECT}/seen@main").arrow().to_pylist()
    found.wrong += _differences("seen", {row["who"]: row["rows"] for row in rows}, dict(wanted))


def _differences(name: str, there: dict[int, Any], wanted: dict[int, Any]) -> list[str]:
    return [
        f"{name}: client {who} has {there.get(who)}, and should have {wanted.get(who)}"
        for who in sorted(there.keys() | wanted.keys())
        if there.get(who) != wanted.get(who)
    ]
