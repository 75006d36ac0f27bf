"""What mode together and append allow: told from Spark's plans, for many queries at once."""

import contextlib

import pytest
from pyspark.errors import AnalysisException

from tests.spark import shared_session
from trunkline.engine.promises import check
from trunkline.errors import InvalidSpec, TransformFailed
from trunkline.pipelines import sql_promises
from trunkline.pipelines.sqltext import parse

COLUMNS = "day string, zone string, id int, v double, tags array<string>"
BY_DAY = {"t": ("day",), "u": ("day",)}
BY_BOTH = {"t": ("day", "zone"), "u": ("day", "zone")}
ROWS: dict[str, tuple[str, ...]] = {"t": ()}


@pytest.fixture(scope="module")
def frames():
    spark = shared_session().spark.newSession()
    made = {
        "t": spark.createDataFrame([("1", "a", 1, 1.0, ["x"])], COLUMNS),
        "u": spark.createDataFrame([("1", "a", 1, 1.0, ["x"])], COLUMNS),
        "fixed": spark.createDataFrame(
            [("a", 1, 2.0, "1")], "zone string, id int, rate double, d string"
        ),
    }
    for name, frame in made.items():
        frame.createOrReplaceTempView(name)
    return made


def broken(frames, sql, parts, mode="together"):
    """What is said about a query; nothing if it is allowed."""
    spark = frames["t"].sparkSession
    try:
        check(mode, parts, frames, {"": spark.sql(sql)})
    except TransformFailed as refused:
        return refused.message
    return ""


SUMS = "WITH c AS (SELECT day, sum(v) AS s FROM t GROUP BY day)"
NUMBERED = "SELECT *, row_number() OVER (PARTITION BY day ORDER BY v) AS n FROM t"
ALLOWED = [
    "SELECT * FROM t",
    "SELECT day, upper(zone) AS zone, v * 2 AS w FROM t WHERE v > 3 ORDER BY v",
    "SELECT day, sum(v) AS s, count(DISTINCT id) AS n FROM t GROUP BY day",
    "SELECT to_date(day) AS day, sum(v) AS s FROM t GROUP BY to_date(day)",
    "SELECT CAST(day AS date) AS day, sum(v) AS s FROM t GROUP BY 1 HAVING count(*) > 1",
    "SELECT d AS day, n FROM (SELECT day AS d, count(*) AS n FROM t GROUP BY day) ORDER BY n",
    "SELECT day, zone, sum(v) AS s FROM t GROUP BY day, ROLLUP(zone)",
    "SELECT *, lag(v) OVER (PARTITION BY zone, day ORDER BY id) AS b FROM t",
    f"SELECT * FROM ({NUMBERED}) WHERE n = 1",
    "SELECT DISTINCT day, zone FROM t",
    "SELECT day, tag FROM t LATERAL VIEW explode(tags) e AS tag",
    "SELECT t.day, t.v * rate AS v FROM t JOIN fixed ON t.zone = fixed.zone",
    "SELECT t.*, rate FROM t LEFT JOIN fixed USING (id)",
    "SELECT * FROM t WHERE id IN (SELECT id FROM fixed)",
    "SELECT *, v / (SELECT sum(rate) FROM fixed) AS share FROM t",
    "SELECT * FROM t LEFT ANTI JOIN fixed ON t.id = fixed.id",
    "SELECT t.day, u.v FROM t JOIN u ON t.day = u.day AND t.id = u.id",
    "SELECT t.day, u.v FROM t, u WHERE t.id = u.id AND u.day = t.day",
    "SELECT day, t.v, u.v AS w FROM t LEFT JOIN u USING (day, id)",
    "SELECT day, t.v, u.v AS w FROM t FULL OUTER JOIN u USING (day, id)",
    "SELECT u.day, t.v FROM t RIGHT JOIN u ON t.day = u.day",
    "SELECT * FROM t LEFT SEMI JOIN u ON t.day = u.day AND t.id = u.id",
    "SELECT * FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.day = t.day AND u.id = t.id)",
    "SELECT * FROM t WHERE (day, id) NOT IN (SELECT day, id FROM u)",
    "SELECT * FROM t o WHERE v > (SELECT avg(v) FROM t i WHERE i.day = o.day)",
    "SELECT day, id FROM t UNION ALL SELECT day, id FROM u",
    "SELECT day, id FROM t UNION SELECT day, id FROM u",
    "SELECT day, id FROM t EXCEPT SELECT day, id FROM u",
    "SELECT day, id FROM t INTERSECT SELECT day, id FROM u",
    f"{SUMS} SELECT t.day, t.v / c.s AS share FROM t JOIN c ON t.day = c.day",
    f"{SUMS} SELECT a.day FROM c a JOIN c b USING (day)",
    "SELECT * FROM (SELECT day, zone, v FROM t) PIVOT (sum(v) FOR zone IN ('a', 'b'))",
    "SELECT day, x FROM t, LATERAL (SELECT t.v + 1 AS x)",
    "SELECT d AS day, rate FROM fixed",
    "SELECT t.day, x.s FROM t, LATERAL (SELECT sum(v) AS s FROM u WHERE u.day = t.day) x",
]  # fmt: skip

REFUSED = {
    f"{SUMS} SELECT day, s - lag(s) OVER (ORDER BY day) AS more FROM c": "A window",
    "SELECT *, sum(v) OVER (PARTITION BY zone) AS s FROM t": "A window",
    "SELECT max(day) AS day, sum(v) AS s FROM t": "An aggregate",
    "SELECT zone, max(day) AS day FROM t GROUP BY zone": "An aggregate",
    "SELECT left(day, 1) AS day, sum(v) AS s FROM t GROUP BY left(day, 1)": "An aggregate",
    "SELECT day, sum(v) AS s FROM t GROUP BY ROLLUP(day)": "An aggregate",
    "SELECT *, v / (SELECT sum(v) FROM t) AS share FROM t": "An aggregate",
    "SELECT * FROM t WHERE id NOT IN (SELECT id FROM u)": "A subquery",
    "SELECT * FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)": "A subquery",
    "SELECT * FROM t WHERE v > (SELECT avg(v) FROM u WHERE u.day < t.day)": "An aggregate",
    "SELECT day, s FROM t, LATERAL (SELECT sum(v) AS s FROM u WHERE u.id = t.id)": "An aggregate",
    "SELECT t.*, u.v AS w FROM t LEFT JOIN u ON t.id = u.id": "A join",
    "SELECT * FROM t LEFT ANTI JOIN u ON t.id = u.id": "A join",
    "SELECT * FROM t LEFT SEMI JOIN u ON t.id = u.id AND t.day > u.day": "A join",
    "SELECT coalesce(t.day, u.day) AS day FROM t FULL OUTER JOIN u ON t.id = u.id": "A join",
    "SELECT d AS day, rate FROM fixed LEFT JOIN t ON fixed.id = t.id": "A join",
    "SELECT t.day, u.v FROM t JOIN u ON t.id = u.id": "its column day",
    "SELECT t.day, u.v FROM t JOIN u ON t.day = date_add(u.day, 1)": "its column day",
    "SELECT date_add(day, 1) AS day, v FROM t": "its column day",
    "SELECT zone AS day, v FROM t": "its column day",
    "SELECT day, id FROM t UNION ALL SELECT zone, id FROM u": "its column day",
    "SELECT DISTINCT zone, '1' AS day FROM t": "DISTINCT",
    "SELECT '1' AS day, id FROM (SELECT id FROM t EXCEPT SELECT id FROM u)": "EXCEPT",
    "SELECT * FROM t ORDER BY v LIMIT 3": "LIMIT",
    "SELECT t.day, count(*) FROM t RIGHT JOIN u ON t.day = u.day GROUP BY t.day": "An aggregate",
}  # fmt: skip

OF_ROWS = [
    "SELECT *, v * 2 AS w FROM t WHERE v > 1",
    "SELECT t.*, rate FROM t LEFT JOIN fixed USING (id)",
    "SELECT t.* FROM t JOIN u ON t.id = u.id WHERE t.id NOT IN (SELECT id FROM fixed)",
    "SELECT id FROM t UNION ALL SELECT id + 1 FROM t",
    "SELECT t.id, s FROM t JOIN (SELECT id, sum(v) AS s FROM u GROUP BY id) x ON t.id = x.id",
    "SELECT day, tag FROM t LATERAL VIEW explode(tags) e AS tag",
]

NOT_OF_ROWS = {
    "SELECT count(*) AS n FROM t": "An aggregate",
    "SELECT day, sum(v) AS s FROM t GROUP BY day": "An aggregate",
    "SELECT DISTINCT id FROM t": "DISTINCT",
    "SELECT id, row_number() OVER (PARTITION BY id ORDER BY v) AS n FROM t": "A window",
    "SELECT id FROM t LIMIT 1": "LIMIT",
    "SELECT a.id FROM t a JOIN t b ON a.id = b.id": "A join",
    "SELECT fixed.id FROM fixed LEFT JOIN t ON fixed.id = t.id": "A join",
    "SELECT fixed.id FROM fixed LEFT ANTI JOIN t ON fixed.id = t.id": "A join",
    "SELECT id FROM t EXCEPT SELECT id FROM fixed": "EXCEPT",
    "SELECT id FROM fixed WHERE id IN (SELECT id FROM t)": "A subquery",
    "SELECT id, v - (SELECT avg(v) FROM t) AS w FROM t": "An aggregate",
    "SELECT t.id FROM t FULL OUTER JOIN fixed ON t.id = fixed.id": "A join",
}


def test_together_allows_what_keeps_partitions_apart(frames):
    assert {sql: said for sql in ALLOWED if (said := broken(frames, sql, BY_DAY))} == {}


def test_together_refuses_what_brings_partitions_together_and_names_it(frames):
    said = {sql: broken(frames, sql, BY_DAY) for sql in REFUSED}
    wrong = {
        sql: said[sql]
        for sql, word in REFUSED.items()
        if word not in said[sql] or bool(word) != bool(said[sql])
    }
    assert wrong == {}


def test_all_columns_of_a_partition_count(frames):
    both = "SELECT day, zone, sum(v) AS s FROM t GROUP BY zone, day"
    assert broken(frames, both, BY_BOTH) == ""
    assert "whatever their day, zone" in broken(
        frames, "SELECT day, 'a' AS zone, sum(v) AS s FROM t GROUP BY day", BY_BOTH
    )
    crossed = "SELECT t.day, u.zone FROM t CROSS JOIN u"
    assert broken(frames, crossed, {"t": ("day",), "u": ("zone",)}) == ""


def test_append_allows_what_looks_at_one_new_row_at_a_time(frames):
    said = {sql: broken(frames, sql, ROWS, "append") for sql in OF_ROWS}
    assert {sql: words for sql, words in said.items() if words} == {}


def test_append_refuses_what_looks_at_several_rows(frames):
    said = {sql: broken(frames, sql, ROWS, "append") for sql in NOT_OF_ROWS}
    assert {sql: said[sql] for sql, word in NOT_OF_ROWS.items() if word not in said[sql]} == {}


def test_functions_of_rows_and_groups(frames):
    def refused(frame, parts=BY_DAY):
        try:
            check("together", parts, frames, {"": frame})
        except TransformFailed as error:
            return error.message
        return ""

    t = frames["t"]
    assert refused(t.mapInPandas(lambda pages: pages, COLUMNS)) == ""
    assert refused(t.groupBy("day").applyInPandas(lambda page: page, COLUMNS)) == ""
    assert refused(t.dropDuplicates(["day", "id"])) == ""
    assert "dropDuplicates" in refused(t.dropDuplicates(["id"]))
    assert "applyInPandas" in refused(t.groupBy("zone").applyInPandas(lambda page: page, COLUMNS))
    assert "its column day" in refused(
        t.withColumnRenamed("day", "d").mapInPandas(lambda pages: pages, "day string")
    )
    pairs = t.groupBy("day").cogroup(frames["u"].groupBy("day"))
    assert refused(pairs.applyInPandas(lambda one, other: one, COLUMNS)) == ""
    loose = t.groupBy("id").cogroup(frames["u"].groupBy("id"))
    assert "FlatMapCoGroups" in refused(loose.applyInPandas(lambda one, other: one, COLUMNS))
    fetched = t.sparkSession.createDataFrame([("1", 2)], "day string, n int")
    assert "fetched itself" in refused(fetched)
    assert refused(t.join(fetched, "day")) == ""


# -- what the text alone tells ------------------------------------------------------------------

FROMS = [
    "t",
    "(SELECT day AS d, day, zone, id, v FROM t)",
    "(SELECT zone AS d, day, id, v FROM t) x",
    "(SELECT to_date(day) AS d, zone AS day, v FROM t) x",
    "(SELECT * FROM t WHERE zone = day) y",
    "(SELECT zone, day AS id, v FROM t UNION ALL SELECT zone, day, v FROM u) x",
    "(SELECT '1' AS d, day AS zone, v FROM t) AS x(zone, d, v)",
    "(SELECT * FROM fixed f JOIN t USING (id))",
    "(SELECT t.*, d FROM t JOIN fixed ON fixed.d = t.day)",
    "(SELECT t.*, d FROM t JOIN fixed ON fixed.d = left(t.day, 1))",
    "(SELECT coalesce(t.day, u.day) AS d, t.v, t.zone FROM t FULL JOIN u ON t.day = u.day)",
    "(SELECT d, zone, rate AS v FROM fixed UNION ALL SELECT day, zone, v FROM t)",
    "(SELECT day AS d, zone, sum(v) AS v FROM t GROUP BY ALL)",
    "t TABLESAMPLE (50 PERCENT)",
    "fixed",
    "(SELECT t.day, t.zone, u.v FROM t JOIN u ON t.zone = u.zone)",
    "(SELECT a.* FROM t a, t b WHERE a.id = b.id AND b.zone = a.day)",
]
QUERIES = [
    "SELECT d AS day, count(*) AS n FROM {f} GROUP BY d",
    "SELECT day AS day, count(*) AS n FROM {f} GROUP BY 1",
    "SELECT zone AS day, sum(v) AS s FROM {f} GROUP BY zone",
    "SELECT CAST(day AS date) AS day, zone, max(v) AS v FROM {f} GROUP BY ALL",
    "SELECT max(d) AS day, max(v) AS m FROM {f}",
    "SELECT DISTINCT d AS day, zone FROM {f}",
    "SELECT DISTINCT * FROM {f}",
    "SELECT *, rank() OVER (PARTITION BY zone ORDER BY v) AS r FROM {f}",
    "SELECT *, rank() OVER w AS r FROM {f} WINDOW w AS (PARTITION BY day ORDER BY v)",
    "SELECT *, rank() OVER (PARTITION BY d ORDER BY v) AS r FROM {f}",
    "SELECT * FROM {f} QUALIFY row_number() OVER (PARTITION BY date(day) ORDER BY v) = 1",
    "SELECT * FROM {f} WHERE zone IN (SELECT zone FROM u)",
    "SELECT * FROM {f} WHERE d IN (SELECT day FROM u WHERE v > 1)",
    "SELECT * FROM {f} WHERE EXISTS (SELECT 1 FROM u WHERE u.zone = zone)",
    "SELECT *, (SELECT max(v) FROM u) AS m FROM {f}",
    f"{SUMS} SELECT d AS day, s FROM {{f}} LEFT JOIN c ON c.day = d",
    "WITH c AS (SELECT zone AS z, max(v) AS m FROM u GROUP BY zone) SELECT * FROM {f}",
    "SELECT day FROM {f} INTERSECT SELECT d FROM fixed",
    "SELECT zone AS day FROM {f} UNION SELECT zone FROM fixed",
    "SELECT * FROM {f} LIMIT 5",
    "SELECT * FROM {f} ORDER BY v LIMIT ALL",
    "SELECT day, n FROM {f}, LATERAL (SELECT count(*) AS n FROM u WHERE u.day = d)",
]  # fmt: skip
SEEN_BY_SPARK_ONLY = {
    "SELECT day, sum(v) AS s FROM t GROUP BY ROLLUP(day)",
    "SELECT t.day, u.v FROM t JOIN u ON t.day = date_add(u.day, 1)",
    "SELECT day, id FROM t UNION ALL SELECT zone, id FROM u",
    "SELECT t.day, count(*) FROM t RIGHT JOIN u ON t.day = u.day GROUP BY t.day",
}


def told(sql, parts, mode="together"):
    """What is said about a text without Spark."""
    try:
        sql_promises.check(parse(sql, where="q"), mode, parts, "q")
    except InvalidSpec as refused:
        return refused.message
    return ""


def wrongly_told(frames, texts, parts, mode="together"):
    """Texts that are refused though their plans are not; and how many are refused by both."""
    wrong, both = [], 0
    for sql in texts:
        if told(sql, parts, mode):
            with contextlib.suppress(AnalysisException):  # no query of Spark's
                refused = broken(frames, sql, parts, mode)
                both += bool(refused)
                wrong += [] if refused else [sql]
    return wrong, both


@pytest.mark.slow
def test_texts_are_refused_before_a_job_only_if_their_plans_are(frames):
    made = [query.format(f=source) for query in QUERIES for source in FROMS]
    wrong, both = wrongly_told(frames, [*made, *ALLOWED, *REFUSED], BY_DAY)
    assert wrong == []
    assert both > 100
    wrong, both = wrongly_told(frames, [*made, *OF_ROWS, *NOT_OF_ROWS], ROWS, "append")
    assert wrong == []
    assert both > 100


def test_texts_are_refused_in_the_words_of_their_plans_but_for_a_few():
    said = {sql: told(sql, BY_DAY) for sql in REFUSED}
    assert {sql for sql, words in said.items() if not words} == SEEN_BY_SPARK_ONLY
    other = {sql for sql, word in REFUSED.items() if said[sql] and word not in said[sql]}
    assert other == {"SELECT t.day, u.v FROM t JOIN u ON t.id = u.id"}, "the join is named"
    of_rows = {sql: told(sql, ROWS, "append") for sql in NOT_OF_ROWS}
    assert not {sql for sql, word in NOT_OF_ROWS.items() if word not in of_rows[sql]}
