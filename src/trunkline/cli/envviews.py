"""How environments look as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from trunkline.cli.output import Column, Style
from trunkline.cli.text import aligned, count, human_size, local_time, printable
from trunkline.cli.views import short
from trunkline.model.environments import CodeState, DataState

if TYPE_CHECKING:
    from trunkline.model.environments import (
        BranchState,
        EnvironmentDiff,
        EnvironmentReport,
        EnvironmentStatus,
        PipelineState,
        RepoDelta,
        TableDelta,
    )

MARKS = {"added": "+", "removed": "-", "changed": "~"}
_CODE = {
    CodeState.NEW: "new here",
    CodeState.CHANGED: "changed here",
    CodeState.DELETED: "deleted here",
    CodeState.BEHIND: "newer in main",
    CodeState.CONFLICT: "changed here and in main",
}


def columns(everywhere: bool) -> tuple[Column, ...]:
    own = (
        Column("NAME", lambda e: e.name),
        Column("FROM", lambda e: e.base),
        Column("CREATED", lambda e: local_time(e.created)),
        Column("BY", lambda e: e.author),
    )
    return (Column("PROJECT", lambda e: e.project), *own) if everywhere else own


def status_lines(found: EnvironmentStatus, style: Style) -> Iterator[str]:
    """What is not as in the base; a line if all is."""
    name, base = found.environment.name, found.environment.base
    code = [one for one in found.pipelines if one.state is not CodeState.SAME]
    data = [one for one in found.branches if one.state is not DataState.SAME]
    same = len(found.pipelines) - len(code)
    if not code and not data:
        yield f"{name} is as {base}: {count(same, 'pipeline')}, no difference."
    else:
        yield f"{name}: {count(same, 'pipeline')} as in {base}."
    if code:
        rows = [["PIPELINE", "VERSION", base.upper(), "", "LAST JOB"], *map(_pipeline, code)]
        yield ""
        yield from _table(rows, [False, True, True, False, False], style)
    if data:
        yield ""
        rows = [["BRANCH", "AHEAD", "BEHIND", ""], *map(_branch, data)]
        yield from _table(rows, [False, True, True, False], style)
    if found.unfinished:
        yield ""
        yield f"{count(found.unfinished, 'job')} not over."


def _pipeline(one: PipelineState) -> list[str]:
    numbers = [str(number) if number else "-" for number in (one.version, one.base_version)]
    return [str(one.name), *numbers, _CODE[one.state], one.last_state or "-"]


def _branch(one: BranchState) -> list[str]:
    what = "computed" if one.kind == "output" else ""
    return [f"{one.repo}@{one.branch}", str(one.ahead), str(one.behind), what]


def _table(rows: list[list[str]], right: list[bool], style: Style) -> Iterator[str]:
    head, *rest = aligned(rows, right)
    yield style("head", head.rstrip())
    yield from (line.rstrip() for line in rest)


def diff_lines(found: EnvironmentDiff, style: Style) -> Iterator[str]:
    """Code as a unified diff, then each repo: files, schemas, rows."""
    name, base = found.environment.name, found.environment.base
    if not found.code and not found.repos:
        yield f"{name} is as {base}: no difference."
        return
    yield f"{name} compared with {base}"
    for code in found.code:
        yield ""
        yield style("head", f"pipeline {code.name}: {_CODE[code.state]}")
        for line in code.text.splitlines():
            mark = line[:1] if line[:3] not in ("---", "+++") else ""
            yield style(mark, printable(line)) if mark in ("+", "-") else printable(line)
    for repo in found.repos:
        yield ""
        yield style("head", f"{repo.repo}@{repo.branch}: {_files(repo)}")
        shown = repo.paths if repo.kind != "output" or not repo.tables else ()
        for path in shown:
            yield style(path[0], f"  {printable(path)}")
        hidden = repo.added + repo.removed + repo.modified - len(repo.paths)
        if shown and hidden:
            both = f"{repo.repo}@{repo.base} {repo.repo}@{repo.branch}"
            yield f"  … {count(hidden, 'file')} more: trunkline diff {both}"
        for table in repo.tables:
            yield from _rows(table, style)


def _files(repo: RepoDelta) -> str:
    parts = [
        f"{number:,} {word}"
        for number, word in (
            (repo.added, "added"),
            (repo.removed, "removed"),
            (repo.modified, "changed"),
        )
        if number
    ]
    grown = f"{'+' if repo.bytes >= 0 else '-'}{human_size(abs(repo.bytes))}"
    newer = "; main has newer commits" if repo.state is not DataState.AHEAD else ""
    return f"files: {', '.join(parts) or 'none'} ({grown}){newer}"


def _rows(table: TableDelta, style: Style) -> Iterator[str]:
    if table.error:
        yield f"  table {printable(table.path)}: {printable(table.error)}"
        return
    text = f"{table.added:,} added, {table.removed:,} removed"
    if table.key:
        text += f", {table.changed:,} changed"
    if table.rows is not None:
        text += f" (of {count(table.rows, 'row')})"
    yield f"  table {printable(table.path)}: rows: {text}"
    for column in table.columns:
        yield style(column[0], printable(f"    {column[0]} column {column[2:]}"))
    for sample in table.samples:
        mark = MARKS[sample["change"]]
        yield style(mark, printable(f"    {mark} {_row(sample)}"))


def _row(sample: Mapping[str, Any]) -> str:
    old, new = sample["old"], sample["new"]
    if old is None or new is None:
        return ", ".join(f"{name}={value}" for name, value in (new or old or {}).items())
    return ", ".join(
        f"{name}={old[name]} → {new[name]}" if name in sample["columns"] else f"{name}={value}"
        for name, value in new.items()
    )


def report_lines(done: EnvironmentReport, style: Style, who_runs: str) -> Iterator[str]:
    """What a merge or a sync did, or would do."""
    name, base = done.environment.name, done.environment.base
    verb = {"merge": f"merge {name} into {base}", "sync": f"sync {name} with {base}"}[done.action]
    if not done.steps and not done.conflicts:
        yield f"Nothing to {verb}."
        return
    for step in done.steps:
        detail = f": {step.detail}" if step.detail else ""
        yield printable(f"{step.action} {step.what} {step.name}{detail}")
    for conflict in done.conflicts:
        yield style("bad", f"conflict: {printable(conflict)}")
    if done.dry_run:
        yield f"Would {verb}. Nothing was done."
        return
    told = "Merged" if done.action == "merge" else "Synced"
    into = "into" if done.action == "merge" else "with"
    waiting = f"{count(done.started, 'job')} waiting" if done.started else "nothing computed"
    reused = f"{count(done.published, 'output')} taken over, {waiting}"
    yield f"{told} {name} {into} {base} as {short(done.set_id)}: {reused}."
    if done.started:
        yield who_runs
