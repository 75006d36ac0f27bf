"""Names that the lake reserves are hidden unless they are asked for by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline.model.hidden import HIDDEN_NAMES, hidden, shown

PARTS = st.sampled_from(
    [*HIDDEN_NAMES, "a", "_foo", "x_late", "_late.csv", "_table.json5", "day=1", ".hidden", "ü"]
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


@given(PATHS, PATHS)
def test_a_reserved_part_is_hidden_unless_it_is_named(path: str, asked: str):
    reserved = set(path.split("/")) & set(HIDDEN_NAMES)
    assert hidden(path, asked) == bool(reserved - set(asked.split("/")))
    assert not hidden(path, path)
    line = f"{path}\t/_late/\t7".encode()
    assert shown([line], asked) == ([] if hidden(path, asked) else [line])


@pytest.mark.parametrize(
    ("path", "asked", "is_hidden"),
    [
        ("/_quarantine/r/a.parquet", "/**/*.parquet", True),
        ("/_quarantine/r/a.parquet", "/_quarantine/*", False),
        ("/_quarantine/r/a.parquet", "/_quarantin*", True),
        ("/_late/r/a.parquet", "/{_late,_quarantine}/**", False),
        ("/_late/r/a.parquet", "/@(x|_late)/**", False),
        ("/_malformed/r/a.parquet", "/@(x|_late)/**", True),
        ("/t/_table.json", "/t/", True),
        ("/t/_table.json", "/t/_table.json", False),
        ("main/_ingest/x", "main/", True),
        ("main/_ingest/x", "main/_ingest", False),
        ("/_quarantine/r/_table.json", "/_quarantine/**", True),
    ],
)
def test_patterns_and_prefixes(path: str, asked: str, is_hidden: bool):
    assert hidden(path, asked) is is_hidden
