"""SQL only reads, and only tables of the lake: refused by us first, and by the engines too."""

from __future__ import annotations

import duckdb
import pytest

from tests.cases import load
from tests.query.conftest import local
from tests.served import home
from tests.spark import shared_session
from trunkline import Lake
from trunkline.engine import sql as engine_sql
from trunkline.errors import InvalidQuery, NotAllowed, NotFound
from trunkline.query.names import parse
from trunkline.tables.describe import describe
from trunkline.tables.reading.duck import connect

REFUSED = [line for case in load("refused_sql.case") for line in case]


@pytest.mark.parametrize("case", REFUSED)
def test_refused(made: Lake, case: str):
    engine, _, text = case.partition(" | ")
    with pytest.raises((NotAllowed, InvalidQuery)) as caught:
        if engine == "duckdb":
            made.sql(text)
        else:
            parse(text, engine)
    assert "\n" not in caught.value.message
    if not isinstance(caught.value, InvalidQuery):
        assert caught.value.exit_code == 5


@pytest.mark.parametrize(
    "text",
    [
        "SELECT transform(array(1, 2), x -> x + 1) FROM orders",
        "SELECT * FROM range(3) LATERAL VIEW explode(array(1)) t AS x",
        "SELECT * FROM explode(array(1, 2))",
        'SELECT extract(day FROM "2020-01-01"), trim(BOTH \'x\' FROM "xax")',
        "SELECT a.* FROM orders a JOIN orders b USING (id)",
    ],
)
def test_spark_reads(text: str):
    assert parse(text, "spark").tree is not None


@pytest.mark.parametrize(
    "text",
    [
        "FROM orders",
        "TABLE orders",
        "VALUES (1), (2)",
        "SELECT * FROM unnest([1, 2]), generate_series(1, 3), range(2)",
        "PIVOT orders ON id USING sum(amount)",
        "SELECT x AT TIME ZONE 'UTC' FROM (SELECT now() AS x)",
        "SELECT list_transform([1], lambda x: x + 1), [x for x in [1, 2] if x > 1]",
        "/* a */ SELECT 1 -- b",
        "SELECT * EXCLUDE (id) FROM orders QUALIFY row_number() OVER () = 1",
        "SELECT 'INSERT; DROP' AS read_csv",
    ],
)
def test_duckdb_reads(text: str):
    assert parse(text, "duckdb").tree is not None


@local
def test_a_file_of_spark_is_no_table(lake: Lake):
    shared_session()
    with pytest.raises(NotFound, match="parquet"):
        lake.sql("SELECT * FROM parquet.`/etc`", engine="spark")


@pytest.mark.parametrize(
    "text, said",
    [
        ("SELECT /*+ x(/*+ x */ 1 */ 2", "hint"),
        ("SELECT * FROM t ?AT JOIN u", "Syntax error"),
        ("SELECT 1eBD", "Syntax error"),
        ("EXPLAIN/*+x' bait/**/(1) ", "."),
    ],
)
def test_what_only_the_parser_stumbles_over(text: str, said: str):
    with pytest.raises((InvalidQuery, NotAllowed), match=said):
        parse(text, "spark")


BEHIND_US = [
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM '/etc/hosts.csv'",
    "COPY (SELECT 1) TO '/tmp/trunkline-test.csv'",
    "ATTACH '/tmp/trunkline-test.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "SET allowed_paths = ['/etc/passwd']",
    "SET lock_configuration = false",
    "SET threads = 1",
    "SELECT * FROM lake",
]


@pytest.mark.parametrize("text", BEHIND_US)
def test_duckdb_itself_is_locked(lake: Lake, text: str):
    """As if what we refuse had passed."""
    core = home(lake)._core
    with core.database.read() as session:
        from trunkline.lake.core import resolve_commit
        from trunkline.model.refs import parse_ref

        commit = resolve_commit(session, parse_ref("orders"))[1]
    table = describe(core, core.tree(commit), "/", "orders")
    duck = connect(core, {"orders": table})
    with pytest.raises(duckdb.Error):
        duck.cursor().execute(text).fetchall()
    assert duck.cursor().execute("SELECT count(*) FROM orders").fetchall() == [(4,)]


def test_an_object_that_no_table_names_stays_shut(lake: Lake, tmp_path):
    core = home(lake)._core
    duck = connect(core, {})
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    with pytest.raises(duckdb.Error):
        duck.cursor().execute(f"FROM read_csv('{secret}')").fetchall()


@pytest.mark.parametrize("text", ["SELECT * FROM csv.`/etc/passwd`", "SELECT * FROM text.`/etc`"])
def test_spark_itself_reads_no_paths(text: str):
    """As if what we refuse had passed."""
    with pytest.raises(engine_sql.errors()):
        engine_sql.Desk(shared_session())._spark.sql(text).collect()


TWO_WAYS = [
    # Spark goes on with the comment behind a backslash; to others a text begins there.
    "SELECT -- \\\n'\nTRANSFORM(a) USING \"id\" AS (x STRING) FROM VALUES (1) AS t(a) -- '",
    'SELECT 1 AS a, -- \\\n\'\nreflect("java.lang.System", "getProperty", "user.home") -- \'',
    "SELECT 1, -- \\\n'\n(SELECT count(*) FROM customers) -- '",
    "SELECT 1, -- \\\n'\n(SELECT count(*) FROM text.`/etc/passwd`) -- '",
    "SELECT 1 -- \\\n, (SELECT count(*) FROM customers)",
    "SELECT 1 -- \\\n FROM orders",
    'EXPLAIN SELECT 1, -- \\\n\'\nreflect("a", "b") -- \'',
]


@local
@pytest.mark.parametrize("text", TWO_WAYS)
def test_what_spark_reads_otherwise_is_refused(lake: Lake, text: str):
    """What passes is judged again by what Spark makes of it."""
    parse(text, "spark")
    shared_session()
    with pytest.raises(NotAllowed) as caught:
        lake.sql(text, engine="spark").rows()
    assert "\n" not in caught.value.message


@local
def test_files_of_a_table_have_no_names_on_spark(lake: Lake):
    shared_session()
    for text in ("SELECT _metadata FROM orders", "SELECT _metadata.file_path FROM orders"):
        with pytest.raises((InvalidQuery, NotAllowed)):
            lake.sql(text, engine="spark").rows()


@local
def test_spark_queries_do_not_see_each_other(lake: Lake):
    shared_session()
    lake.sql("SELECT 1 FROM orders, Mixed.name, orders AT 'v1' o", engine="spark")
    desk = lake._asked().desk(shared_session)
    desk.ask("SELECT 1", {}, None)
    assert desk._spark.sql("SHOW VIEWS").count() == 0
    for name in ("orders", "`Mixed.name`", "`orders@v1`"):
        with pytest.raises(engine_sql.errors()):
            desk._spark.sql(f"SELECT * FROM {name}")
    assert lake.sql("SELECT count(*) FROM orders", engine="spark").rows() == [(4,)]
