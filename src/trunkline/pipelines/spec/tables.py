"""What only table pipelines have to mind: SQL and its file, modes, and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from trunkline.errors import InvalidSpec, TrunklineError
from trunkline.model.inputs import Cron, Input, Leaf, Union, leaves
from trunkline.model.pipelines import Mode, Transform
from trunkline.pipelines.spec.model import SpecField, TransformField
from trunkline.pipelines.spec.modes import check_mode, default_mode
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.sqltext import INLINE, check_params, check_reads, fill, parse

ReadFile = Callable[[str], str]
Places = Sequence[tuple[Leaf, Loc]]

_FILES = ("cmd", "python")
_TABLES = ("sql", "spark")
_GOES_WITH = {
    "stdin": ("cmd",),
    "accept_return_code": ("cmd",),
    "err_cmd": _FILES,
    "err_stdin": _FILES,
    "working_dir": _FILES,
    "sandbox": _FILES,
    "env": (*_FILES, "spark"),
    "secrets": (*_FILES, "spark"),
    "code": (*_FILES, "spark"),
    "sql_file": ("sql",),
    "mode": _TABLES,
    "partition_by": _TABLES,
    "params": _TABLES,
    "requirements": ("spark",),
    "on_change": _TABLES,
}


def check_kind(fields: SpecField, kind: str) -> None:
    """Refuse fields that have no meaning for this kind of transform."""
    for name, kinds in _GOES_WITH.items():
        if kind not in kinds and getattr(fields.transform, name) not in _UNSET:
            raise Flaw(("transform", name), _goes(f"transform.{name}", kinds, kind))
    if kind in _TABLES and fields.merge != "error":
        raise Flaw(("merge",), _goes("merge", _FILES, kind))
    if kind in _TABLES and fields.resource_limits and fields.resource_limits.memory:
        loc = ("resource_limits", "memory")
        raise Flaw(loc, _goes(path_text(loc), _FILES, kind))
    if kind in _FILES and fields.expectations:
        raise Flaw(("expectations",), _goes("expectations", _TABLES, kind))


_UNSET: tuple[object, ...] = (None, "", [], {}, "auto")


def _goes(what: str, kinds: Sequence[str], kind: str) -> str:
    *first, last = kinds
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"{what} goes with {listed}, not with {kind}."


def settled(
    fields: TransformField,
    transform: Transform,
    expression: Input,
    places: Places,
    read_file: ReadFile | None,
) -> tuple[Transform, tuple[str, ...] | None]:
    """The transform with its text and mode, and the tables it makes as far as that is known."""
    _check_inputs(transform, expression, places)
    mode = Mode(fields.mode) if fields.mode else default_mode(expression, transform.partition_by)
    transform = replace(transform, mode=mode)
    if fields.on_change and mode is not Mode.APPEND:
        raise Flaw(("transform", "on_change"), f"transform.on_change goes with mode: append, "
                   f"not with {mode}.")  # fmt: skip
    check_mode(transform, expression, places)
    if not transform.sql:
        return transform, None
    transform = _with_text(transform, read_file)
    names = [*dict.fromkeys(leaf.name for leaf, _ in places)]
    try:
        tables = _checked(transform, names)
    except InvalidSpec as error:
        raise Flaw(("transform", "sql"), error.message, error.hint) from None
    return transform, tables


def _with_text(transform: Transform, read_file: ReadFile | None) -> Transform:
    """SQL that is the path of a file becomes what is in it."""
    path = transform.sql.strip()
    if "\n" in path or not path.endswith(".sql"):
        return transform
    loc = ("transform", "sql")
    if read_file is None:
        raise Flaw(loc, f"transform.sql: the file {path} cannot be read here.",
                   "Write its text instead.")  # fmt: skip
    try:
        return replace(transform, sql=read_file(path), sql_file=path)
    except TrunklineError as error:
        raise Flaw(loc, f"transform.sql: {error.message}", error.hint) from None


def _checked(transform: Transform, inputs: Sequence[str]) -> tuple[str, ...]:
    where = transform.sql_file or INLINE
    params = dict(transform.params)
    check_params(transform.sql, params, where)
    script = parse(fill(transform.sql, params, where), where=where)
    check_reads(script, inputs, where)
    return script.tables


def _check_inputs(transform: Transform, expression: Input, places: Places) -> None:
    seen: dict[str, str] = {}
    for leaf, loc in places:
        if isinstance(leaf, Cron):
            raise Flaw(loc, f"{path_text(loc)} is a clock, which {transform.kind} cannot read.",
                       "To run at certain times, use schedule.")  # fmt: skip
        if leaf.empty_files:
            raise Flaw((*loc, "empty_files"), f"{path_text(loc)}.empty_files leaves no rows for "
                       f"{transform.kind} to read.")  # fmt: skip
        if transform.sql and "." in leaf.name:
            raise Flaw(loc, f"{path_text(loc)} is called \"{leaf.name}\", which SQL cannot name.",
                       "Give it a name without dots.")  # fmt: skip
        if transform.spark and leaf.name == "ctx":
            raise Flaw(loc, f'{path_text(loc)} is called "ctx", which is what the job is called.',
                       "Give it another name.")  # fmt: skip
        other = seen.setdefault(leaf.name.casefold(), leaf.name)
        if other != leaf.name:
            raise Flaw(loc, f'"{other}" and "{leaf.name}" are one name in SQL.',
                       "Give one of them another name.")  # fmt: skip
    _check_unions(expression, ("input",))


def _check_unions(expression: Input, loc: Loc) -> None:
    """A datum has a table for each name, so members of a union must be called the same."""
    if not hasattr(expression, "members"):
        return
    here = (*loc, type(expression).__name__.lower())
    for i, member in enumerate(expression.members):
        _check_unions(member, (*here, i))
    if isinstance(expression, Union) and len({leaf.name for leaf in leaves(expression)}) > 1:
        raise Flaw(here, f"{path_text(here)}: its members must have one name, as they are one "
                   "table.", "Give all of them the same name, or use cross.")  # fmt: skip
