"""`trunkline draw`: the graph of repos and pipelines, in the terminal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trunkline.cli import dagsvg, dagtext, session
from trunkline.cli.arguments import App, Env
from trunkline.cli.dagtext import Box
from trunkline.cli.jobviews import state_sign, state_style
from trunkline.errors import Usage

if TYPE_CHECKING:
    from trunkline.cli.output import Style
    from trunkline.model.lineage import Graph, GraphNode
    from trunkline.model.overview import Overview, OverviewNode

app = App()

CLOCK = "◷"
KIND_COLOURS = {"pipeline": "#3fb950", "stream": "#a371f7", "ingest": "#4493f8"}
WIDTH_OF_A_PIPE = 100


@app.command()
def draw(
    ctx: typer.Context,
    dot: Annotated[bool, typer.Option("--dot", help="As Graphviz reads it.")] = False,
    svg: Annotated[
        str | None, typer.Option("--svg", metavar="FILE", help="As a picture, into a file.")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="ID", help="As it was at a commit set.")
    ] = None,
    env: Env = None,
) -> None:
    """Draw which pipelines read which repos, and how they are."""
    run = session.of(ctx)
    if env is not None and at is not None:
        raise Usage("--at and --env cannot be used together.", hint="Drop one of them.")
    with run.open() as lake:
        graph = lake.graph(env) if at is None else graph_of(lake.overview(lake.project, at))
        kinds = {str(one.name): one.kind for one in lake.pipelines()} if svg else {}
    if svg is not None:
        _write(Path(svg), picture(graph, kinds))
        run.output.done({"svg": svg}, f"Wrote {svg}.")
    elif dot:
        run.output.item({"dot": graph.to_dot()}, lambda _: graph.to_dot().splitlines())
    else:
        columns = shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns
        run.output.item(graph, lambda found: drawing(found, columns, run.output.style))


def picture(graph: Graph, kinds: Mapping[str, str]) -> str:
    """The graph as an SVG: what kind of thing each is, not how it went."""
    nodes = [
        dagsvg.Node(
            node.name,
            kinds.get(node.name, node.kind),
            KIND_COLOURS.get(node.kind, dagsvg.LINE),
            round=not node.is_pipeline,
        )
        for node in graph.nodes
    ]
    known = {node.name for node in nodes}
    edges = [(one.source, one.target) for one in graph.edges if {one.source, one.target} <= known]
    return dagsvg.draw_svg(nodes, edges, "Which pipelines read which repos")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Usage(f"{file} cannot be written: {error.strerror}.") from error


def graph_of(overview: Overview) -> Graph:
    """The graph of a moment, as that of now is drawn."""
    from trunkline.model.lineage import Graph, GraphEdge, GraphNode
    from trunkline.model.overview import NEW

    nodes = (
        GraphNode(str(one.name), one.kind, "" if one.state == NEW else one.state, _detail(one))
        for one in overview.nodes
    )
    edges = (
        GraphEdge(str(one.source), str(one.target), one.label, one.starts) for one in overview.edges
    )
    return Graph(tuple(nodes), tuple(edges))


def _detail(node: OverviewNode) -> str:
    if node.kind == "cron":
        return node.schedule
    files, size = (node.head.files, node.head.size) if node.head else (0, 0)
    version = f"v{node.version}" if node.version else ""
    held = f"{files:,} file{'s' * (files != 1)}, {size:,} byte{'s' * (size != 1)}"
    return ", ".join(filter(None, (version, held, node.job.reason if node.job else "")))


def drawing(graph: Graph, columns: int, style: Style) -> Iterator[str]:
    """The picture, or a list where it would not fit; then what the signs in it mean."""
    if not graph.nodes:
        yield "No repos yet."
        return
    boxes = [_box(node) for node in graph.nodes]
    known = {box.name for box in boxes}
    edges = [(one.source, one.target) for one in graph.edges if {one.source, one.target} <= known]
    lines = dagtext.fitting(boxes, edges, columns) or dagtext.listing(boxes, edges)
    for line in lines:
        yield "".join(style(p.style, p.text) if p.style else p.text for p in line).rstrip()
    if meaning := legend(graph, style):
        yield ""
        yield meaning


def _box(node: GraphNode) -> Box:
    is_pipeline = node.is_pipeline
    sign = CLOCK if node.kind == "cron" else state_sign(node.state) if is_pipeline else ""
    style = state_style(node.state) if is_pipeline else ""
    return Box(node.name, f"{sign} {node.name}".strip(), style, round=not is_pipeline)


def legend(graph: Graph, style: Style) -> str:
    states = dict.fromkeys(n.state for n in graph.nodes if n.is_pipeline and n.state)
    said = [style(state_style(s), f"{state_sign(s)} {s}".strip()) for s in states]
    return "  ".join(said)
