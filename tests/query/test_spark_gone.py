"""What is said of a Spark that dies under a query."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]

from trunkline.errors import Unavailable
from trunkline.query.edits import Edited
from trunkline.query.spark_engine import explain


@pytest.mark.parametrize("error", [ConnectionRefusedError(111, "refused"), Py4JNetworkError()])
def test_it_is_not_the_fault_of_the_query(error: Exception):
    told = explain(error, Edited("SELECT 1"))
    assert isinstance(told, Unavailable)
    assert told.message == "Spark died while it was at the query."
