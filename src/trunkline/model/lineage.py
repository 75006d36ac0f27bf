"""Where things come from and what became of them; which pipelines read which repos."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trunkline.model.commits import RepoName

HIDDEN = "something you may not see"


@dataclass(frozen=True, slots=True)
class LineageNode:
    """A commit, file or folder, what it was made by, and further ones below it.

    `kind` is "commit", "file", "folder", "code" (of a pipeline), "more": what is left out,
    `more` of them; or "hidden" from who asks. What was `seen` is told in full elsewhere in the
    same tree.
    """

    text: str
    kind: str
    detail: str = ""
    below: tuple[LineageNode, ...] = ()
    repo: RepoName | None = None
    commit: str | None = None
    path: str | None = None
    size: int | None = None
    files: int | None = None
    pipeline: RepoName | None = None
    version: int | None = None
    code: str | None = None
    job: str | None = None
    datum: str | None = None
    seen: bool = False
    more: int = 0

    @classmethod
    def hidden(cls) -> LineageNode:
        """What is there, and nothing more can be told of."""
        return cls(HIDDEN, "hidden")


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a commit, file or folder was made from (`up`) and what was made from it (`down`)."""

    root: LineageNode
    up: tuple[LineageNode, ...] = ()
    down: tuple[LineageNode, ...] = ()

    def to_dot(self) -> str:
        """For Graphviz: arrows lead from what was read to what was made."""
        sheet = _Sheet()
        sheet.box(self.root.text, self.root.detail, "box", "style=bold")
        for upwards, nodes in ((True, self.up), (False, self.down)):
            for node in nodes:
                for above, one in _pairs(self.root, node):
                    name = f"{above.text}, {one.text}" if one.kind == "more" else one.text
                    sheet.box(name, one.detail, _SHAPES.get(one.kind, "box"), label=one.text)
                    sheet.arrow(*((name, above.text) if upwards else (above.text, name)))
        return sheet.text()


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A pipeline reads a repo under a name. Without `starts` its commits start nothing."""

    source: str
    target: str
    label: str = ""
    starts: bool = True


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A "repo", a "cron" repo, or a "pipeline", "stream" or "ingest" with its output."""

    name: str
    kind: str
    state: str = ""
    detail: str = ""

    @property
    def is_pipeline(self) -> bool:
        return self.kind in ("pipeline", "stream", "ingest")


@dataclass(frozen=True, slots=True)
class Graph:
    """Which pipelines read which repos."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]

    def to_dot(self) -> str:
        """For Graphviz; a dashed arrow starts nothing."""
        sheet = _Sheet()
        for node in self.nodes:
            detail = ", ".join(filter(None, (node.state, node.detail)))
            sheet.box(node.name, detail, _SHAPES.get(node.kind, "box"))
        for edge in self.edges:
            more = [f"label={_quoted(edge.label)}"] * bool(edge.label)
            sheet.arrow(edge.source, edge.target, *more, *(["style=dashed"] * (not edge.starts)))
        return sheet.text()


_SHAPES = {"code": "note", "folder": "folder", "more": "plaintext", "repo": "cylinder"}
_SHAPES["cron"] = "octagon"


def _pairs(above: LineageNode, node: LineageNode) -> Iterator[tuple[LineageNode, LineageNode]]:
    yield above, node
    for one in node.below:
        yield from _pairs(node, one)


class _Sheet:
    """Lines of Graphviz, each said once."""

    def __init__(self) -> None:
        self._boxes: dict[str, str] = {}
        self._arrows: dict[str, None] = {}

    def box(self, name: str, detail: str, shape: str, *more: str, label: str = "") -> None:
        text = _quoted("\n".join(filter(None, (label or name, detail))))
        line = ", ".join((f"label={text}", f"shape={shape}", *more))
        self._boxes.setdefault(name, f"  {_quoted(name)} [{line}];")

    def arrow(self, source: str, target: str, *more: str) -> None:
        tail = f" [{', '.join(more)}]" if more else ""
        self._arrows[f"  {_quoted(source)} -> {_quoted(target)}{tail};"] = None

    def text(self) -> str:
        head = ("digraph trunkline {", "  rankdir=LR;")
        return "\n".join((*head, *self._boxes.values(), *self._arrows, "}")) + "\n"


def _quoted(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
