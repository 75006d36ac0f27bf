"""What an environment differs in, as somebody would want to read it before it is merged."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

from trunkline.errors import TrunklineError
from trunkline.lake.core import repo_key
from trunkline.model.commits import RepoName
from trunkline.model.environments import (
    BranchState,
    CodeDiff,
    CodeState,
    DataState,
    EnvironmentDiff,
    PipelineState,
    RepoDelta,
    TableDelta,
)
from trunkline.model.files import ChangeKind
from trunkline.model.refs import Ref
from trunkline.storage.catalog import pipelines

if TYPE_CHECKING:
    from trunkline.sdk.lake import Lake

SIGNS = {ChangeKind.ADDED: "+", ChangeKind.REMOVED: "-", ChangeKind.MODIFIED: "~"}
MOST_PATHS = 10
LONGEST_TEXT = 1 << 20
SPEC = "pipeline.yaml"


def diff(lake: Lake, name: str, rows: int = 0) -> EnvironmentDiff:
    found = lake.environment_status(name)
    code = [_code(lake, one) for one in found.pipelines if one.state is not CodeState.SAME]
    repos = [_repo(lake, one, rows) for one in found.branches if one.state is not DataState.SAME]
    return EnvironmentDiff(found.environment, tuple(code), tuple(repos))


def _code(lake: Lake, one: PipelineState) -> CodeDiff:
    old, new = (_files(lake, one.name, number) for number in (one.base_version, one.version))
    text = "".join(
        line
        for path in sorted({*old, *new})
        for line in _changed(path, old.get(path), new.get(path))
    )
    return CodeDiff(one.name, one.state, one.version, one.base_version, text)


def _files(lake: Lake, name: RepoName, number: int) -> dict[str, bytes]:
    """The spec and the files of a version; none for version 0."""
    from trunkline.sdk.spectext import text_of

    if not number:
        return {}
    with lake._core.database.read() as session:
        version = pipelines.version(session, repo_key(session, name), number)
    if version is None:
        return {}
    found = text_of(lake._core, name, version)
    files = {one.path.lstrip("/"): base64.b64decode(one.data) for one in found.files}
    return {SPEC: found.text.encode(), **files}


def _changed(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    if old == new:
        return
    before, after = ("/dev/null" if side is None else path for side in (old, new))
    try:
        texts = [(side or b"").decode() for side in (old, new)]
    except UnicodeDecodeError:
        yield f"--- {before}\n+++ {after}\nFiles differ.\n"
        return
    if max(map(len, texts)) > LONGEST_TEXT:
        yield f"--- {before}\n+++ {after}\nFiles differ.\n"
        return
    left, right = (text.splitlines(keepends=True) for text in texts)
    for line in unified_diff(left, right, before, after):
        yield line if line.endswith("\n") else f"{line}\n"


def _repo(lake: Lake, one: BranchState, rows: int) -> RepoDelta:
    place = f"{one.repo.project}/{one.repo.repo}"
    counts = dict.fromkeys(ChangeKind, 0)
    paths: list[str] = []
    grown = 0
    for change in lake.diff(f"{place}@{one.base}", f"{place}@{one.branch}").changes:
        counts[change.change] += 1
        grown += (change.new_size or 0) - (change.old_size or 0)
        if len(paths) < MOST_PATHS:
            paths.append(f"{SIGNS[change.change]} {change.path}")
    return RepoDelta(
        one.repo,
        one.branch,
        one.base,
        one.state,
        one.kind,
        counts[ChangeKind.ADDED],
        counts[ChangeKind.REMOVED],
        counts[ChangeKind.MODIFIED],
        grown,
        tuple(paths),
        tuple(_tables(lake, one, place, rows)),
    )


def _tables(lake: Lake, one: BranchState, place: str, rows: int) -> Iterator[TableDelta]:
    """The tables that differ. One whose rows cannot be read is told with the reason."""
    from trunkline.lake.files import folder_hash
    from trunkline.tables.describe import tables_in

    old, new = (lake._core.tree_of(Ref(one.repo, name)) for name in (one.base, one.branch))
    for path in sorted({*tables_in(old), *tables_in(new)}):
        inside = (path.rstrip("/") + "/").encode()
        if folder_hash(old, inside) == folder_hash(new, inside):
            continue
        try:
            found = lake.table_diff(f"{place}@{one.base}:{path}", f"{place}@{one.branch}:{path}")
        except TrunklineError as error:
            yield TableDelta(path, error=error.message)
            continue
        facts: Any = found.to_dict(rows)
        yield TableDelta(
            path,
            tuple(map(str, found.schema)),
            found.key,
            found.added,
            found.removed,
            found.changed,
            found.rows,
            tuple(facts["samples"]),
        )
