"""`trunkline lineage`: what a file or commit was made from, and what was made from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import session
from trunkline.cli.arguments import App, Ref
from trunkline.cli.text import printable
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.cli.output import Style
    from trunkline.model.columns import ColumnLineage, ColumnNode
    from trunkline.model.lineage import Lineage, LineageNode

app = App()


@app.command()
def lineage(
    ctx: typer.Context,
    ref: Ref,
    up: Annotated[bool, typer.Option("--up", help="Only what it was made from.")] = False,
    down: Annotated[bool, typer.Option("--down", help="Only what was made from it.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", "-n", help="Follow at most so many at each step.")
    ] = 20,
    dot: Annotated[bool, typer.Option("--dot", help="As Graphviz reads it.")] = False,
    columns: Annotated[
        bool, typer.Option("--columns", help="What the columns of a table were made from.")
    ] = False,
    column: Annotated[
        str | None, typer.Option("--column", metavar="NAME", help="Only this column.")
    ] = None,
) -> None:
    """Show what a file or commit was made from, and what from it."""
    run = session.of(ctx)
    if columns or column is not None:
        if up or down or dot:
            raise Usage("--columns goes with neither --up, --down nor --dot.")
        with run.open() as lake:
            answer = lake.column_lineage(ref, column)
        run.output.item(answer, lambda one: column_lines(one, run.output.style))
        return
    with run.open() as lake:
        found = lake.lineage(ref, limit=limit)
    if up and not down:
        found = dataclasses.replace(found, down=())
    if down and not up:
        found = dataclasses.replace(found, up=())
    if dot:
        run.output.item({"dot": found.to_dot()}, lambda _: found.to_dot().splitlines())
    else:
        run.output.item(found, lambda one: tree_lines(one, run.output.style))


def tree_lines(found: Lineage, style: Style) -> Iterator[str]:
    yield style("head", printable(found.root.text)) + _detail(found.root, style)
    sides = [("made from", found.up), ("used by", found.down)]
    for title, nodes in sides:
        if nodes:
            yield ""
            yield f"{title}:"
            yield from branches(nodes, style)
    if not any(nodes for _, nodes in sides):
        yield "Nothing was made from it, and it was made from nothing."


def column_lines(found: ColumnLineage, style: Style) -> Iterator[str]:
    yield style("head", printable(found.ref))
    yield from branches(found.columns, style)
    used = [one for one in found.down if one.below]
    if used:
        yield from ("", "used by:")
        yield from branches(used, style)


def branches(
    nodes: Sequence[LineageNode | ColumnNode], style: Style, before: str = ""
) -> Iterator[str]:
    """The nodes with all below them, joined by lines."""
    for number, node in enumerate(nodes, start=1):
        last = number == len(nodes)
        line = style("dim", f"{before}{'└─' if last else '├─'} ")
        yield f"{line}{printable(node.text)}{_detail(node, style)}"
        yield from branches(node.below, style, before + ("   " if last else "│  "))


def _detail(node: LineageNode | ColumnNode, style: Style) -> str:
    return style("dim", f"  {printable(node.detail)}") if node.detail else ""
