"""Bodies of requests: pipelines: applied, planned, listed, steered; schedules, backfills, pools."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from trunkline.errors import InvalidPath, InvalidSpec, TooLarge
from trunkline.lake.versions import SPEC_FILE, Declared
from trunkline.model.commits import DEFAULT_PROJECT, RepoName
from trunkline.model.jobs import DatumInfo
from trunkline.model.paths import normalize_path
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.pipelines.spec.codec import to_json

MOST_CODE = 64 << 20
"""Bytes of code that may travel with the pipelines of one request."""


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file that travels with a pipeline; `data` is its bytes in base64."""

    path: str
    data: str


@dataclass(frozen=True, slots=True)
class DeclaredPipeline:
    """A pipeline as its author's computer read it: the spec in the form that is kept, and code.

    `where` is the place in the author's files, for messages. `source` stands for the file
    `source_path`: the part of it that can affect the results.
    """

    spec: dict[str, Any]
    where: str = ""
    code: tuple[CodeFile, ...] = ()
    source: str = ""
    source_path: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentName:
    project: str
    name: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """Pipelines to be applied or planned together. `ignored` is only handed back."""

    pipelines: tuple[DeclaredPipeline, ...]
    ignored: tuple[str, ...] = ()
    reprocess: bool = False
    no_reprocess: bool = False
    environment: EnvironmentName | None = None


@dataclass(frozen=True, slots=True)
class Restore:
    version: int


@dataclass(frozen=True, slots=True)
class Started:
    """The set of the job that was started, if one was."""

    job: str | None = None


@dataclass(frozen=True, slots=True)
class NewBackfill:
    """`start` and `to` are whole refs of one of the pipeline's inputs."""

    start: str | None = None
    to: str | None = None
    branch: str = ""


@dataclass(frozen=True, slots=True)
class Tick:
    """`name` is that of a cron input; without it all of a pipeline's schedules tick."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """A limit on how many jobs run at once, with what runs and waits in it."""

    name: str
    slots: int
    running: int = 0
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class PoolSlots:
    slots: int


@dataclass(frozen=True, slots=True)
class DatumOf:
    """A datum that a pipeline would have."""

    pipeline: RepoName
    datum: DatumInfo


def bodies_of(declared: Iterable[Declared]) -> tuple[DeclaredPipeline, ...]:
    """What is sent for pipelines that were gathered; their files are read now."""
    left = MOST_CODE
    bodies = []
    for one in declared:
        body, used = _body_of(one, left)
        left -= used
        bodies.append(body)
    return tuple(bodies)


def body_of(declared: Declared) -> DeclaredPipeline:
    """As `bodies_of`, for one."""
    return _body_of(declared, MOST_CODE)[0]


def _body_of(declared: Declared, most: int) -> tuple[DeclaredPipeline, int]:
    from trunkline.sdk.specs import read_code

    used, code = 0, []
    for path, content in declared.code:
        data = content if isinstance(content, bytes) else read_code(content)
        used += len(data)
        if used > most:
            raise _too_large(declared.where)
        code.append(CodeFile(path, base64.b64encode(data).decode("ascii")))
    made = DeclaredPipeline(
        to_json(declared.spec),
        declared.where,
        tuple(code),
        declared.source,
        declared.source_path,
    )
    return made, used


def all_declared(bodies: Sequence[DeclaredPipeline]) -> list[Declared]:
    """What `bodies_of` was given, each checked again: a client may send anything."""
    found: dict[RepoName, Declared] = {}
    # As base64 it is a third more: nothing is decoded that is too much already.
    sizes = (len(file.data) for body in bodies for file in body.code)
    if sum(sizes) > MOST_CODE * 4 // 3 + 4 * sum(len(body.code) for body in bodies):
        raise _too_large(bodies[0].where)
    for body in bodies:
        one = declared_of(body)
        if one.spec.name in found:
            raise InvalidSpec(f"{one.where}: {one.spec.name} is declared twice.")
        found[one.spec.name] = one
    return list(found.values())


def declared_of(body: DeclaredPipeline) -> Declared:
    """As `all_declared`, for one."""
    from trunkline.sdk.specs import function_of

    where = body.where or "the spec"
    spec = _read(body.spec, where)
    code = code_bytes(body.code, where)
    own = function_of(spec).partition(":")[0]
    for path in (f"/{own}" if own else "", body.source_path):
        if path and path not in code:
            raise InvalidSpec(f"{where}: {path} is not among its code.")
    files = tuple(sorted(code.items()))
    return Declared(spec, body.where, files, body.source, body.source_path)


def code_bytes(files: Iterable[CodeFile], where: str) -> dict[str, bytes]:
    """Files that were sent, by their paths."""
    code: dict[str, bytes] = {}
    for file in files:
        path = _code_path(file.path, where)
        if path in code:
            raise InvalidSpec(f"{where}: {path} is among its code twice.")
        code[path] = _decoded(file, where)
    if sum(map(len, code.values())) > MOST_CODE:
        raise _too_large(where)
    return code


def _read(raw: dict[str, Any], where: str) -> PipelineSpec:
    """The spec, through all checks of one that somebody wrote."""
    from trunkline.pipelines.spec.reading import read_raw
    from trunkline.sdk.declarative import start_of

    if (name := _reads_nothing(raw)) is None:
        (sourced,) = read_raw(raw, where=where, project=DEFAULT_PROJECT).specs
        return sourced.spec
    # Nobody can write that tables are made of a clock: the rest is checked with another input.
    other = {**raw, "input": {"pfs": {"repo": start_of(name).repo.repo, "glob": "/"}}}
    (sourced,) = read_raw(other, where=where, project=DEFAULT_PROJECT).specs
    return replace(sourced.spec, input=start_of(sourced.spec.name))


def _reads_nothing(raw: dict[str, Any]) -> RepoName | None:
    """The name of a declarative project's pipeline that reads no table, if it is one."""
    from trunkline.sdk.declarative import start_of

    match raw.get("pipeline"):
        case {"project": str(project), "name": str(short)}:
            name = RepoName(project, short)
            plain = PipelineSpec(name, start_of(name), Transform())
            return name if raw.get("input") == to_json(plain)["input"] else None
    return None


def _code_path(text: str, where: str) -> str:
    """A path of the lake, and spelled as such: it names a file below the folder of the code."""
    path = normalize_path(text)
    if path != text or path == "/":
        raise InvalidPath(f"{where}: {text!r} is not the path of a file.", hint=f"Write {path}.")
    if path.encode() == SPEC_FILE:
        raise InvalidSpec(
            f"{where}: {path} cannot travel with the pipeline.",
            hint="The spec itself is kept there; give the file another name.",
        )
    return path


def _decoded(file: CodeFile, where: str) -> bytes:
    try:
        return base64.b64decode(file.data, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidSpec(f"{where}: what was sent for {file.path} is not base64.") from None


def _too_large(where: str) -> TooLarge:
    return TooLarge(
        f"{where}: its code is larger than {MOST_CODE >> 20} MiB.",
        hint="Put large files into a repo, and read them as an input.",
    )
