"""`trunkline draw --svg`: a picture of the graph, for pages."""

from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import trunkline as tl
from trunkline.cli.dagsvg import Node, draw_svg

SVG = "{http://www.w3.org/2000/svg}"


def shapes(text, kind):
    return list(ElementTree.fromstring(text).iter(f"{SVG}{kind}"))


def box_of(text, name):
    """Left, top, right and bottom of a node's box: it is drawn before its name."""
    (group,) = shapes(text, "g")
    found = list(group)
    at = next(n for n, shape in enumerate(found) if shape.text == name)
    box = next(shape for shape in reversed(found[:at]) if shape.tag == f"{SVG}rect")
    x, y, width, height = (float(box.get(a, "")) for a in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_each_node_is_a_box_with_its_name_after_what_it_reads():
    nodes = [Node("orders", "repo", round=True), Node("clean", "sql"), Node("a&b<c", "cmd")]
    text = draw_svg(nodes, [("orders", "clean"), ("clean", "a&b<c")], "Orders & more")
    boxes = [box_of(text, name) for name in ("orders", "clean", "a&b<c")]
    assert all(a[2] < b[0] for a, b in pairwise(boxes))
    assert {shape.text for shape in shapes(text, "text")} >= {"repo", "sql", "cmd"}
    assert [shape.text for shape in shapes(text, "title")] == ["Orders & more"]


def test_lines_end_at_the_boxes_that_read():
    nodes = [Node(name) for name in ("a", "b", "c", "d")]
    edges = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("a", "d")]
    text = draw_svg(nodes, edges, "")
    tips = [shape.get("d", "") for shape in shapes(text, "path") if shape.get("fill") != "none"]
    ends = [tuple(map(float, tip[1:].split("l")[0].split())) for tip in tips]
    boxes = {name: box_of(text, name) for name in ("b", "c", "d")}
    reached = [
        name
        for x, y in ends
        for name, (left, top, _, bottom) in boxes.items()
        if x == left and top < y < bottom
    ]
    assert len(ends) == len(reached)
    assert sorted(reached) == ["b", "c", "d"]  # what three give to d is one line


def test_no_two_boxes_overlap_and_all_are_inside():
    names = [f"n{n}" for n in range(12)]
    edges = [(names[n // 2], names[n]) for n in range(1, 9)]  # and three that nothing connects
    text = draw_svg([Node(name) for name in names], edges, "")
    root = ElementTree.fromstring(text)
    width, height = float(root.get("width", "")), float(root.get("height", ""))
    boxes = [box_of(text, name) for name in names]
    for n, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width and 0 <= top < bottom <= height
        assert all(
            other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
            for other in boxes[:n]
        )


def test_the_picture_of_a_lake(cli, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        lake.apply(
            {
                "pipeline": {"name": "clean"},
                "input": {"pfs": {"repo": "orders", "glob": "/"}},
                "transform": {"cmd": ["true"]},
            }
        )
    assert cli.ok("draw", "--svg", "graph.svg") == "Wrote graph.svg.\n"
    text = (tmp_path / "graph.svg").read_text()
    assert box_of(text, "orders")[2] < box_of(text, "clean")[0]
    assert "cmd" in {shape.text for shape in shapes(text, "text")}
    result = cli("draw", "--svg", "nowhere/graph.svg")
    assert result.code == 2
    assert "nowhere/graph.svg cannot be written: No such file or directory." in result.err
