"""No text is read in two ways: what we make of it and what Spark makes of it agree, or it is
refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from tests.query.texts import BAIT, Queries, names, texts
from tests.spark import shared_session
from trunkline.engine.sql import Desk
from trunkline.engine.statements import Contents, UnknownFunction, judge
from trunkline.errors import NotAllowed, TrunklineError
from trunkline.model.folding import fold_spark
from trunkline.query.names import parse
from trunkline.query.tokens import calls, tokenize


def test_texts_are_read_in_one_way(tmp_path: Path):
    found = compared(texts(Random(1), 3_000), tmp_path)
    assert found.agreed > 30
    assert found.hidden > 0


@pytest.mark.slow
def test_queries_are_read_in_one_way(tmp_path: Path):
    """Most are compared: both readers make something of them."""
    found = compared(Queries(is_read).texts(Random(1), 3_000), tmp_path)
    assert found.compared > 1_500
    assert found.hidden > 0


def test_names_are_compared_as_spark_does(tmp_path: Path):
    found = compared(names(Random(1), 1_000), tmp_path)
    assert found.compared > 200
    assert 0 < found.agreed < found.compared


class Found(NamedTuple):
    """How many texts were read by us and by Spark, and how many may run.

    In those that are `hidden` Spark alone saw the bait, and was kept from it.
    """

    compared: int = 0
    agreed: int = 0
    hidden: int = 0


def is_read(text: str) -> bool:
    try:
        parse(text, "spark")
    except TrunklineError:
        return False
    return True


def compared(made: Iterable[str], folder: Path) -> Found:
    passed = []
    for text in made:
        try:
            query = parse(text, "spark")
        except TrunklineError:
            continue
        views = [".".join(named.parts) for named in query.tables]
        passed.append((text, views, query.with_views([("", view) for view in views]).text))
    both = agreed = hidden = 0
    for (text, views, _), contents in zip(passed, read(passed, folder), strict=True):
        if contents is None:
            continue
        both += 1
        functions = {fold_spark(name[-1]) for *_, name in contents.functions}
        tables = {fold_spark(name[-1]) for name in contents.relations}
        tokens = tokenize(text, "spark")
        called = {fold_spark(token.text) for token in calls(tokens)}
        is_hidden = BAIT in functions - called or BAIT in tables - set(map(fold_spark, views))
        try:
            judge(contents, views)
        except (NotAllowed, UnknownFunction):
            hidden += is_hidden
            continue
        agreed += 1
        assert not is_hidden, text
        assert BAIT not in functions, text
        assert functions <= {fold_spark(token.text) for token in tokens}, text
    return Found(both, agreed, hidden)


def read(passed: list[tuple[str, list[str], str]], folder: Path) -> list[Contents | None]:
    """All in one call: each by itself would take Python longer than it takes Spark."""
    desk = Desk(shared_session())
    (folder / "texts").write_bytes("\x1e".join(edited for *_, edited in passed).encode())
    desk._java.readAll(desk._spark._jsparkSession, str(folder / "texts"), str(folder / "contents"))
    lines = (folder / "contents").read_text(encoding="utf-8").split("\n")[:-1]
    return [Contents.decode(line) if line else None for line in lines]
