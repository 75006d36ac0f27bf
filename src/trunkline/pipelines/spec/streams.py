"""What only streams have to mind: their query, how inputs are read, and when batches are made."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trunkline.errors import InvalidSpec
from trunkline.model.inputs import Cron, Cross, Input, Pfs
from trunkline.model.pipelines import Transform
from trunkline.model.streams import (
    BatchLimit,
    History,
    OnChangedRows,
    Streaming,
    StreamInput,
    StreamOutput,
    Watermark,
)
from trunkline.model.suggest import shown
from trunkline.pipelines import sql_promises
from trunkline.pipelines.globs import Glob
from trunkline.pipelines.spec.codec import names_function
from trunkline.pipelines.spec.model import PfsField, SpecField, TransformField
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.streamfields import HistoryField
from trunkline.pipelines.spec.tables import Places, ReadFile, check_name, script_of, with_text

_QUERY: Loc = ("transform", "stream")
_HINT = "Write file.py:function, a SELECT, or a file ending in .sql."

# Fields of a pfs that have no meaning in a stream, and what to do instead.
_NOT_READ = {
    "join_on": "Join in the query.",
    "outer_join": "Join in the query.",
    "group_by": "Group in the query.",
    "lazy": "",
    "empty_files": "",
    "reference": "To look an input up as a whole, write static: true.",
    "trigger": "Write transform.trigger: {interval: 10m}, or limit what a batch takes.",
}
_OWN = ("watermark", "changes", "limit", "static")
_OF_FUNCTIONS = ("code", "env", "secrets", "requirements")


def stream_input(fields: PfsField, loc: Loc, is_stream: bool) -> StreamInput:
    """How a stream reads this input. What belongs to streams is refused elsewhere."""
    given = [name for name in _OWN if getattr(fields, name) not in (None, "")]
    if not is_stream:
        if given:
            place = (*loc, given[0])
            raise Flaw(place, f"{path_text(place)} goes with transform.stream.",
                       "Only a stream reads what is new since it last did.")  # fmt: skip
        return StreamInput()
    for name, hint in _NOT_READ.items():
        if getattr(fields, name):
            place = (*loc, name)
            raise Flaw(place, f"{path_text(place)} does not go with transform.stream.", hint)
    if fields.static and given != ["static"]:
        place = (*loc, given[0])
        raise Flaw(place, f"{path_text(place)} does not go with static, which is read as a whole.")
    mark, limit = fields.watermark, fields.limit
    if limit is not None and not (limit.commits or limit.files or limit.bytes):
        place = (*loc, "limit")
        raise Flaw(place, f"{path_text(place)} limits nothing.", "Give commits, files or bytes.")
    return StreamInput(
        Watermark(mark.column, mark.delay) if mark else None,
        OnChangedRows(fields.changes or OnChangedRows.RAISE),
        BatchLimit(limit.commits, limit.files, limit.bytes) if limit else BatchLimit(),
        fields.static,
    )


def glob_of(fields: PfsField, loc: Loc, is_stream: bool) -> str:
    """A stream reads a table: all that is in the repo, or a folder of it."""
    place = (*loc, "glob")
    if fields.glob is None:
        if not is_stream:
            raise Flaw(place, f"{path_text(place)} is missing.")
        return "/"
    if is_stream and not Glob(fields.glob).is_literal:
        raise Flaw(place, f"{path_text(place)}: a stream reads a whole table, but "
                   f"{shown(fields.glob)} matches parts.",
                   'Leave it out, or write the folder of the table, as "/events/".')  # fmt: skip
    return fields.glob


def query_of(fields: TransformField) -> dict[str, Any]:
    """What `Transform` takes for a stream: its function or SQL, and when it runs."""
    if fields.stream is None:
        return {}
    text = fields.stream.strip()
    if not text:
        raise Flaw(_QUERY, "transform.stream is empty.", _HINT)
    how = Streaming(
        interval=fields.trigger.interval if fields.trigger else None,
        retain=fields.retain or Streaming().retain,
    )
    if fields.output is not None and fields.output.upsert:
        how = replace(how, output=StreamOutput.UPSERT, key=tuple(fields.output.upsert))
    if not names_function(text):
        if len(text.split()) == 1 and not text.endswith(".sql"):
            raise Flaw(_QUERY, f"transform.stream: {shown(text)} names no function.", _HINT)
        return {"sql": fields.stream, "streaming": how}
    file = text.partition(":")[0]
    if file.startswith("/") or ".." in file.split("/"):
        raise Flaw(_QUERY, f"transform.stream: {shown(text)} names no function.",
                   "Its file is beside the spec, or in transform.code.")  # fmt: skip
    return {"stream": text, "streaming": how}


def settled_stream(
    fields: SpecField,
    transform: Transform,
    expression: Input,
    places: Places,
    read_file: ReadFile | None,
) -> Transform:
    """The transform with its text, if everything fits together."""
    if fields.schedule is not None:
        raise Flaw(("schedule",), "schedule does not go with transform.stream.",
                   "Write transform.trigger: {interval: 1h}.")  # fmt: skip
    _check_inputs(transform, expression, places)
    _check_key(transform)
    if transform.stream:
        return transform
    for name in _OF_FUNCTIONS:
        if getattr(fields.transform, name):
            loc = ("transform", name)
            raise Flaw(loc, f"{path_text(loc)} goes with a function, and this stream is SQL.")
    transform = with_text(transform, read_file, _QUERY)
    names = [leaf.name for leaf, _ in places]
    try:
        script = script_of(transform, names, path_text(_QUERY))
        flowing = {leaf.name: () for leaf, _ in places if not leaf.stream.static}
        where = transform.sql_file or path_text(_QUERY)
        sql_promises.check(script, sql_promises.STREAM, flowing, where)
    except InvalidSpec as error:
        raise Flaw(_QUERY, error.message, error.hint) from None
    if script.tables:
        raise Flaw(_QUERY, f"transform.stream makes the table {script.tables[0]}, but a stream has "
                   "one result.", "Let the last statement be a SELECT.")  # fmt: skip
    return transform


def _check_inputs(transform: Transform, expression: Input, places: Places) -> None:
    for leaf, loc in places:
        if isinstance(leaf, Cron):
            raise Flaw(loc, f"{path_text(loc)} is a clock, which a stream cannot read.",
                       "To run at intervals, write transform.trigger: {interval: 1m}.")  # fmt: skip
    above: Loc = ("input", "cross") if isinstance(expression, Cross) else ("input",)
    members = expression.members if isinstance(expression, Cross) else (expression,)
    for i, member in enumerate(members):
        if not isinstance(member, Pfs):
            number = (i,) if len(above) > 1 else ()
            place: Loc = (*above, *number, type(member).__name__.lower())
            raise Flaw(place, f"{path_text(place)}: a stream reads a pfs, or a cross of several.",
                       "Join, unite and group in the query.")  # fmt: skip
    seen: dict[str, str] = {}
    for leaf, loc in places:
        check_name(leaf, loc, transform, seen)
    if all(leaf.stream.static for leaf, _ in places):
        raise Flaw(("input",), "input has only static inputs, so there is nothing to wait for.",
                   "Leave static out for the one whose new rows are read.")  # fmt: skip


def _check_key(transform: Transform) -> None:
    """A row with a new value in a partition column would leave its old self elsewhere."""
    how = transform.streaming
    assert how is not None
    key = {name.casefold() for name in how.key}
    for i, column in enumerate(transform.partition_by):
        if key and column.casefold() not in key:
            loc = ("transform", "partition_by", i)
            raise Flaw(loc, f"{path_text(loc)}: {shown(column)} is no column of the key, so one "
                       "row could be in two partitions.",
                       "Add it to transform.output.upsert, or leave it out.")  # fmt: skip


def history_of(fields: HistoryField | None) -> History:
    return History() if fields is None else History(fields.keep, fields.every, fields.compact)
