"""What a statement is made of, as Spark tells it, held against what may be; without a Spark."""

from __future__ import annotations

import pytest

from trunkline.engine.statements import Contents, judge, judge_step
from trunkline.errors import NotAllowed

QUERY = "org.apache.spark.sql.catalyst.plans.logical.Project"
KELVIN, FI = "\u212a", "\ufb01"


def reading(*names: str, exact: bool = False) -> Contents:
    return Contents((), (), frozenset((name,) for name in names), exact)


def test_inputs_are_read_in_upper_and_lower_case():
    judge_step(reading("orders", "ORDERS", f"BOO{KELVIN}S"), ["Orders", "books"])
    with pytest.raises(NotAllowed, match='"ORDERS" is none'):
        judge_step(reading("orders", "ORDERS", exact=True), ["orders"])


@pytest.mark.parametrize("name", ["orderſ", f"{FI}les", "İtems", "ıtems", "strasse"])
def test_what_spark_would_look_for_elsewhere_is_no_input(name: str):
    known = ["orders", "files", "items", "straße"]
    with pytest.raises(NotAllowed, match=f'"{name}" is none'):
        judge_step(reading(name), known)
    with pytest.raises(NotAllowed, match="two ways"):
        judge(Contents((QUERY,), (), frozenset({(name,)})), known)
