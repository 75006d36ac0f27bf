"""Specs as text for an editor that has no disk: text and files in, pipelines out, and back.

Nothing is run, and no file is opened: what a spec names is looked for among the files that were
handed over with it. They are what the folder `code` of a spec would hold.
"""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trunkline.errors import InvalidSpec, NotFound, TooLarge, TrunklineError, Usage
from trunkline.lake import files
from trunkline.lake.core import Core
from trunkline.lake.versions import Declared, code_of, code_repo
from trunkline.model import yamltext
from trunkline.model.commits import DEFAULT_BRANCH, RepoName
from trunkline.model.entries import line_path
from trunkline.model.refs import Ref
from trunkline.model.suggest import did_you_mean
from trunkline.pipelines.declarative import is_project_file
from trunkline.pipelines.spec import SourcedSpec
from trunkline.sdk.specs import Gathered, check_function, function_of, grounded
from trunkline.sdk.wire.pipelines import (
    MOST_CODE,
    CodeFile,
    Declaration,
    bodies_of,
    code_bytes,
)
from trunkline.storage.catalog.pipelines import VersionRow

MOST_TEXT = 200_000
"""Characters of specs that are read at once: YAML is slow to read."""


@dataclass(frozen=True, slots=True)
class SpecText:
    """What stands in an editor. `name` tells by its suffix what it is written in."""

    text: str
    name: str = "spec.yaml"
    project: str = "default"
    code: tuple[CodeFile, ...] = ()


@dataclass(frozen=True, slots=True)
class PipelineText:
    """A version of a pipeline as it can be edited: YAML, and the files that travel with it."""

    text: str
    files: tuple[CodeFile, ...] = ()


def declaration_of(given: SpecText) -> Declaration:
    """The pipelines of a text, in the form that is applied, or the first thing wrong with it.

    `ignored` also names the files that no pipeline has a use for.
    """
    from trunkline.pipelines.spec import read_specs

    _refuse_other_than_data(given)
    beside = _Beside(code_bytes(given.code, given.name))
    found = Gathered()
    specs = read_specs(given.text, name=given.name, project=given.project, read_file=beside.text_of)
    found.add(specs, beside.declared)
    return Declaration(bodies_of(found.declared), (*found.ignored, *beside.unused()))


def text_of(core: Core, name: RepoName, version: VersionRow) -> PipelineText:
    """A version of a pipeline, with its code."""
    place = Ref(code_repo(name), version.code)
    tree = core.tree_of(place)
    paths = [line_path(line).decode() for line in code_of(core, name, version.code)]
    entries = [(path, files.find(tree, path, str(place))) for path in paths]
    if sum(entry.size for _, entry in entries) > MOST_CODE:
        raise TooLarge(
            f"The code of {name} is larger than {MOST_CODE >> 20} MiB.",
            hint=f"trunkline get {code_repo(name)}@{version.code[:12]}:/ gets it as files.",
        )
    code = tuple(
        CodeFile(path, base64.b64encode(b"".join(files.read(core, entry))).decode("ascii"))
        for path, entry in entries
    )
    return PipelineText("\n".join(yamltext.lines(_as_written(version.spec))) + "\n", code)


def _refuse_other_than_data(given: SpecText) -> None:
    kind = given.name.rpartition(".")[2].lower()
    if kind not in ("yaml", "yml", "json") or is_project_file(given.name):
        raise Usage(
            f"{given.name} is not read by a server.",
            hint="Write YAML or JSON; trunkline pipeline apply takes Python and jsonnet.",
        )
    if "/" in given.name or "\\" in given.name:
        raise Usage(f"{given.name} is no name of a file.", hint="As in spec.yaml.")
    if len(given.text) > MOST_TEXT:
        raise TooLarge(f"{given.name}: a server reads specs of at most {MOST_TEXT:,} characters.")


class _Beside:
    """The files that were handed over with a text, as if they stood beside it."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._used: set[str] = set()

    def text_of(self, path: str) -> str:
        """What a spec means by a path, such as that of its SQL."""
        try:
            return self._bytes_of(path).decode().removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise InvalidSpec(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from None

    def declared(self, sourced: SourcedSpec) -> Declared:
        """A pipeline with its code: all files if it names a folder of code, else its function's."""
        code: dict[str, bytes] = {}
        if sourced.spec.transform.code:
            if not self._files:
                raise NotFound(
                    f"{sourced.where}: its code {sourced.spec.transform.code} is not here.",
                    hint="Add the files of that folder.",
                )
            code.update(self._files)
            self._used.update(code)
        if file := function_of(sourced.spec).partition(":")[0]:
            try:
                code[f"/{file}"] = self._bytes_of(file)
            except TrunklineError as error:
                raise NotFound(f"{sourced.where}: {error.message}", hint=error.hint) from None
            check_function(sourced, code[f"/{file}"])
        spec = grounded(sourced, lambda path: _from_root(path, sourced.where))
        return Declared(spec, sourced.where, tuple(sorted(code.items())))

    def unused(self) -> Sequence[str]:
        return [path for path in self._files if path not in self._used]

    def _bytes_of(self, path: str) -> bytes:
        whole = posixpath.normpath(posixpath.join("/", path))
        if whole not in self._files:
            near = did_you_mean(whole.lstrip("/"), [one.lstrip("/") for one in self._files])
            raise NotFound(
                f'There is no file "{path}" with the spec.{near}', hint="Add it to the files."
            )
        self._used.add(whole)
        return self._files[whole]


def _from_root(path: str, where: str) -> str:
    if not path.startswith("/"):
        raise InvalidSpec(
            f"{where}: {path} is seen from no folder here.",
            hint="Write the whole path on the worker, from /.",
        )
    return posixpath.normpath(path)


def _as_written(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The spec without what goes without saying of its inputs."""
    written = dict(spec)
    if "input" in written:
        written["input"] = _input_as_written(written["input"])
    return written


def _input_as_written(raw: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, inner),) = raw.items()
    if isinstance(inner, list):
        return {kind: [_input_as_written(one) for one in inner]}
    if kind == "pfs":
        plain = {"name": inner["repo"], "branch": DEFAULT_BRANCH}
        return {kind: {key: value for key, value in inner.items() if plain.get(key) != value}}
    return {kind: inner}
