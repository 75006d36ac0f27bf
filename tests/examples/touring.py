"""The tours of the examples, given once, on the Spark of the tests: then their lakes are asked."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import trunkline as tl
from tests.docs.console import ROOT
from tests.spark import shared_session
from trunkline.cli.entry import main

EXAMPLES = ROOT / "examples"


def assert_pictured(field: str, place: Path) -> None:
    """The picture of an example shows the graph that its tour leaves."""
    made = place.parent / f"{field}.svg"
    assert main(["draw", "--svg", str(made), "--lake", str(place), "--quiet"]) == 0
    assert (EXAMPLES / field / "graph.svg").read_text() == made.read_text()


@contextmanager
def toured(field: str, place: Path, *options: str) -> Iterator[tl.Lake]:
    """The lake that `trunkline demo FIELD` leaves at `place`; its files are beside it."""
    shared_session()
    with pytest.MonkeyPatch.context() as environment:
        for name in list(os.environ):
            if name.startswith("TRUNKLINE_"):
                environment.delenv(name)
        environment.setenv("XDG_CONFIG_HOME", str(place.parent / "no-config"))
        arguments = ["demo", field, "--folder", str(place), "--no-serve", "--quiet", *options]
        assert main(arguments) == 0
    with tl.open(place) as lake:
        yield lake
