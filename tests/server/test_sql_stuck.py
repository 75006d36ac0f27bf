"""Queries on Spark that nothing stops: others ask on, on a Spark that was started anew."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.serving import serving
from tests.waiting import until
from trunkline.errors import TimedOut, TrunklineError, Unavailable

# Java looks at every way to part the text into nine, in one call that hears nothing. In VALUES it
# does so before there is a plan, while everybody else waits for theirs.
NEVER = "SELECT * FROM VALUES (repeat('a', 300) RLIKE '^" + "(.*)" * 9 + "b$')"


@pytest.mark.slow
def test_spark_is_ended_when_it_does_not_hear(tmp_path: Path):
    tl.init(tmp_path).close()
    with (
        serving(tmp_path, "--workers", "1", environ={"TRUNKLINE_SQL_TIMEOUT": "3s"}) as server,
        tl.open(server.url) as lake,
    ):

        def answered() -> bool:
            try:
                return lake.sql("SELECT 1", engine="spark").rows() == [(1,)]
            except (TimedOut, Unavailable):
                return False

        until(answered, "Spark to answer")
        with pytest.raises(TrunklineError):
            lake.sql(NEVER, engine="spark").rows()
        assert lake.sql("SELECT 2").rows() == [(2,)]
        until(answered, "a new Spark")
        assert "Spark is ended" in server.log
