"""Cases: commits as `id: parents`, newest first, and the drawing they must give."""

from pathlib import Path

import pytest

from trunkline.cli.graph import Node, draw

CASES = (Path(__file__).parent / "graph.cases").read_text().split("\n\n")


@pytest.mark.parametrize("case", CASES, ids=[case.splitlines()[0].strip("# ") for case in CASES])
def test_drawing(case: str):
    _, history, *expected = case.strip().splitlines()
    nodes = [
        Node(commit.strip(), tuple(parents.split()))
        for commit, _, parents in (entry.partition(":") for entry in history.split(","))
    ]
    lines: list[str] = []
    for node, drawn in zip(nodes, draw(nodes), strict=True):
        lines += [*drawn.before, f"{drawn.at} {node.id}", *drawn.after]
    assert lines == expected
