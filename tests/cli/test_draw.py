"""Drawings: as in the cases, and for any graph the lines lead where the edges do."""

from pathlib import Path
from random import Random

import pytest

from trunkline.cli.dagtext import Box, Way, draw, fitting, listing, plain, width
from trunkline.cli.draw import drawing
from trunkline.cli.lineage import tree_lines
from trunkline.cli.output import Style
from trunkline.model.lineage import Graph, GraphEdge, GraphNode, Lineage, LineageNode

PLAIN = Style(on=False)
CASES = (Path(__file__).parent / "draw.cases").read_text().strip("# \n").split("\n# ")


def graph(text: str) -> tuple[list[Box], list[tuple[str, str]]]:
    """`a > b, b > c, d`: edges, and nodes without any."""
    pairs = [[name.strip() for name in part.split(">")] for part in text.split(",")]
    edges = [(pair[0], pair[1]) for pair in pairs if len(pair) == 2]
    made = {b for _, b in edges}
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return [Box(name, name, round=name not in made) for name in names], edges


@pytest.mark.parametrize("case", CASES, ids=[case.splitlines()[0] for case in CASES])
def test_drawing(case: str):
    title, spec, *expected = case.strip("\n").splitlines()
    way = Way.DOWN if title.endswith("downwards") else Way.RIGHT
    assert plain(draw(*graph(spec), way)) == expected


@pytest.mark.parametrize("way", Way)
@pytest.mark.parametrize("seed", range(60))
def test_lines_lead_where_the_edges_do(seed: int, way: Way):
    random = Random(seed)
    names = [f"n{n}" for n in range(random.randint(2, 14))]
    chance = random.choice([0.1, 0.2, 0.35])
    edges = [
        (a, b) for n, a in enumerate(names) for b in names[n + 1 :] if random.random() < chance
    ]
    lines = plain(draw([Box(name, name) for name in names], edges, way))
    assert traced(lines, way) == set(edges), "\n".join(lines)


JOINS = {
    "─": "we", "│": "ns", "╯": "wn", "╮": "ws", "╰": "en", "╭": "es",
    "┤": "wns", "├": "ens", "┴": "wen", "┬": "wes", "┼": "wens",
}  # fmt: skip
STEPS = {"w": (-1, 0), "e": (1, 0), "n": (0, -1), "s": (0, 1)}
BEHIND = dict(zip("wens", "ewsn", strict=True))


def traced(lines: list[str], way: Way) -> set[tuple[str, str]]:
    """The edges as an eye follows them: never back, and under a line that crosses."""
    ahead, arrow = ("e", "▶") if way is Way.RIGHT else ("s", "▼")
    cells = {(x, y): char for y, line in enumerate(lines) for x, char in enumerate(line)}
    boxes = boxes_in(lines)
    inside = {point: name for name, points in boxes.items() for point in points}
    found = set()
    for name, points in boxes.items():
        starts = {moved(point, ahead) for point in points} - inside.keys()
        todo = [
            (start, ahead)
            for start in starts
            if BEHIND[ahead] in JOINS.get(cells.get(start, " "), "")
        ]
        while todo:
            point, heading = todo.pop()
            char = cells[point]
            if char == arrow:
                found.add((name, inside[moved(point, ahead)]))
            elif BEHIND[heading] not in JOINS[char]:
                todo.append((moved(point, heading), heading))
            else:
                ways = set(JOINS[char]) - {BEHIND[heading], BEHIND[ahead]}
                todo += [(moved(point, on), on) for on in ways]
    return found


def moved(point: tuple[int, int], direction: str) -> tuple[int, int]:
    return point[0] + STEPS[direction][0], point[1] + STEPS[direction][1]


def boxes_in(lines: list[str]) -> dict[str, set[tuple[int, int]]]:
    found = {}
    for top, line in enumerate(lines):
        for left, char in enumerate(line):
            if char != "┌":
                continue
            right = line.index("┐", left)
            bottom = next(y for y in range(top, len(lines)) if lines[y][left : left + 1] == "└")
            text = "".join(lines[y][left + 1 : right] for y in range(top + 1, bottom))
            found[text.strip()] = {
                (x, y) for x in range(left, right + 1) for y in range(top, bottom + 1)
            }
    return found


def test_to_the_right_if_it_fits_else_downwards_else_not_at_all():
    boxes, edges = graph("first > second, second > third")
    right = fitting(boxes, edges, 80)
    down = fitting(boxes, edges, 20)
    assert right and width(right) == 34
    assert down and width(down) == 10
    assert fitting(boxes, edges, 9) is None


def test_a_list_where_nothing_fits():
    boxes, edges = graph("a > b, a > c, b > d, e")
    assert plain(listing(boxes, edges)) == ["a → b, c", "b → d", "c", "d", "e"]


def test_styles_cover_the_name_only():
    lines = draw([Box("a", "✓ a", "+")], [])
    assert [[piece.style for piece in line] for line in lines] == [[""], ["", "+", ""], [""]]


GRAPH = Graph(
    nodes=(
        GraphNode("images", "repo"),
        GraphNode("report_tick", "cron"),
        GraphNode("edges", "pipeline", "success"),
        GraphNode("report", "pipeline", "failure"),
    ),
    edges=(
        GraphEdge("images", "edges", "/*"),
        GraphEdge("edges", "report", "/"),
        GraphEdge("report_tick", "report"),
    ),
)


def test_states_are_marked_and_explained():
    assert list(drawing(GRAPH, 80, PLAIN)) == [
        "             ╭───────────────╮",
        "             │ ◷ report_tick │─╮",
        "             ╰───────────────╯ │  ┌──────────┐",
        "╭────────╮   ┌───────────────┐ ├─▶│ ✗ report │",
        "│ images │──▶│ ✓ edges       │─╯  └──────────┘",
        "╰────────╯   └───────────────┘",
        "",
        "✓ success  ✗ failure",
    ]
    coloured = "\n".join(drawing(GRAPH, 80, Style(on=True)))
    assert "│ \x1b[32m✓ edges\x1b[0m" in coloured
    assert "│ \x1b[31m✗ report\x1b[0m" in coloured


def test_a_narrow_terminal_gets_a_list():
    assert list(drawing(GRAPH, 12, PLAIN))[:4] == [
        "images → edges",
        "◷ report_tick → report",
        "✓ edges → report",
        "✗ report",
    ]


def test_an_empty_lake():
    assert list(drawing(Graph((), ()), 80, PLAIN)) == ["No repos yet."]


def test_a_lineage_is_a_tree():
    source = LineageNode("images@01a1:/a.png", "file", "3 KiB")
    code = LineageNode("edges.code@v2", "code")
    made = LineageNode("edges@01a1:/a.txt", "file", "datum 49e1", (source, code))
    root = LineageNode("total@01a1:/all", "file")
    assert list(tree_lines(Lineage(root, (made, code), (source,)), PLAIN)) == [
        "total@01a1:/all",
        "",
        "made from:",
        "├─ edges@01a1:/a.txt  datum 49e1",
        "│  ├─ images@01a1:/a.png  3 KiB",
        "│  └─ edges.code@v2",
        "└─ edges.code@v2",
        "",
        "used by:",
        "└─ images@01a1:/a.png  3 KiB",
    ]
    assert list(tree_lines(Lineage(root), PLAIN))[1:] == [
        "Nothing was made from it, and it was made from nothing."
    ]
