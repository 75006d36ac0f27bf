"""From what a user hands over (files, functions, dicts) to pipelines that can be applied."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trunkline.errors import InvalidSpec, NotFound, SourceUnreadable, TrunklineError, Usage
from trunkline.ingests.walk import walk
from trunkline.lake.versions import SPEC_FILE, Declared
from trunkline.model.egress import Target
from trunkline.model.inputs import leaves
from trunkline.model.paths import normalize_path
from trunkline.model.pipelines import PipelineSpec
from trunkline.model.suggest import did_you_mean
from trunkline.pipelines import dsl
from trunkline.pipelines.declarative import is_project_file
from trunkline.pipelines.spec import SourcedSpec, Specs

if TYPE_CHECKING:
    from types import ModuleType

    from trunkline.sdk.declarative import Lakeside

Thing = str | os.PathLike[str] | Mapping[str, Any] | dsl.Declared
STDIN = "-"
# What tools leave in folders of code: no part of it, and it changes by itself.
_LEFT_OUT = frozenset({"__pycache__", ".git", ".trunkline", ".venv", ".mypy_cache", ".ruff_cache"})


@dataclass
class Gathered:
    """All pipelines that were handed over, and the fields of theirs that mean nothing here."""

    declared: list[Declared] = field(default_factory=list)
    ignored: dict[str, None] = field(default_factory=dict)

    def add(self, found: Specs, make: Callable[[SourcedSpec], Declared]) -> None:
        self.ignored.update(dict.fromkeys(found.ignored))
        for sourced in found.specs:
            self.add_one(make(sourced))

    def add_one(self, declared: Declared) -> None:
        if any(one.spec.name == declared.spec.name for one in self.declared):
            raise InvalidSpec(f"{declared.where}: {declared.spec.name} is declared twice.")
        self.declared.append(declared)


def gather(
    things: tuple[Thing, ...], project: str, args: Mapping[str, str], lake: Lakeside | None = None
) -> Gathered:
    """Read everything; one clear line on the first thing that is wrong.

    `lake` is what projects of Spark Declarative Pipelines are read with.
    """
    found = Gathered()
    for thing in things:
        if isinstance(thing, dsl.Declared):
            _add_declared(found, thing, project)
        elif isinstance(thing, Mapping):
            from trunkline.pipelines.spec import read_raw

            here = Path.cwd()
            specs = read_raw(
                thing, where="the spec", project=project, read_file=partial(_text_of, here)
            )
            found.add(specs, lambda one: _from_spec(one, Path.cwd()))
        elif str(os.fspath(thing)).endswith(".py"):
            for declared in _in_python(Path(thing)):
                _add_declared(found, declared, project)
        elif is_project_file(os.fspath(thing)):
            _add_project(found, os.fspath(thing), lake)
        else:
            _add_file(found, os.fspath(thing), project, args)
    return found


def _add_project(found: Gathered, name: str, lake: Lakeside | None) -> None:
    from trunkline.sdk.declarative import read

    if lake is None:
        raise Usage(f"{name} cannot be applied in a transaction.", hint="Use lake.apply.")
    _read(Path(name))
    declared, unused = read(Path(name), lake)
    found.ignored.update(dict.fromkeys(unused))
    for one in declared:
        found.add_one(one)


def _add_file(found: Gathered, name: str, project: str, args: Mapping[str, str]) -> None:
    from trunkline.pipelines.spec import read_specs

    text = sys.stdin.buffer.read() if name == STDIN else _read(Path(name))
    folder = Path.cwd() if name == STDIN else Path(name).absolute().parent
    specs = read_specs(
        text,
        name=name,
        project=project,
        args=args,
        read_import=_read_import,
        read_file=partial(_text_of, folder),
    )
    found.add(specs, lambda one: _from_spec(one, folder))


def _read_import(folder: str, wanted: str) -> str:
    """What a jsonnet file imports, beside the file that asks for it."""
    return _read(Path(folder) / wanted).decode()


def _text_of(folder: Path, path: str) -> str:
    """A file that a spec names, from where the spec is."""
    try:
        return _read(folder / path).decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise InvalidSpec(f"{path} is not UTF-8 text.", hint="Save the file as UTF-8.") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        near = [one.name for one in path.absolute().parent.glob("*")][:200]
        raise NotFound(f'There is no file "{path}".{did_you_mean(path.name, near)}') from None
    except OSError as error:
        raise SourceUnreadable(f"{path} cannot be read: {error.strerror}.") from None


def read_code(path: Path) -> bytes:
    """A file that travels with a pipeline."""
    return _read(path)


def _from_spec(sourced: SourcedSpec, folder: Path) -> Declared:
    """A spec with its code: the folder or file it names, beside the spec."""
    code: dict[str, Path | bytes] = {}
    transform = sourced.spec.transform
    if transform.code:
        code.update(_code_files(folder / transform.code, sourced.where))
    file = function_of(sourced.spec).partition(":")[0]
    if file and f"/{file}" not in code:
        if transform.code:
            raise NotFound(f"{sourced.where}: there is no {file} in {transform.code}.")
        code[f"/{file}"] = folder / file
    if file:
        check_function(sourced, code[f"/{file}"])
    files = tuple(sorted(code.items(), key=lambda x: x[0]))
    return Declared(grounded(sourced, partial(_whole, folder)), sourced.where, files)


def function_of(spec: PipelineSpec) -> str:
    """The file.py:function that does the work; nothing if none does."""
    if spec.source is not None:
        return str(spec.source.options.get("function", ""))
    return spec.transform.python or spec.transform.spark or spec.transform.stream


def _whole(folder: Path, path: str) -> str:
    return os.path.normpath(folder.absolute() / Path(path).expanduser())


# A file by a path that is not from the root: sqlite:///shop.db?timeout=5
_sqlite_file = re.compile(r"(sqlite(?:\+\w+)?://)/((?!/|:memory:|file:)[^?]+)(\?.*)?").fullmatch


def _with_file(options: Mapping[str, Any], whole: Callable[[str], str]) -> dict[str, Any]:
    """The options of a database, with its file, if it is one, from the root."""
    found = _sqlite_file(options["url"])
    url = f"{found[1]}/{whole(found[2])}{found[3] or ''}" if found else options["url"]
    return {**options, "url": url}


def grounded(sourced: SourcedSpec, whole: Callable[[str], str]) -> PipelineSpec:
    """The spec for workers, who are elsewhere: the folders it names from the root.

    `whole` tells these. Also checked: that a table can hold the columns of its schema.
    """
    source = sourced.spec.source
    if source is None:
        targets = tuple(_grounded(one, whole) for one in sourced.spec.egress)
        return replace(sourced.spec, egress=targets) if targets else sourced.spec
    if source.schema:
        from trunkline.tables.writing.setting import parse_schema

        try:
            parse_schema(source.schema)
        except TrunklineError as error:
            raise InvalidSpec(
                f"{sourced.where}: schema: {error.message}", hint=error.hint
            ) from None
    if source.kind == "sql":
        options = _with_file(source.options, whole)
        return replace(sourced.spec, source=replace(source, options=options))
    if source.kind in ("delta", "iceberg"):
        options = from_root(source.options, whole)
        return replace(sourced.spec, source=replace(source, options=options))
    if source.kind != "folder":
        return sourced.spec

    options, then = dict(source.options), source.options["then"]
    options["path"] = whole(options["path"])
    if isinstance(then, Mapping):
        options["then"] = {"move": whole(then["move"])}
        if options["then"]["move"] == options["path"]:
            raise InvalidSpec(
                f"{sourced.where}: source.folder.then: files would be moved to where they are.",
                hint="Name another folder.",
            )
    return replace(sourced.spec, source=replace(source, options=options))


def from_root(options: Mapping[str, Any], whole: Callable[[str], str]) -> dict[str, Any]:
    """Where a table of Delta or Iceberg is, from the root: also its catalog, if that is a file."""
    made = dict(options)
    if "url" in made and "://" not in made["url"]:
        made["url"] = whole(made["url"])
    catalog = dict(made.get("catalog") or {})
    if found := _sqlite_file(catalog.get("uri", "")):
        catalog["uri"] = f"{found[1]}/{whole(found[2])}{found[3] or ''}"
    if (
        "warehouse" in catalog
        and catalog.get("uri", "").startswith("sqlite")
        and ("://" not in catalog["warehouse"])
    ):
        catalog["warehouse"] = whole(catalog["warehouse"])
    return {**made, "catalog": catalog} if catalog else made


def _grounded(target: Target, whole: Callable[[str], str]) -> Target:
    """A target with its folder, if it is one of this machine, from the root."""
    if target.kind == "sql":
        return replace(target, options=_with_file(target.options, whole))
    if target.kind in ("delta", "iceberg"):
        return replace(target, options=from_root(target.options, whole))
    name = {"folder": "path"}.get(target.kind)
    if name is None or "://" in target.options[name]:
        return target
    return replace(target, options={**target.options, name: whole(target.options[name])})


def check_function(sourced: SourcedSpec, file: Path | bytes) -> None:
    """That the file has the function, and that it takes the inputs, if they are DataFrames."""
    from trunkline.pipelines.signature import in_source
    from trunkline.pipelines.source import reachable_source

    transform, where = sourced.spec.transform, sourced.where
    name, _, function = function_of(sourced.spec).partition(":")
    data = file if isinstance(file, bytes) else _read(file)
    try:
        reachable_source(data.decode(), function, name=name)
    except UnicodeDecodeError:
        raise InvalidSpec(f"{where}: {name} is not UTF-8 text.") from None
    except (RecursionError, MemoryError):
        raise InvalidSpec(f"{where}: {name} is nested too deeply.") from None
    except TrunklineError as error:
        raise InvalidSpec(f"{where}: {error.message}", hint=error.hint) from None
    framed = transform.spark or transform.stream
    if framed and (found := in_source(data.decode(), function, where)):
        found.check([*dict.fromkeys(leaf.name for leaf in leaves(sourced.spec.input))], where)


def _code_files(place: Path, where: str) -> Iterator[tuple[str, Path]]:
    if place.is_file():
        yield f"/{place.name}", place
        return
    if not place.is_dir():
        raise NotFound(f"{where}: its code {place} does not exist.")
    for relative, local in walk(str(place)):
        if _LEFT_OUT.isdisjoint(relative.split("/")) and not relative.endswith(".pyc"):
            path = normalize_path(f"/{relative}")
            if path.encode() == SPEC_FILE:
                raise InvalidSpec(
                    f"{where}: {local} cannot travel with the pipeline.",
                    hint=f"The spec itself is kept as {path}; give the file another name.",
                )
            yield path, Path(local)


def _add_declared(found: Gathered, declared: dsl.Declared, project: str) -> None:
    """A pipeline from Python: its own file is code, as far as its function reaches."""
    source = declared.source
    own = Path(declared.file)

    def make(sourced: SourcedSpec) -> Declared:
        code: dict[str, Path | bytes] = {}
        if sourced.spec.transform.code:
            code.update(_code_files(own.parent / sourced.spec.transform.code, sourced.where))
        path = ""
        if isinstance(declared, dsl.PipelineFunction):
            path = f"/{own.name}"
            code[path] = _own_file(declared)
        files = tuple(sorted(code.items(), key=lambda one: one[0]))
        spec = grounded(sourced, partial(_whole, own.parent))
        return Declared(spec, sourced.where, files, source, path)

    found.add(declared.read(project, partial(_text_of, own.parent)), make)


def _own_file(declared: dsl.PipelineFunction) -> Path | bytes:
    """The file of a function; what it reaches of a notebook, which is in no file."""
    path = Path(declared.file)
    return path if path.is_file() else declared.source.encode()


def _in_python(path: Path) -> list[dsl.Declared]:
    """Load a file as a module and take the pipelines it declares."""
    if not path.is_file():
        _read(path)
    module = _load(path.absolute())
    found = dsl.specs_in(vars(module))
    if not found:
        raise InvalidSpec(
            f"{path}: no pipeline is declared in this file.",
            hint="Decorate a function: @tl.pipeline(input=tl.pfs(...)).",
        )
    return found


def _load(path: Path) -> ModuleType:
    import importlib.util

    name = f"_trunkline_specs_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except TrunklineError:
        raise
    except Exception as error:
        line = _line_in(path, error)
        text = " ".join(str(error).split())
        raise InvalidSpec(f"{path}{line}: {type(error).__name__}: {text}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def _line_in(path: Path, error: Exception) -> str:
    if isinstance(error, SyntaxError) and error.lineno:
        return f":{error.lineno}"
    trace, line = error.__traceback__, ""
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line
