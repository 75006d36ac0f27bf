"""SQL of people is judged as Spark reads it, whoever looked at the text before."""

from __future__ import annotations

import json

import pytest

from tests.spark import shared_session
from trunkline.engine import statementparts as parts
from trunkline.engine.sessions import new_session, own_session
from trunkline.engine.sql import Desk
from trunkline.engine.statements import UnknownFunction, run_step
from trunkline.errors import NotAllowed

HOME = '("java.lang.System", "getProperty", "user.home")'
# Spark goes on with the comment on the next line; to others a text begins there.
CONTINUED = "-- \\\n'\n"
FIELD = {"name": "a", "type": "string", "nullable": True}
DEFAULT = {**FIELD, "metadata": {"EXISTS_DEFAULT": f"reflect{HOME}", "CURRENT_DEFAULT": "1"}}
CLASSES = {**FIELD, "metadata": {}, "type": {"type": "udt", "class": "java.lang.Object"}}
DEFAULTED, CLASSED = (
    json.dumps({"type": "struct", "fields": [one]}).replace("\\", "\\\\")
    for one in (DEFAULT, CLASSES)
)
REFUSED = [
    f"SELECT from_json('{{}}', '{DEFAULTED}').a",
    f"SELECT from_json('{{}}', '{CLASSED}').a",
    f"SELECT from_json('{{}}', '{DEFAULTED[:9]}' || '{DEFAULTED[9:]}').a",
    f"SELECT from_csv('', '{DEFAULTED}').a",
    f"SELECT from_xml('<a/>', '{CLASSED}')",
    f"SELECT variant_get(parse_json('{{}}'), '$', '{CLASSED}')",
    f"SELECT try_variant_get(parse_json('{{}}'), '$', '{CLASSED}')",
    f"SELECT {CONTINUED}TRANSFORM(a) USING 'id' AS (x STRING) FROM VALUES (1) AS t(a) -- '",
    "FROM VALUES (1) AS t(a) MAP a USING 'id' AS x",
    f"SELECT 1 AS a, {CONTINUED}reflect{HOME} AS x -- '",
    f"SELECT java_method{HOME}",
    f"SELECT try_reflect{HOME}",
    f"SELECT `REFLECT`{HOME}",
    f"SELECT system.builtin.reflect{HOME}",
    f"SELECT builtin.reflect{HOME}",
    f"SELECT IDENTIFIER('reflect'){HOME}",
    f"SELECT IDENTIFIER('re' || 'flect'){HOME}",
    f"VALUES (reflect{HOME})",
    f"WITH a AS (SELECT reflect{HOME} AS x) SELECT * FROM a",
    f"SELECT (SELECT reflect{HOME})",
    f"SELECT 1 WHERE EXISTS (SELECT reflect{HOME})",
    f"SELECT 1 WHERE 1 IN (SELECT reflect{HOME})",
    f"SELECT sum(id) FILTER (WHERE reflect{HOME} = 'x') FROM range(3)",
    f"SELECT row_number() OVER (PARTITION BY reflect{HOME}) FROM range(3)",
    f"SELECT row_number() OVER w FROM range(3) WINDOW w AS (ORDER BY reflect{HOME})",
    f"SELECT * FROM range(3) ORDER BY reflect{HOME}",
    f"SELECT id FROM range(3) GROUP BY id HAVING reflect{HOME} = 'x'",
    f"SELECT id FROM range(3) GROUP BY GROUPING SETS ((id), (reflect{HOME}))",
    f"SELECT * FROM range(3) LIMIT length(reflect{HOME})",
    f"SELECT * FROM range(length(reflect{HOME}))",
    f"SELECT * FROM range(3) PIVOT (max(reflect{HOME}) FOR id IN (1))",
    f"SELECT * FROM range(3) LATERAL VIEW explode(array(reflect{HOME})) t AS x",
    "SELECT * FROM range(3) LATERAL VIEW reflect(1) t AS x",
    f"SELECT * FROM range(3), LATERAL (SELECT reflect{HOME})",
    f"SELECT * FROM range(3) a JOIN range(3) b ON reflect{HOME} = 'x'",
    f"SELECT transform(array(1), x -> reflect{HOME})",
    f"SELECT CASE WHEN true THEN reflect{HOME} END",
    f"SELECT 1 UNION ALL SELECT reflect{HOME}",
    f"FROM range(3) |> WHERE reflect{HOME} = 'x'",
    f"FROM range(3) |> EXTEND reflect{HOME} AS x",
    f"FROM range(3) |> AGGREGATE max(reflect{HOME})",
    f"SELECT mask('a', upperChar => reflect{HOME})",
    f"SELECT listagg(id, ',') WITHIN GROUP (ORDER BY reflect{HOME}) FROM range(3)",
    f"SELECT /*+ REPARTITION(3, reflect{HOME}) */ 1",
    f"EXPLAIN SELECT reflect{HOME}",
    "SELECT /*+ unknown(a) */ 1",
    "SELECT input_file_name()",
    "SELECT from_xml('<a/>', 'a int', map('rowValidationXSDPath', '/etc/passwd'))",
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '/etc/passwd'))",
    "SELECT from_avro(x'00', '{}', map('avroSchemaUrl', 'file:///etc/passwd'))",
    "SELECT from_protobuf(x'00', 'A', '/etc/passwd')",
    "SELECT * FROM python_worker_logs()",
    "SELECT xpath('<!DOCTYPE a SYSTEM \"http://127.0.0.1:9/\"><a/>', '/a')",
    "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file:///dev/zero\"><a/>', '/a')",
    "SELECT * FROM parquet.`/etc`",
    "SELECT * FROM text.`/etc/passwd`",
    "SELECT * FROM a",
    "SELECT * FROM a, (WITH a AS (SELECT 1) SELECT * FROM a)",
    "WITH a AS (SELECT * FROM a) SELECT * FROM a",
    "SELECT * FROM IDENTIFIER('a')",
    "SELECT * FROM a VERSION AS OF 1",
    "SELECT * FROM STREAM range(3)",
    "TABLE a",
    "EXECUTE IMMEDIATE 'SELECT 1'",
    "BEGIN SELECT 1; END",
    "DECLARE a = 1",
    "SET",
    "SET spark.sql.variable.substitute = true",
    "SET VAR a = 1",
    "ADD JAR '/tmp/a.jar'",
    "CACHE TABLE a AS SELECT 1",
    "CREATE TEMPORARY FUNCTION f AS 'a' USING JAR '/a.jar'",
    "CREATE TEMPORARY VIEW a AS SELECT 1",
    "INSERT OVERWRITE DIRECTORY '/tmp/a' USING csv SELECT 1",
    "FROM range(3) INSERT INTO a SELECT *",
    "SHOW FUNCTIONS",
    "DESCRIBE FUNCTION reflect",
    "CALL system.a()",
]
# What Spark takes for its own, whoever looks at it letter by letter, and what it may take for that.
BEFORE = (
    "builtin", "system.builtin", "`SYSTEM`.Builtin", "`ſystem`.`builtin`", "`system`.`buİltin`",
    "`buıltin`", "session",
)  # fmt: skip
LOOKED_INTO = parts.DENIED | parts.SCHEMAS.keys() | parts.MOST_ARGUMENTS.keys()
REFUSED += [
    f"SELECT {before}.{text.removeprefix('SELECT ')}"
    for text in REFUSED
    if text.removeprefix("SELECT ").partition("(")[0] in LOOKED_INTO
    for before in BEFORE
]


@pytest.fixture(scope="module")
def desk() -> Desk:
    return Desk(shared_session())


@pytest.mark.parametrize("text", REFUSED)
def test_refused(desk: Desk, text: str):
    with pytest.raises((NotAllowed, UnknownFunction)) as caught:
        desk.ask(text, {}, None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", [*REFUSED, "SELECT * FROM system.b", "EXPLAIN SELECT 1"])
def test_refused_in_a_pipeline(desk: Desk, text: str):
    with pytest.raises(NotAllowed) as caught:
        run_step(desk._spark, desk._java, text, ["b"])
    assert "\n" not in str(caught.value)


def test_a_pipeline_reads_what_it_knows_and_calls_what_spark_was_given(desk: Desk):
    desk._spark.range(3).createOrReplaceTempView("a")
    desk._spark.sql("CREATE TEMPORARY FUNCTION theirs(n BIGINT) RETURNS BIGINT RETURN n + 1")
    found = run_step(
        desk._spark, desk._java, "WITH b AS (FROM a) SELECT max(theirs(id)) FROM b", ["A"]
    )
    assert found.first() == (3,)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM ſales",
        "SELECT * FROM `ſales`",
        "SELECT * FROM `books\u0307`",
        "WITH `\ufb01les` AS (SELECT 1) SELECT * FROM files",
        "WITH `straße` AS (SELECT 1) SELECT * FROM strasse",
    ],
)
def test_a_name_that_is_nearly_an_input_is_none(desk: Desk, text: str):
    """Spark would look for it among the tables of its own catalog."""
    from pyspark.errors import ParseException

    with pytest.raises((NotAllowed, ParseException)):
        run_step(desk._spark, desk._java, text, ["sales", "books"])


def test_a_session_that_tells_upper_from_lower_case_is_judged_so(desk: Desk):
    spark = new_session(shared_session(), {"spark.sql.caseSensitive": "true"})
    spark.range(3).createOrReplaceTempView("a")
    assert run_step(spark, desk._java, "SELECT * FROM a", ["a"]).count() == 3
    for text in ("SELECT * FROM A", "WITH B AS (FROM a) FROM b"):
        with pytest.raises(NotAllowed, match="is none"):
            run_step(spark, desk._java, text, ["a"])


@pytest.mark.parametrize(
    "text, value",
    [
        ("SELECT 'a -- \\\n' || 'b'", "a -- \nb"),
        ("SELECT max(x) FROM (SELECT transform(array(1, 2), y -> y + 1)[1] AS x)", 3),
        ("WITH RECURSIVE a(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM a WHERE n < 5) FROM a", 1),
        ("SELECT /*+ BROADCAST(b) */ count(*) FROM range(3) a JOIN range(2) b USING (id)", 2),
        ("FROM range(4) |> WHERE id > 2 |> SELECT id + 1", 4),
        ("SELECT sum(x) FROM range(2) LATERAL VIEW explode(array(1, 2)) t AS x", 6),
        ("SELECT from_xml('<p><a>1</a></p>', 'a int').a", 1),
        ("SELECT from_json('{\"a\": 1}', 'a int').a", 1),
        ("SELECT builtin.from_json('{\"a\": 1}', 'a int').a", 1),
        ("SELECT from_json('{\"a\": 1}', builtin.schema_of_json('{\"a\": 1}')).a", 1),
        ("SELECT system.builtin.abs(-1)", 1),
        ("SELECT from_json('{\"a\": 1}', schema_of_json('{\"a\": 1}')).a", 1),
        ("SELECT variant_get(parse_json('{\"a\": 1}'), '$.a', 'int')", 1),
        ("DESCRIBE SELECT 1 AS a", "a"),
    ],
)  # fmt: skip
def test_read(desk: Desk, text: str, value: object):
    first = desk.ask(text, {}, None).first()
    assert first is not None and first[0] == value


def test_parameters_are_values(desk: Desk):
    given = {"a": "x' || reflect('java.lang.Runtime', 'getRuntime') || '", "b": 2}
    assert list(desk.ask("SELECT :a, :b + 1", {}, given).first() or ()) == [given["a"], 3]
    with pytest.raises(NotAllowed, match="two ways"):
        desk.ask("SELECT * FROM IDENTIFIER(:a)", {}, {"a": "parquet.`/etc`"})


def test_plans_are_shown_to_those_who_may_see_places(desk: Desk):
    with pytest.raises(NotAllowed):
        desk.ask("EXPLAIN SELECT 1", {}, None)
    found = desk.ask("EXPLAIN EXTENDED SELECT 1", {}, None, places=True).first()
    assert found is not None and "Physical Plan" in found[0]


def test_every_function_of_spark_was_looked_at(desk: Desk):
    """A new one is refused until it is in one of the lists."""
    state = shared_session().spark._jsparkSession.sessionState()
    for registry, offered in (
        (state.functionRegistry(), parts.FUNCTIONS),
        (state.tableFunctionRegistry(), parts.TABLE_FUNCTIONS),
    ):
        names = str(registry.listFunction().mkString(" ")).split()
        own = {name.removeprefix("system.builtin.") for name in names}
        assert own - offered - parts.DENIED == set()
        assert offered - own == set()


@pytest.mark.parametrize("before", ["", "builtin.", "system.builtin."])
@pytest.mark.parametrize("called", [f"reflect{HOME}", "input_file_name()"])
def test_sessions_for_what_is_judged_have_no_such_functions(desk: Desk, before: str, called: str):
    """As if what is refused had passed; other sessions of the same Spark have them."""
    from pyspark.errors import AnalysisException

    text = f"SELECT {before}{called}"
    with own_session(shared_session(), "steps", {}, judged=True) as steps:
        for spark in (desk._spark, steps):
            with pytest.raises(AnalysisException, match=r"ROUTINE|SCHEMA_NOT_FOUND|NAMESPACE"):
                spark.sql(text)
    with own_session(shared_session(), "steps", {}) as code:
        assert code.sql(text).count() == 1


def test_settings_and_variables_are_not_put_into_texts(desk: Desk):
    assert desk.ask("SELECT '${env:PATH}'", {}, None).collect()[0][0] == "${env:PATH}"
