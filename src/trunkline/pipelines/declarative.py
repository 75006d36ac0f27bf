"""Projects of Spark Declarative Pipelines: their file, and what a project defines.

    spark-pipeline.yml → Project → its .py and .sql files → Output, Flow

An output is a materialized view, a streaming table, or a view that only the project sees. A flow
writes rows to an output. Here is what is known without running anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import did_you_mean, shown

PROJECT_FILES = ("spark-pipeline.yml", "spark-pipeline.yaml")

_FIELDS = ("name", "storage", "catalog", "database", "schema", "configuration", "libraries")
# What Spark calls the database that nobody named.
_DEFAULTS = ("", "default")
_PART = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([^.`\s]+))\s*(?:\.|$)")
_VARIABLE = re.compile(r"\$\{([^}]+)\}")


class Kind(StrEnum):
    """What a project defines. A temporary view is computed anew wherever it is read."""

    MATERIALIZED_VIEW = "materialized view"
    STREAMING_TABLE = "streaming table"
    VIEW = "temporary view"


@dataclass(frozen=True, slots=True)
class Output:
    """Something with a name that can be read. `unused` are options that mean nothing here."""

    name: str
    kind: Kind
    file: str
    line: int = 0
    comment: str = ""
    partition_by: tuple[str, ...] = ()
    schema: str = ""
    unused: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Read:
    """A table that a flow reads: its new files only if as a `stream`, else all of it."""

    name: str
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Project:
    """What the project file says. `libraries` are patterns from its folder."""

    name: str
    libraries: tuple[str, ...] = ()
    catalog: str = ""
    database: str = ""
    configuration: tuple[tuple[str, str], ...] = field(default=())

    def name_of(self, text: str) -> str:
        """The name of a table without what goes without saying: its catalog and own database."""
        parts = name_parts(text)
        if not parts or len(parts) > 3:
            raise InvalidSpec(f"{shown(text)} is not the name of a table.")
        database = parts[-2] if len(parts) > 1 else ""
        if database in (*_DEFAULTS, self.database):
            return parts[-1]
        return f"{database}.{parts[-1]}"

    def filled(self, sql: str) -> str:
        """The text with `${name}` as the configuration has it, as Spark does."""
        known = dict(self.configuration)
        return _VARIABLE.sub(lambda found: known.get(found[1].strip(), found[0]), sql)


def input_name(name: str) -> str:
    """What an input is called that is this table: a word, as SQL and Python need one."""
    return name.replace(".", "_")


def name_parts(text: str) -> tuple[str, ...]:
    """catalog.database.table, each maybe in backticks; nothing if it is not such a name."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            return ()
        quoted, plain = found.groups()
        parts.append(quoted.replace("``", "`") if quoted is not None else plain)
        at = found.end()
    return tuple(parts) if not text.rstrip().endswith(".") else ()


def is_project_file(name: str) -> bool:
    return PurePosixPath(name.replace("\\", "/")).name in PROJECT_FILES


def defines_flows(file: str, text: str) -> bool:
    """Whether a file of code is written for Spark Declarative Pipelines."""
    if file.endswith(".sql"):
        return True
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if any(n.name == "pyspark.pipelines" for n in names):
                return True
            case ast.ImportFrom(module="pyspark.pipelines", level=0):
                return True
            case ast.ImportFrom(module="pyspark", names=names, level=0) if any(
                one.name == "pipelines" for one in names
            ):
                return True
    return False


def read_project(text: str, name: str) -> Project:
    """The project that a file describes; `InvalidSpec` names the line of what is wrong."""
    from trunkline.pipelines.spec.yamltext import yaml_documents

    documents = list(yaml_documents(text, name))
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise InvalidSpec(f"{name}: this is not the file of a Spark pipeline project.")
    (document,) = documents
    given: Mapping[str, Any] = documents[0].value
    for key in given:
        if key not in _FIELDS:
            raise InvalidSpec(
                f"{document.where((key,))}: a project has no {shown(str(key))}."
                f"{did_you_mean(str(key), _FIELDS)}"
            )
    if not isinstance(given.get("name"), str):
        raise InvalidSpec(f"{document.where(('name',))}: the project has no name.")
    pairs = given.get("configuration") or {}
    if not isinstance(pairs, dict):
        raise InvalidSpec(f"{document.where(('configuration',))}: configuration takes pairs.")
    for key, value in pairs.items():
        if not isinstance(value, str):
            place = document.where(("configuration", key))
            raise InvalidSpec(f"{place}: configuration.{key} is not text.", hint="Quote it.")
    libraries = tuple(_include(one, document.where(("libraries",))) for one in _list(given))
    if not libraries:
        raise InvalidSpec(f"{name}: the project has no libraries, so nothing to run.")
    return Project(
        given["name"],
        libraries,
        str(given.get("catalog") or ""),
        str(given.get("database") or given.get("schema") or ""),
        tuple(sorted(pairs.items())),
    )


def definition_files(root: Path, project: Project) -> list[Path]:
    """The files that the project's patterns name, in a fixed order."""
    found: dict[Path, None] = {}
    for pattern in project.libraries:
        matches = sorted(one for one in root.glob(pattern) if one.is_file())
        matches = [one for one in matches if "__pycache__" not in one.parts]
        if not matches and "*" not in pattern:
            raise InvalidSpec(f"{root / pattern}: there is no such file in the project.")
        for one in matches:
            if one.suffix not in (".py", ".sql"):
                raise InvalidSpec(f"{one}: only .py and .sql files define pipelines.")
        found.update(dict.fromkeys(matches))
    return list(found)


def _list(given: Mapping[str, Any]) -> Iterator[object]:
    found = given.get("libraries") or []
    yield from found if isinstance(found, list) else (found,)


def _include(entry: object, where: str) -> str:
    """Spark takes a file, or a folder with all below it: `folder/**`."""
    glob = entry.get("glob") if isinstance(entry, dict) else None
    include = glob.get("include") if isinstance(glob, dict) else None
    if not isinstance(include, str):
        raise InvalidSpec(f"{where}: a library is written as glob: {{include: folder/**}}.")
    folder = include.removesuffix("/**")
    if any(sign in folder for sign in "*?["):
        raise InvalidSpec(
            f"{where}: {shown(include)} is no pattern that Spark takes.",
            hint="Name a file, or a folder and all below it: transformations/**.",
        )
    if PurePosixPath(include).is_absolute() or ".." in PurePosixPath(include).parts:
        raise InvalidSpec(f"{where}: {shown(include)} is not in the project's folder.")
    return include if folder == include else f"{include}/*"
