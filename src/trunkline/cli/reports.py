"""How what the lake reports about itself looks as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from trunkline.cli.output import Style
from trunkline.cli.text import count, fields, human_size, printable, sides
from trunkline.cli.views import change_line, short, stat_line
from trunkline.model.shape import as_json

if TYPE_CHECKING:
    from trunkline.lake.erase import ErasureReport
    from trunkline.lake.fsck import FsckReport
    from trunkline.lake.gc import GcReport
    from trunkline.lake.merge import MergeReport
    from trunkline.model.files import Change
    from trunkline.sdk.results import Status


def merged(report: MergeReport) -> str:
    if not report.changes and not report.conflicts:
        return f"{report.target} has everything of {report.source} already."
    return f"Merged {report.source} into {report.target}: {changes_in_words(report.changes)}."


def merge_plan(report: MergeReport, style: Style) -> Iterator[str]:
    """What a merge would do: its changes, then the paths that both sides changed."""
    line = change_line(style)
    for change in report.changes:
        yield from line(change)
    for conflict in report.conflicts:
        outcome = f"{conflict.chosen} wins" if conflict.chosen else "conflict"
        yield (
            style("bad", f"! {printable(conflict.path)}")
            + f"  {outcome} ({sides(as_json(conflict))})"
        )
    changes = changes_in_words(report.changes) if report.changes else "nothing"
    yield f"Would change {changes}; {count(len(report.unresolved), 'conflict')}."


def changes_in_words(changes: Sequence[Change]) -> str:
    kinds = [str(change.change) for change in changes]
    return stat_line(*(kinds.count(kind) for kind in ("added", "removed", "modified")))


def gc_lines(report: GcReport) -> Iterator[str]:
    would = "Would delete" if report.dry_run else "Deleted"
    objects = f"{count(report.objects, 'object')} ({human_size(report.bytes)})"
    yield f"{would} {count(report.commits, 'commit')} and {objects}."
    yield f"Kept {count(report.kept_objects, 'object')}."
    if report.deletions:
        said = "could" if report.dry_run else "can"
        yield f"{count(report.deletions, 'deletion')} {said} no longer be undone."
    if report.waiting_commits:
        yield f"{count(report.waiting_commits, 'commit')} will go when the grace period is over."


def fsck_lines(report: FsckReport) -> Iterator[str]:
    for problem in report.problems:
        yield f"{problem.kind}: {printable(problem.where)}: {printable(problem.message)}"
    how = "Read" if report.deep else "Checked"
    files, commits = count(report.files, "file"), count(report.commits, "commit")
    yield f"{how} {files} ({human_size(report.bytes)}) in {commits}: {_verdict(report)}."
    if report.unused_objects:
        yield f"{count(report.unused_objects, 'object')} unused; gc will remove them."
    if report.erased_files:
        yield f"{count(report.erased_files, 'file')} erased on purpose."
    if report.pending_erasures:
        yield f"{count(report.pending_erasures, 'erasure')} not finished; gc will finish them."
    if report.outside_files:
        yield f"{count(report.outside_files, 'file')} by reference: the bytes are not in the lake."


def _verdict(report: FsckReport) -> str:
    return "all is well" if report.ok else count(len(report.problems), "problem")


def erasure_lines(report: ErasureReport) -> Iterator[str]:
    versions = count(report.versions, "version")
    held = f"held by {count(len(report.commits), 'commit')}"
    yield f"Erased {versions} of {printable(report.path)} ({human_size(report.bytes)}), {held}."
    for branch in report.removed_from:
        yield f"Removed from {branch}."
    for place in report.also_at:
        yield f"{printable(place)} shared these bytes, and has lost them too."
    if report.logs:
        datums = count(report.logs, "datum")
        yield f"Logs of {datums} that read or wrote it are gone too."
    for edge in report.derived:
        yield f"Derived from it: {edge.repo}@{short(edge.id)}."


def status_lines(status: Status) -> Iterator[str]:
    pairs = [
        ("Lake", status.location),
        *([("Context", status.context)] if status.context else []),
        *([("Server", status.server)] if status.server else []),
        ("Catalog", status.catalog),
        ("Store", status.store),
        ("Project", f"{status.project} (of {status.projects})"),
        ("Repos", f"{status.repos:,}"),
        ("Commits", f"{status.commits:,}"),
        ("Size", f"{human_size(status.size)} in {count(status.files, 'file')}"),
    ]
    if status.pipelines:
        pairs.append(("Pipelines", f"{status.pipelines:,}, {_jobs(status)}"))
    if status.streams or status.ingests:
        pairs.append(("Flows", _flows(status)))
    yield from fields(pairs)
    if status.held:
        yield (
            f"Held: {status.held}. Its ingests, schedules, deliveries and notices wait; "
            "trunkline adopt lets them go on."
        )
    for name in status.flows_failed:
        yield f"Failed: {name}; trunkline pipeline inspect {name} says why."
    for name in status.flows_behind:
        yield f"Behind: {name}; trunkline stream status {name} says how far."
    for name in status.undelivered:
        yield f"Undelivered: {name}; trunkline egress list {name} --failed says why."
    for commit in status.open_commits:
        yield f"Open: {commit.repo}@{commit.branch} has the unfinished commit {short(commit.id)}."


def _flows(status: Status) -> str:
    numbers = ((status.streams, "stream"), (status.ingests, "ingest"))
    return ", ".join(count(number, noun) for number, noun in numbers if number)


def _jobs(status: Status) -> str:
    """How many jobs wait, run and failed, as far as there are any."""
    numbers = (
        (status.jobs_running, "running"),
        (status.jobs_waiting, "waiting"),
        (status.jobs_failed, "failed"),
    )
    said = ", ".join(f"{count(number, 'job')} {kind}" for number, kind in numbers if number)
    return said or "no job waits"
