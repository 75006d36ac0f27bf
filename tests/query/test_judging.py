"""Only what DuckDB itself reads as a query over the given views may run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from random import Random
from typing import NamedTuple

import duckdb
import pytest

from tests.query.conftest import local
from tests.query.texts import BAIT, Queries, names, texts
from trunkline import Lake
from trunkline.errors import InvalidQuery, NotAllowed, TrunklineError
from trunkline.query.judging import judge
from trunkline.query.names import parse
from trunkline.tables.reading.duck_functions import SOURCES, is_allowed, is_denied
from trunkline.tables.reading.duck_tree import Misread, NoTree, check_query, decoded

SMUGGLED = [
    "SELECT $1 AS a, $1x$, current_setting('allowed_paths') AS s --$1x$",
    "SELECT $1 AS a, $1x$, (SELECT count(*) FROM duckdb_views()) AS s --$1x$",
    "SELECT $1 AS a, (SELECT count(*) FROM orders) AS n, $1x$, (SELECT sleep_ms(1)) --$1x$",
    "SELECT $1 AS a, $1x$, (SELECT size FROM read_blob('/etc/passwd')) AS s --$1x$",
    "PIVOT orders ON id USING sum(amount), $1x$ current_setting('x') --$1x$",
]
CATALOG = [
    "WITH a AS (SELECT * FROM duckdb_views) SELECT * FROM a",
    "WITH duckdb_views AS (SELECT 1) SELECT * FROM (SELECT 1), system.main.duckdb_views",
    "SELECT pg_get_viewdef(1)",
    "SELECT sum(id) EXPORT_STATE FROM orders",
    "SELECT finalize('x'::BLOB)",
    "SELECT * FROM (SHOW DATABASES)",
    "EXPLAIN (ANALYZE) SELECT 1",
    "EXPLAIN /* a */ ANALYZE SELECT 1",
    "SELECT * FROM histogram('orders', 'id')",
    "PIVOT (SELECT current_setting('x') AS s, 1 AS n) ON s USING sum(n)",
    "PIVOT duckdb_views ON view_name USING count(*)",
]

# To casefold() and to re.IGNORECASE the two names are one.
NEARLY = [
    'WITH "duckdb_viewſ" AS (SELECT 1 AS x) SELECT sql FROM duckdb_views',
    'WITH "ſqlite_master" AS (SELECT 1 AS x) FROM sqlite_master',
    'WITH "pragma_databaſe_list" AS (SELECT 1 AS x) FROM pragma_database_list',
    'WITH "duckdb_\ufb01les" AS (SELECT 1 AS x) FROM duckdb_files',
    'WITH "duckdb_to\u212aens" AS (SELECT 1 AS x) FROM duckdb_tokens',
    'WITH "duckdb_vİews" AS (SELECT 1 AS x) FROM "duckdb_vi̇ews"',
    'WITH "/etc/paſswd.csv" AS (SELECT 1 AS x) FROM "/etc/passwd.csv"',
    'WITH "\u212aeys.csv" AS (SELECT 1 AS x) SELECT (SELECT max(x) FROM "keys.csv")',
    'WITH "keys.csv" AS (SELECT 1 AS x) FROM recurring."keys.csv"',
    'WITH RECURSIVE "ſ" AS (SELECT 1 AS x UNION ALL SELECT 1 FROM s) FROM "ſ"',
]
IN_PIVOTS = [
    'WITH "/etc/paſswd.csv" AS (SELECT 1 AS x) PIVOT "/etc/passwd.csv" ON x USING count(*)',
    'PIVOT (WITH "\u212a" AS (SELECT 1 AS x) FROM k) ON x USING count(*)',
    "PIVOT orders ON id UſING sum(amount)",
    "PIVOT (SELECT id aſ, amount FROM orders) ON id USING sum(amount)",
]


@pytest.mark.parametrize("text", NEARLY)
def test_a_with_hides_only_what_duckdb_takes_for_its_name(text: str):
    with pytest.raises(NotAllowed, match="is none"):
        judge(duckdb.connect(), text, "", READ)


def test_names_of_a_with_are_one_in_upper_and_lower_case():
    for text in ('WITH "Aé" AS (SELECT 1) FROM "aé"', 'WITH "ſ" AS (SELECT 1) FROM "ſ"'):
        judge(duckdb.connect(), text, "", READ)
    kept = "WITH RECURSIVE x(a, b) USING KEY (a) AS (SELECT 1, 2 UNION ALL {}) FROM x"
    judge(duckdb.connect(), kept.format("SELECT a, b FROM recurring.X WHERE false"), "", READ)


def test_aliases_that_are_nearly_one_weigh_what_each_weighs():
    doubled = [f"s{n} + s{n} AS s{n + 1}, 1 AS ſ{n + 1}" for n in range(DEEP)]
    with pytest.raises(InvalidQuery, match="too large"):
        judge(duckdb.connect(), f"SELECT 1 AS s0, {', '.join(doubled)}", "", READ)


@local
@pytest.mark.parametrize("text", SMUGGLED + CATALOG + NEARLY + IN_PIVOTS)
def test_what_another_parser_takes_for_text_is_refused(lake: Lake, text: str):
    with pytest.raises(TrunklineError) as caught:
        lake.sql(text, params={"1": "a"} if "$1" in text else None).rows()
    assert caught.value.http_status in (400, 403, 404)


@local
@pytest.mark.parametrize(
    "text",
    [
        "PIVOT orders ON id USING sum(amount)",
        "PIVOT orders /* a */ ON id USING sum(amount) GROUP BY customer -- b",
        "FROM (PIVOT orders ON id USING first(amount ORDER BY id))",
        "EXPLAIN SELECT * FROM orders",
        "SUMMARIZE orders",
        "UNPIVOT orders ON id, customer",
        "WITH stats(query) AS (SELECT 1) SELECT query FROM stats",
        "WITH RECURSIVE a(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM a WHERE x < 5) FROM a",
        "SELECT nullif(id, 1), id BETWEEN 1 AND 2, list_transform([id], lambda x: x) FROM orders",
    ],
)
def test_what_reads_is_answered(lake: Lake, text: str):
    assert lake.sql(text).rows()


@local
def test_a_function_that_is_not_there_is_told_with_its_place(lake: Lake):
    with pytest.raises(InvalidQuery, match='no function summ.*Did you mean "sum"') as caught:
        lake.sql("SELECT summ(id) FROM orders")
    assert caught.value.excerpt.splitlines()[1] == "       ^^^^^^^^"


def test_every_function_of_duckdb_is_allowed_or_denied():
    rows = duckdb.connect().execute("SELECT DISTINCT function_name FROM duckdb_functions()")
    names = {name for (name,) in rows.fetchall()}
    spelled = {"IS DISTINCT FROM", "IS NOT DISTINCT FROM"}
    neither = [name for name in names - spelled if is_allowed(name) == is_denied(name)]
    assert not neither, "say in duck_functions.py whether people's SQL may call them"
    tables = duckdb.connect().execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type LIKE 'table%'"
    )
    known = {name for (name,) in tables.fetchall()}
    assert known >= SOURCES
    both = {"histogram"}  # an aggregate, and a macro over a table that is named by a text
    assert {name for name in known if is_allowed(name)} - both == SOURCES


DEEP = 30
SLOW = {
    "a long name": "SELECT " + "a." * 12_000 + "a",
    "brackets": "SELECT " + "(" * 20_000 + "1" + ")" * 20_000,
    "lists": "SELECT " + "[" * 20_000 + "1" + "]" * 20_000,
    "not": "SELECT " + "NOT " * 5_000 + "true",
    "minus": "SELECT " + "- " * 5_000 + "1",
    "casts": "SELECT 1" + "::int" * 3_000,
    "sums": "SELECT 1" + "+1" * 3_000,
    "cases": "SELECT " + "CASE WHEN true THEN " * 3_000 + "1" + " END" * 3_000,
    "words": "SELECT 1" + ", 1" * 60_000,
    "queries": " UNION ALL ".join(["SELECT 1"] * 2_000),
    "lambdas": "SELECT " + "list_transform([1], lambda x: " * DEEP + "x" + ")" * DEEP,
    "macros": "SELECT " + "nullif(" * DEEP + "1" + ", 2)" * DEEP,
    "between": "SELECT " + "(" * DEEP + "1" + " BETWEEN 1 AND 2)" * DEEP,
    "aliases": "SELECT 1 AS a0" + "".join(f", a{n} + a{n} AS a{n + 1}" for n in range(DEEP)),
    "stars": "SELECT " + ", ".join(["*"] * 2_000) + " FROM (SELECT " + "1," * 999 + "1)",
    "doubled": "WITH a0 AS (SELECT 1 AS c)"
    + "".join(f", a{n + 1} AS (SELECT x.*, y.* FROM a{n} x, a{n} y)" for n in range(DEEP))
    + f" FROM a{DEEP}",
    "joins": "SELECT 1 FROM " + " NATURAL JOIN ".join(f"range(2) t{n}(a)" for n in range(200)),
    "copied": "WITH a0 AS (SELECT 1 AS c)"
    + "".join(
        f", a{n + 1} AS NOT MATERIALIZED (SELECT x.c FROM a{n} x, a{n} y)" for n in range(DEEP)
    )
    + f" FROM a{DEEP}",
    "subqueries": "SELECT "
    + "(SELECT max(x) FROM range(3) u(x) WHERE x < t.a), " * 300
    + "1 FROM range(3) t(a)",
    "half a character": "SELECT '\ud800'",
    "pivots": "PIVOT (SELECT " + "nullif(" * DEEP + "1" + ", 2)" * DEEP + " AS a) ON a",
}


@local
@pytest.mark.parametrize("name", SLOW)
def test_what_would_take_long_to_bind_is_refused_at_once(lake: Lake, name: str):
    with pytest.raises(InvalidQuery) as caught:
        lake.sql(SLOW[name])
    assert len(caught.value.message) < 200
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("name", ["a long name", "brackets", "words"])
def test_what_would_take_spark_long_is_refused_at_once(name: str):
    with pytest.raises(InvalidQuery):
        parse(SLOW[name], "spark")


READ = {("s", "t"): 2}
_NO_TEXT = re.compile("[\0\ud800-\udfff]").search
_MAY_BE_BAIT = re.compile(rf"{BAIT}|\\|&|\$", re.IGNORECASE).search


class Found(NamedTuple):
    """How many texts were read by us and by DuckDB, may run, and could be bound."""

    compared: int = 0
    allowed: int = 0
    bound: int = 0


def is_read(text: str) -> bool:
    """Whether we and DuckDB can read it, be it in two ways."""
    try:
        return is_statement(duckdb.default_connection(), parse(text, "duckdb").edited.text)
    except TrunklineError:
        return False


def baited() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(":memory:", config={"threads": 1})
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 'a' AS a, 1 AS b")
    # Whoever calls or reads it shows it in the plan.
    connection.execute(f"CREATE TABLE {BAIT} AS SELECT 'baited' AS baited")
    connection.execute(f"CREATE MACRO {BAIT}(x) AS concat('baited', x::VARCHAR)")
    return connection


def is_caught(plan: object) -> bool:
    return re.search(f"baited|Table: [^ ]*{BAIT}", str(plan)) is not None


def check(made: Iterable[str]) -> Found:
    connection = baited()
    passed = []
    for text in made:
        try:
            asked = parse(text, "duckdb")
        except TrunklineError:
            continue
        if all(one.parts == ("t",) and one.revision is None for one in asked.tables):
            edited = asked.with_views([("s", "t")] * len(asked.tables)).text
            if not _NO_TEXT(edited):
                passed.append((text, edited, asked.explain))
    # All in one call: each by itself takes several times as long.
    asked_of = [edited[len(explain) :] for _, edited, explain in passed]
    rows = connection.execute(
        "SELECT json_serialize_sql(x) FROM (SELECT unnest($1::VARCHAR[]) AS x)", [asked_of]
    ).fetchall()
    compared = allowed = bound = 0
    for (text, edited, explain), (told,) in zip(passed, rows, strict=True):
        compared += '"error_type":"parser"' not in told[:60]
        try:
            _judge(connection, edited, explain, told)
        except (TrunklineError, Misread, duckdb.ParserException):
            continue
        allowed += 1
        kinds = [one.type.name for one in connection.extract_statements(edited)]
        assert kinds in (["SELECT"], ["EXPLAIN"], ["MULTI"]), text
        # Where no word could be the bait, nobody need look for it in the plan.
        if kinds != ["SELECT"] or not _MAY_BE_BAIT(text):
            continue
        try:
            plan = connection.execute(f"EXPLAIN {edited}").fetchall()
        except duckdb.Error:
            continue
        bound += 1
        assert not is_caught(plan), text
    return Found(compared, allowed, bound)


def _judge(connection: duckdb.DuckDBPyConnection, text: str, explain: str, told: str) -> None:
    """As `judge` does it, of a query that DuckDB has told already."""
    try:
        found = decoded(told)
    except NoTree:
        found = None
    if explain or found is None:
        judge(connection, text, explain, READ)
    else:
        check_query(found, READ)


def is_statement(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        return bool(connection.extract_statements(text))
    except (duckdb.Error, UnicodeError):
        return False


def test_no_text_is_read_in_two_ways():
    found = check(texts(Random(7), 1_500))
    assert found.allowed > 10
    assert found.bound > 5


def test_no_query_is_read_in_two_ways():
    """Most are compared: both readers make something of them."""
    found = check(Queries(is_read).texts(Random(7), 1_500))
    assert found.compared > 750
    assert found.bound > 100


def test_no_name_is_taken_for_another():
    """A WITH hides from the judge what it hides from DuckDB, without another parser's help."""
    connection, bound = baited(), 0
    for text in names(Random(7), 1_000):
        try:
            judge(connection, text, "", READ)
            plan = connection.execute(f"EXPLAIN {text}").fetchall()
        except (TrunklineError, Misread, duckdb.Error):
            continue
        bound += 1
        assert not is_caught(plan), text
    assert bound > 100
    check(names(Random(8), 1_000))


def test_the_bait_would_be_seen():
    connection = baited()
    with pytest.raises(Misread, match=f"no function {BAIT}"):
        judge(connection, f"SELECT {BAIT}(1)", "", READ)
    with pytest.raises(NotAllowed, match=f"{BAIT} is none"):
        judge(connection, f"FROM {BAIT}", "", READ)
    for text in (f"SELECT {BAIT}(1)", f"FROM {BAIT}"):
        assert is_caught(connection.execute(f"EXPLAIN {text}").fetchall())
