"""`trunkline draw --at`: the graph as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli
from tests.jobs.graphs import Graph


def test_the_graph_of_then_is_drawn(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with tl.init(tmp_path) as lake:
        graph = Graph(lake, tmp_path / "code")
        lake.create_repo("sold")
        graph.follow("clean", "sold")
        change = graph.put("sold@main", a="1")
        lake.run()
        graph.follow("report", "clean")
    assert cli.ok("draw", "--at", change[:12]).splitlines() == [
        "╭──────╮   ┌─────────┐",
        "│ sold │──▶│ ✓ clean │",
        "╰──────╯   └─────────┘",
        "",
        "✓ success",
    ]
    assert {node["name"] for node in cli.json("draw")["nodes"]} == {"sold", "clean", "report"}
    assert cli.json("draw", "--at", change)["nodes"][1]["detail"] == "1 file, 1 byte"
    assert cli.ok("draw", "--dot", "--at", change).startswith("digraph")
    missing = cli("draw", "--at", "0" * 32)
    assert missing.code != 0
    assert "No commit has the id" in missing.err
