"""Pipelines declared in Python.

    @pipeline(input=pfs("images", glob="/*.png"))
    def edges(datum):
        ...

    @pipeline(input=pfs("orders", glob="/day=*/"), partition_by=["day"])
    def revenue(orders):
        return orders.groupBy("day").sum("amount")

    thumbs = Pipeline(name="thumbs", input=pfs("images", glob="/*"), cmd=["sh", "thumbs.sh"])
    paid = Pipeline(name="paid", input=pfs("orders"), sql="SELECT * FROM orders WHERE paid")

Everything becomes the same plain data a YAML file holds, and is checked by the same reader.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from trunkline.errors import InvalidSpec
from trunkline.model.inputs import leaves
from trunkline.pipelines.cells import FILE, cells_source, is_in_cell
from trunkline.pipelines.signature import Signature, not_plain
from trunkline.pipelines.source import reachable_source

if TYPE_CHECKING:
    from trunkline.model.pipelines import PipelineSpec
    from trunkline.pipelines.spec.places import SourcedSpec, Specs

InputDict = dict[str, Any]

# Options that a spec has inside `transform`; all others are its own fields.
_OF_TRANSFORM = {
    "accept_return_code", "code", "env", "err_cmd", "err_stdin", "mode", "on_change", "params",
    "output", "partition_by", "requirements", "retain", "sandbox", "secrets", "stdin", "stream",
    "trigger", "working_dir",
}  # fmt: skip
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_SHORT = {
    "interval": ("transform", "trigger", "interval"),
    "upsert": ("transform", "output", "upsert"),
    "parallelism": ("parallelism_spec", "constant"),
    "memory": ("resource_limits", "memory"),
}


def pfs(
    repo: str,
    glob: str = "/",
    name: str | None = None,
    branch: str | None = None,
    *,
    watermark: str | tuple[str, Any] | Mapping[str, Any] | None = None,
    **fields: Any,
) -> InputDict:
    """Files and folders of a repo: one datum for each match of `glob`.

    For streams: `watermark` is a column of times and how late rows may be, as in ("ts", "10s").
    """
    if isinstance(watermark, tuple):
        column, delay = watermark
        watermark = {"column": column, "delay": delay}
    leaf = given(repo=repo, glob=glob, name=name, branch=branch, watermark=watermark, **fields)
    return {"pfs": leaf}


def cron(name: str, spec: str, **fields: Any) -> InputDict:
    """A clock: one datum for each tick."""
    return {"cron": given(name=name, spec=spec, **fields)}


def cross(*members: InputDict) -> InputDict:
    """Every combination of the members' datums."""
    return {"cross": list(members)}


def union(*members: InputDict) -> InputDict:
    """The members' datums together."""
    return {"union": list(members)}


def join(*members: InputDict) -> InputDict:
    """Files whose `join_on` agrees, in every combination."""
    return {"join": list(members)}


def group(*members: InputDict) -> InputDict:
    """All files whose `group_by` agrees, together."""
    return {"group": list(members)}


def to(
    address: str | os.PathLike[str],
    *,
    path: str | None = None,
    name: str | None = None,
    tries: int | None = None,
    backoff: str | float | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A target of `egress`: a folder, s3://bucket/dir, postgresql://host/db#table, delta:DIR,
    iceberg:NAMESPACE.TABLE, kafka://host:9092/topic or https://host/path.

    `path` is the table or folder of the output that goes there; `fields` are those of its kind.
    """
    from trunkline.pipelines.spec.egressaddresses import read_address

    kind, body, password = read_address(os.fspath(address))
    if password is not None:
        raise InvalidSpec(
            f"The address of a {kind} target holds no password.",
            hint="Set a secret, and name it: password=NAME.",
        )
    own = given(path=path, name=name, tries=tries, backoff=backoff)
    return {**own, kind: {**body, **given(**fields)}}


class Declared:
    """A pipeline that a Python file declares. `where` is the file and line it stands in."""

    def __init__(self, raw: Mapping[str, Any], file: str, line: int) -> None:
        self.raw = raw
        self.file = file
        self.line = line

    def __repr__(self) -> str:
        kind = next(kind for kind in ("pipeline", "ingest") if kind in self.raw)
        return f"<{kind} {self.raw[kind]['name']} at {self.where}>"

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def source(self) -> str:
        """What of the file can affect the results: nothing, if a command does the work."""
        return ""

    def read(self, project: str, read_file: Callable[[str], str] | None = None) -> Specs:
        """Checked as a YAML file's would be. `read_file` gives files from beside its own."""
        from trunkline.pipelines.spec.reading import read_raw

        return read_raw(self.raw, where=self.where, project=project, read_file=read_file)

    def sourced(self, project: str) -> SourcedSpec:
        return self.read(project).specs[0]

    def spec(self, project: str) -> PipelineSpec:
        return self.sourced(project).spec


class PipelineFunction(Declared):
    """A function that is a pipeline. Calling it calls the function."""

    __wrapped__: Callable[..., Any]
    __name__: str

    def __init__(self, function: Callable[..., Any], raw: Mapping[str, Any]) -> None:
        super().__init__(raw, *code_of(function))
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def read(self, project: str, read_file: Callable[[str], str] | None = None) -> Specs:
        """Also checked: that its parameters are its inputs, if they are DataFrames."""
        found = super().read(project, read_file)
        spec = found.specs[0].spec
        if spec.transform.spark or spec.transform.stream:
            inputs = [*dict.fromkeys(leaf.name for leaf in leaves(spec.input))]
            Signature.of(self.function, self.where).check(inputs, self.where)
        return found

    @property
    def source(self) -> str:
        """The function and what of its file, or of its notebook, it may reach."""
        if is_in_cell(self.function):
            return cells_source(self.__name__, self.where)
        module = sys.modules.get(self.function.__module__)
        try:
            whole = "".join(inspect.findsource(module or self.function)[0])
        except (OSError, TypeError):
            raise InvalidSpec(
                f"{self.where}: the source of this function cannot be read.",
                hint="Write it into a file.",
            ) from None
        return reachable_source(whole, self.__name__, name=self.file)


class Pipeline(Declared):
    """A pipeline whose work is done by a command, or by SQL: its text, or a file with it.

    With `stream`, the SQL is that of a stream.
    """

    def __init__(
        self,
        *,
        name: str,
        input: InputDict,
        cmd: Iterable[str] | None = None,
        sql: str | os.PathLike[str] | None = None,
        stream: str | os.PathLike[str] | None = None,
        project: str | None = None,
        **options: Any,
    ) -> None:
        command = cmd if isinstance(cmd, str | None) else list(cmd)
        transform = given(cmd=command, sql=sql, stream=stream)
        caller = sys._getframe(1)
        raw = raw_of(name, project, input, transform, options)
        super().__init__(raw, caller.f_code.co_filename, caller.f_lineno)


def pipeline(
    input: InputDict, name: str | None = None, project: str | None = None, **options: Any
) -> Callable[[Callable[..., Any]], PipelineFunction]:
    """Make a function a pipeline. Options are named as the fields of a spec.

    A function of one `datum` is called for each with its files. Any other is called with
    DataFrames: its parameters are the names of inputs, and `ctx` if it wants to know the job.
    """

    def declare(function: Callable[..., Any]) -> PipelineFunction:
        file, line = code_of(function)
        kind = _kind(function, f"{file}:{line}")
        transform = {kind: f"{base_of(file)}:{function.__name__}"}
        raw = raw_of(name or function.__name__, project, input, transform, options)
        return PipelineFunction(function, raw)

    return declare


def specs_in(namespace: Mapping[str, Any]) -> list[Declared]:
    """The pipelines a module declares, in order; not those it imports from other files."""
    file = namespace.get("__file__")
    found: dict[int, Declared] = {}
    for value in list(namespace.values()):
        for declared in _declared(value):
            if file is None or declared.file == file:
                found[id(declared)] = declared
    return list(found.values())


def _declared(value: object) -> Iterator[Declared]:
    """The value itself, or members of a list or dict: pipelines are often made in a loop."""
    if isinstance(value, Declared):
        yield value
    elif isinstance(value, list | tuple | dict):
        members = value.values() if isinstance(value, dict) else value
        yield from (member for member in members if isinstance(member, Declared))


def raw_of(
    name: str,
    project: str | None,
    input: InputDict,
    transform: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    raw: dict[str, Any] = {
        "pipeline": given(name=name, project=project),
        "input": plain(input),
        "transform": dict(transform),
    }
    for option, value in options.items():
        if option in _OF_TRANSFORM:
            raw["transform"][option] = plain(value)
        elif option in _SHORT:
            *outer, inner = _SHORT[option]
            if outer[-1] in _OF_TRANSFORM & options.keys():
                raise InvalidSpec(f"{name}: {option} and {outer[-1]} say the same.")
            place = raw
            for part in outer:
                place = place.setdefault(part, {})
            place[inner] = plain(value)
        else:
            raw[option] = plain(value)
    return raw


def code_of(function: Callable[..., Any]) -> tuple[str, int]:
    """The file and the line of a function."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise InvalidSpec(f"{function!r} is not a function that was written with def.")
    return (FILE if is_in_cell(function) else code.co_filename), code.co_firstlineno


def _kind(function: Callable[..., Any], where: str) -> str:
    """python for a function of one datum, spark for one of DataFrames."""
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise not_plain(where)
    parameters = [*inspect.signature(function).parameters.values()]
    if [p.name for p in parameters] == ["datum"] and parameters[0].kind in _BY_PLACE:
        return "python"
    if not parameters or parameters[0].name == "datum":
        raise InvalidSpec(
            f"{where}: a pipeline's function takes one parameter called datum, or its inputs.",
            hint=f"Write def {function.__name__}(datum) for files, "
            f"def {function.__name__}(orders) for DataFrames.",
        )
    Signature.of(function, where)
    return "spark"


def given(**fields: Any) -> dict[str, Any]:
    return {name: plain(value) for name, value in fields.items() if value is not None}


def plain(value: Any) -> Any:
    """Python has tuples, dates, spans and paths where a spec has lists, numbers and text."""
    if isinstance(value, list | tuple):
        return [plain(member) for member in value]
    if isinstance(value, Mapping):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if hasattr(value, "__fspath__") else value


def base_of(file: str) -> str:
    return file.replace("\\", "/").rpartition("/")[2]
