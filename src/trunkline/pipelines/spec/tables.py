"""What only table pipelines have to mind: SQL and its file, modes, and what may be read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from trunkline.errors import InvalidSpec, TrunklineError
from trunkline.model.inputs import Cron, Input, Leaf, Union, leaves
from trunkline.model.pipelines import Mode, Transform
from trunkline.pipelines import sql_promises
from trunkline.pipelines.confinement import BESIDE_SPARK, INSTEAD
from trunkline.pipelines.sparksettings import FIXED, is_whole
from trunkline.pipelines.spec.model import SpecField, TransformField
from trunkline.pipelines.spec.modes import check_mode, default_mode, parts_of
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.sqltext import INLINE, Script, check_params, check_reads, fill, parse

ReadFile = Callable[[str], str]
Places = Sequence[tuple[Leaf, Loc]]

_SQL: Loc = ("transform", "sql")
_FILES = ("cmd", "python")
_TABLES = ("sql", "spark")
_STREAM = ("stream",)
_GOES_WITH = {
    "stdin": ("cmd",),
    "accept_return_code": ("cmd",),
    "err_cmd": _FILES,
    "err_stdin": _FILES,
    "working_dir": _FILES,
    "sandbox": _FILES,
    "env": (*_FILES, "spark", "stream"),
    "secrets": (*_FILES, "spark", "stream"),
    "code": (*_FILES, "spark", "stream"),
    "sql_file": ("sql", "stream"),
    "mode": _TABLES,
    "partition_by": (*_TABLES, "stream"),
    "params": (*_TABLES, "stream"),
    "requirements": ("spark", "stream"),
    "on_change": _TABLES,
    "trigger": _STREAM,
    "output": _STREAM,
    "retain": _STREAM,
}


def check_kind(fields: SpecField, kind: str) -> None:
    """Refuse fields that have no meaning for this kind of transform."""
    for name, kinds in _GOES_WITH.items():
        if kind not in kinds and getattr(fields.transform, name) not in _UNSET:
            if name == "sandbox" and (fields.transform.spark or fields.transform.stream):
                raise Flaw(("transform", name), f"transform.sandbox: {BESIDE_SPARK}.", INSTEAD)
            raise Flaw(("transform", name), _goes(f"transform.{name}", kinds, kind))
    if kind not in _FILES and fields.merge != "error":
        raise Flaw(("merge",), _goes("merge", _FILES, kind))
    if kind not in _FILES and fields.resource_limits and fields.resource_limits.memory:
        loc = ("resource_limits", "memory")
        raise Flaw(loc, _goes(path_text(loc), _FILES, kind))
    if kind in _FILES and fields.expectations:
        raise Flaw(("expectations",), _goes("expectations", (*_TABLES, "stream"), kind))
    if kind in _FILES and fields.spark:
        raise Flaw(("spark",), _goes("spark", (*_TABLES, "stream"), kind))
    _check_settings(fields.spark)
    if kind != "stream" and fields.history is not None:
        raise Flaw(("history",), _goes("history", ("stream", "ingest"), kind))


def _check_settings(settings: Iterable[str]) -> None:
    for name in settings:
        if is_whole(name):
            raise Flaw(("spark", name), f"spark: {name} is a setting of the whole of Spark, not of "
                       "one pipeline.", "Use: trunkline config set spark.conf.")  # fmt: skip
        if name.startswith(FIXED):
            raise Flaw(("spark", name), f"spark: {name} cannot be set: readers would not agree on "
                       "the days in the files.", "Leave it out.")  # fmt: skip


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
    transform = with_text(transform, read_file, _SQL)
    names = [*dict.fromkeys(leaf.name for leaf, _ in places)]
    try:
        script = script_of(transform, names, INLINE)
        parts = parts_of(transform, [leaf for leaf, _ in places])
        sql_promises.check(script, mode, parts, transform.sql_file or INLINE)
    except InvalidSpec as error:
        raise Flaw(_SQL, error.message, error.hint) from None
    return transform, script.tables


def with_text(transform: Transform, read_file: ReadFile | None, loc: Loc) -> Transform:
    """SQL that is the path of a file becomes what is in it."""
    path = transform.sql.strip()
    if "\n" in path or not path.endswith(".sql"):
        return transform
    if read_file is None:
        raise Flaw(loc, f"{path_text(loc)}: the file {path} cannot be read here.",
                   "Write its text instead.")  # fmt: skip
    try:
        return replace(transform, sql=read_file(path), sql_file=path)
    except TrunklineError as error:
        raise Flaw(loc, f"{path_text(loc)}: {error.message}", error.hint) from None


def script_of(transform: Transform, inputs: Sequence[str], inline: str) -> Script:
    """What the SQL does; refuse what cannot run.

    `inline` is the field that it stands in, if it is from no file.
    """
    where = transform.sql_file or inline
    params = dict(transform.params)
    check_params(transform.sql, params, where)
    script = parse(fill(transform.sql, params, where), where=where)
    check_reads(script, inputs, where)
    return script


def _check_inputs(transform: Transform, expression: Input, places: Places) -> None:
    seen: dict[str, str] = {}
    for leaf, loc in places:
        if isinstance(leaf, Cron):
            raise Flaw(loc, f"{path_text(loc)} is a clock, which {transform.kind} cannot read.",
                       "To run at certain times, use schedule.")  # fmt: skip
        if leaf.empty_files:
            raise Flaw((*loc, "empty_files"), f"{path_text(loc)}.empty_files leaves no rows for "
                       f"{transform.kind} to read.")  # fmt: skip
        check_name(leaf, loc, transform, seen)
    _check_unions(expression, ("input",))


def check_name(leaf: Leaf, loc: Loc, transform: Transform, seen: dict[str, str]) -> None:
    """That SQL, or the function, can call the input by its name. `seen` are those before it."""
    if transform.sql and "." in leaf.name:
        raise Flaw(loc, f"{path_text(loc)} is called \"{leaf.name}\", which SQL cannot name.",
                   "Give it a name without dots.")  # fmt: skip
    if not transform.sql and leaf.name == "ctx":
        raise Flaw(loc, f'{path_text(loc)} is called "ctx", which is what the job is called.',
                   "Give it another name.")  # fmt: skip
    other = seen.setdefault(leaf.name.casefold(), leaf.name)
    if other != leaf.name:
        raise Flaw(loc, f'"{other}" and "{leaf.name}" are one name in SQL.',
                   "Give one of them another name.")  # fmt: skip


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
