"""Keys that the plan of a DataFrame tells of, on a real Spark."""

from __future__ import annotations

from typing import Any

import pytest

from trunkline.engine.session import Session
from trunkline.engine.uniqueness import Keys

GROUPED = "SELECT k, g, count(*) AS c FROM t GROUP BY k, g"


@pytest.fixture
def t(spark: Session) -> Any:
    frame = spark.spark.range(9).selectExpr("id", "id % 3 AS k", "id % 2 AS g")
    frame.createOrReplaceTempView("t")
    spark.spark.sql(GROUPED).createOrReplaceTempView("v")
    yield frame
    for view in "tv":
        spark.spark.catalog.dropTempView(view)


@pytest.mark.parametrize(
    ("sql", "certain"),
    [
        (GROUPED, ["kg", "kgc"]),
        ("SELECT c, g AS other, k FROM v WHERE c > 1 ORDER BY k LIMIT 3", ["other k"]),
        (f"WITH x AS ({GROUPED}) SELECT a.*, 1 AS one FROM (SELECT * FROM x) AS a", ["kg"]),
        ("SELECT DISTINCT k FROM t", ["k"]),
        ("SELECT count(*) AS c FROM t", ["c"]),
        ("SELECT k, sum(id) AS s FROM t GROUP BY k HAVING sum(id) > 1", ["k"]),
        ("SELECT *, sum(c) OVER (PARTITION BY k) AS z FROM v", ["kg"]),
        ("SELECT k, g, count(*) AS c FROM t GROUP BY CUBE (k, g)", []),
        ("SELECT k, g, explode(array(1, 2)) AS e FROM v", []),
        ("SELECT k % 2 AS k, g FROM v", []),
        ("SELECT k, g FROM v UNION ALL SELECT k, g FROM v", []),
        ("SELECT v.k, v.g, t.id FROM v JOIN t ON v.k = t.k", []),
        ("SELECT * FROM t", []),
    ],
)
def test_what_was_grouped_by_is_a_key(spark: Session, t: Any, sql: str, certain: list[str]):
    frame = spark.spark.sql(sql)
    keys = Keys(frame)

    def told(names: str) -> bool:
        wanted = names.split() if " " in names else list(names)
        return keys.certain([frame.columns.index(name) for name in wanted])

    assert all(told(names) for names in certain)
    if not certain:
        assert not keys.certain(range(len(frame.columns)))
    elif len(certain[0]) > 1:
        assert not told("k")
        assert not told("c")


def test_rows_without_their_doubles_have_a_key(t: Any):
    keys = Keys(t.dropDuplicates(["k"]))
    assert keys.certain([1])
    assert not keys.certain([0, 2])


def test_a_plan_that_cannot_be_seen_tells_nothing():
    assert not Keys(object()).certain([0])  # type: ignore[arg-type]
