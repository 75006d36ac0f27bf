"""Projects of Spark Declarative Pipelines as pipelines of the lake.

Files of SQL alone tell what they read. Python has to be run for it, on tables without rows: this
is the one case where applying starts Spark.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trunkline.errors import InvalidSpec, NotFound, Precondition, TrunklineError
from trunkline.lake.core import Core
from trunkline.lake.versions import Declared
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.inputs import Cron, Cross, Input, Pfs
from trunkline.model.paths import validate_name
from trunkline.model.pipelines import Mode, PipelineSpec, Transform
from trunkline.model.suggest import did_you_mean
from trunkline.model.tables import Schema
from trunkline.pipelines.declarative import Output, Project, Read, input_name, read_project
from trunkline.sdk.base import LakeBase
from trunkline.settings import Settings

if TYPE_CHECKING:
    from trunkline.lake.pipelines import Applied
    from trunkline.pipelines.declarative_plan import Planned
    from trunkline.pipelines.declarative_sql import Flow
    from trunkline.sdk.lake import Lake

START = "start"
"""The input of a pipeline that reads no table: one tick when it is made, others by hand."""


@dataclass(frozen=True, slots=True)
class Lakeside:
    """What reading a project needs of the lake, be it here or behind a server."""

    lake: LakeBase
    settings: Settings
    project: str


def read(path: Path, lake: Lakeside) -> tuple[list[Declared], list[str]]:
    """The pipelines of the project in a file, and the options of it that mean nothing here."""
    from trunkline.pipelines.declarative_plan import plan

    root = path.absolute().parent
    project = read_project(path.read_text(encoding="utf-8"), path.name)
    outputs, flows = _defined(root, project, lake)
    found = [_declared(one, root, path.name, project, lake) for one in plan(outputs, flows)]
    if not found:
        raise InvalidSpec(f"{path.name}: no table is defined in the project.")
    unused = dict.fromkeys(name for output in outputs for name in output.unused)
    return found, list(unused)


def _defined(root: Path, project: Project, lake: Lakeside) -> tuple[list[Output], list[Flow]]:
    from trunkline.engine.options import SparkOptions
    from trunkline.engine.session import start
    from trunkline.pipelines.declarative import definition_files
    from trunkline.pipelines.declarative_sql import read_file

    files = definition_files(root, project)
    if all(one.suffix == ".sql" for one in files):
        found = [
            read_file(one.read_text(encoding="utf-8"), one.relative_to(root).as_posix(), project)
            for one in files
        ]
        return [o for one in found for o in one.outputs], [f for one in found for f in one.flows]
    with start(SparkOptions.of(lake.settings)) as session:
        if session.is_connect:
            raise Precondition(
                "A project with Python files cannot be read through Spark Connect.",
                hint="Unset spark.remote, apply it, and set it again.",
            )
        from trunkline.engine.declarative import examine
        from trunkline.engine.sessions import new_session

        return examine(root, project, new_session(session), _Columns(lake))


def started(
    core: Core, declared: Sequence[Declared], applied: Sequence[Applied], author: str
) -> list[Applied]:
    """What was applied; new pipelines that read no table have got the tick they wait for."""
    from trunkline.schedule.ticks import tick

    alone = {
        one.spec.name
        for one in declared
        if isinstance(one.spec.input, Cron) and one.spec.input == start_of(one.spec.name)
    }
    done = []
    for one in applied:
        if one.name in alone and one.action == "created":
            (commit,) = tick(core, one.name, START, author)
            one = replace(one, job=commit.id)
        done.append(one)
    return done


class _Columns:
    """The columns of a table of the lake, by the name that a flow has for it."""

    def __init__(self, lake: Lakeside) -> None:
        self._lake = lake

    def __call__(self, name: str, where: str) -> Schema:
        lake: Lake = self._lake.lake  # type: ignore[assignment]
        repo = repo_of(name, self._lake.project)
        try:
            lake.repo(f"{repo.project}/{repo.repo}")
        except NotFound:
            raise NotFound(
                f"{where}: there is neither a table {name} in the project nor such a repo."
                f"{did_you_mean(repo.repo, _known(lake, repo.project))}",
                hint=f"Make it first: trunkline repo create {repo}",
            ) from None
        try:
            return lake.describe_table(f"{repo.project}/{repo.repo}@{DEFAULT_BRANCH}").columns
        except TrunklineError as error:
            raise Precondition(
                f"{where}: the columns of {name} are not known: {error.message}",
                hint=f"Put data into it first, or say what will be there: trunkline table set "
                f"{repo}@{DEFAULT_BRANCH}",
            ) from None


def _known(lake: Lake, project: str) -> list[str]:
    try:
        return [one.name.repo for one in lake.bound(project=project).repos()]
    except NotFound:
        return []


def repo_of(name: str, project: str) -> RepoName:
    """`orders` of this project, or `shop.orders`: databases are projects."""
    database, _, table = name.rpartition(".")
    return RepoName(database or project, table)


def _declared(
    planned: Planned, root: Path, file: str, project: Project, lake: Lakeside
) -> Declared:
    output = planned.output
    name = repo_of(output.name, lake.project)
    try:
        validate_name("pipeline", name.repo)
    except TrunklineError as error:
        raise InvalidSpec(f"{output.where}: {error.message}", hint=error.hint) from None
    conf = {**dict(project.configuration), **dict(planned.conf)}
    spec = PipelineSpec(
        name=name,
        input=_input(planned, name, lake.project),
        transform=Transform(
            sql=planned.sql,
            spark="" if planned.sql else f"{output.file}:{output.name}",
            mode=Mode.APPEND if planned.append else Mode.WHOLE,
            partition_by=output.partition_by,
            code="" if planned.sql else ".",
        ),
        description=output.comment,
        spark=tuple(sorted((k, v) for k, v in conf.items() if k.startswith("spark."))),
    )
    code: dict[str, Path] = {}
    if not planned.sql:
        files = [file, *planned.files, *_imported(root, planned.files)]
        code = {f"/{one}": root / one for one in files}
    where = f"{file}: {output.where}"
    return Declared(spec, where, tuple(sorted(code.items())))


def _input(planned: Planned, name: RepoName, project: str) -> Input:
    """The tables that are read, each whole. In an append those that are no stream start nothing."""
    if not planned.reads:
        return start_of(name)
    members = tuple(_leaf(one, planned.append, project) for one in planned.reads)
    return members[0] if len(members) == 1 else Cross(members)


def start_of(name: RepoName) -> Cron:
    """The input of a pipeline that reads no table."""
    ticks = RepoName(name.project, f"{name.repo}_{START}")
    return Cron(START, ticks, "@never", overwrite=True)


def _leaf(read: Read, append: bool, project: str) -> Pfs:
    static = append and not read.stream
    return Pfs(
        input_name(read.name),
        repo_of(read.name, project),
        "/",
        reference=static,
        propagation=not static,
    )


def _imported(root: Path, files: tuple[str, ...]) -> Iterator[str]:
    """Python files of the project's folder that the files import, directly or not."""
    todo = [root / one for one in files if one.endswith(".py")]
    known = set(todo)
    while todo:
        path = todo.pop()
        for name in _imports(path):
            for place in _places(root, path.parent, name):
                if place not in known and place.is_file():
                    known.add(place)
                    todo.append(place)
                    yield place.relative_to(root).as_posix()


def _imports(path: Path) -> Iterator[str]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names)
            case ast.ImportFrom(module=module, names=names):
                yield module or ""
                yield from (f"{module}.{one.name}" for one in names if module)


def _places(root: Path, folder: Path, name: str) -> Iterator[Path]:
    """Where a module may be: each package on the way, too."""
    parts = [part for part in name.split(".") if part]
    for base in dict.fromkeys((root, folder)):
        for end in range(1, len(parts) + 1):
            place = base.joinpath(*parts[:end])
            yield place.with_suffix(".py")
            yield place / "__init__.py"
