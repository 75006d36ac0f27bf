"""What somebody has who did all that the README of an example says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.docs.console import ROOT, first_difference
from trunkline.cli.entry import main

EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Tour:
    field: str
    place: Path
    """The lake that `trunkline demo FIELD` left; its files are beside it."""
    difference: str
    """What the page shows and what happened, where they part."""

    def assert_pictured(self) -> None:
        """The picture of an example shows the graph that its tour leaves."""
        made = self.place.parent / f"{self.field}.svg"
        assert main(["draw", "--svg", str(made), "--lake", str(self.place), "--quiet"]) == 0
        assert (EXAMPLES / self.field / "graph.svg").read_text() == made.read_text()


def follow(field: str, folder: Path) -> Tour:
    difference = first_difference(EXAMPLES / field / "README.md", folder)
    return Tour(field, folder / "home" / field, difference)
