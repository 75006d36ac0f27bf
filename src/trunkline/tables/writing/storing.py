"""A write from beginning to end: rows of any kind into one commit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from trunkline.errors import Usage
from trunkline.lake.branches import refuse_open, writable_branch
from trunkline.lake.drafts import Draft
from trunkline.lake.transaction import Transaction
from trunkline.model.refs import Ref
from trunkline.model.tables import Schema, WriteMode
from trunkline.model.types import parse_type, quoted
from trunkline.tables.types import from_arrow
from trunkline.tables.writing.arrowwrite import write_batches
from trunkline.tables.writing.fingerprint import entries_of
from trunkline.tables.writing.sources import batches_of, is_spark
from trunkline.tables.writing.writing import WritePlan, plan_write, stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from trunkline.engine.session import Session


def write_rows(
    transaction: Transaction,
    draft: Draft,
    path: str,
    data: Any,
    *,
    mode: WriteMode = WriteMode.APPEND,
    partition_by: Sequence[str] | None = None,
    evolve: bool = True,
    spark: Callable[[], Session] | None = None,
) -> WritePlan:
    """Store rows and make them the changes of a draft. `spark` is asked for its DataFrames."""
    core = transaction.core
    refuse_open_commit(transaction, draft)
    tree = core.tree(draft.base)
    name = table_name(draft.target, path)
    planned = partial(
        plan_write, core, tree, path, name=name, mode=mode, partition_by=partition_by, evolve=evolve
    )
    if is_spark(data):
        assert spark is not None
        plan = planned(_spark_schema(data, name))
        lines = _write_frame(transaction, spark(), data, plan)
    else:
        reader = batches_of(data)
        plan = planned(from_arrow(reader.schema, name), checked=True)
        suffix, parts = suffix_of(transaction, mode), plan.spec.partition_by
        lines = write_batches(transaction, reader, plan.schema, parts, path, suffix=suffix)
    stage(transaction, draft, plan, lines)
    return plan


def table_name(target: Ref, path: str) -> str:
    """How errors call a table: `orders@main`, `shop@main:/orders`."""
    where = f"{target.repo}@{target.ref}"
    return where if path == "/" else f"{where}:{path}"


def suffix_of(transaction: Transaction, mode: WriteMode) -> str:
    """What keeps the names of files apart that are added to others.

    A table that is replaced has none: the same rows give the same names.
    """
    return transaction.id[-8:] if mode is WriteMode.APPEND else ""


def refuse_open_commit(transaction: Transaction, draft: Draft) -> None:
    """The changes of an open commit are not known yet, so neither is the table."""
    if draft.target.repo in transaction.new_repos:
        return
    with transaction.core.database.read() as session:
        if branch := writable_branch(session, draft.target, draft.kind):
            refuse_open(branch)


def _write_frame(
    transaction: Transaction, session: Session, frame: Any, plan: WritePlan
) -> list[bytes]:
    from trunkline.engine import tables

    core = transaction.core
    stem = core.objects.uri(transaction.keys.branch().data("part")) + "-"
    brought = frame.selectExpr(*_selection(frame, plan.schema))
    report = tables.write(session, brought, stem=stem, partition_by=plan.spec.partition_by)
    entries = entries_of(
        core,
        report.files,
        plan.path,
        plan.spec.partition_by,
        plan.schema,
        suffix_of(transaction, plan.mode),
    )
    return [entry.encode() for entry in entries]


def _selection(frame: Any, schema: Schema) -> list[str]:
    """The frame's columns in the order and with the types of the table."""
    from trunkline.engine.byname import brought
    from trunkline.engine.tables import schema_of

    own = schema_of(frame)
    chosen = []
    for column in schema:
        given = own.find(column.name)
        value = f"CAST(NULL AS {column.type})"
        if given is not None:
            value = brought(quoted(given.name), parse_type(given.type), parse_type(column.type))
        chosen.append(f"{value} AS {quoted(column.name)}")
    return chosen


def _spark_schema(frame: Any, name: str) -> Schema:
    from trunkline.engine.sparktypes import columns_of, refusals

    for column, (why, hint) in refusals(frame.schema):
        raise Usage(f'Column "{column}" of {name} has {why}.', hint=hint)
    schema = columns_of(frame.schema)
    if len({one.casefold() for one in schema.names}) < len(schema):
        raise Usage(f"Two columns of the DataFrame for {name} have the same name.")
    return schema
