"""The table of types in docs/tables.md is true: every cell of it is tried."""

from __future__ import annotations

import pytest

from tests.oracle.typetable import GOOD, PAGE, page, shown, try_all
from tests.oracle.worlds import World

pytestmark = pytest.mark.slow


def test_every_reader_gives_every_type_or_refuses_it(world: World):
    cells, refused = try_all(world)
    for name, found in cells.items():
        for reader, cell in found.items():
            at_csv = reader == "CSV" and cell.startswith("refused:")
            assert cell in GOOD or at_csv, f"{name} through {reader}: {cell}"
    assert page(shown(cells, refused)) == PAGE.read_text(), "python -m tests.oracle.typetable"
