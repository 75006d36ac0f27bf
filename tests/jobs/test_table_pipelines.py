"""SQL and PySpark pipelines: what they may do, and what they are told when they are wrong."""

from __future__ import annotations

import importlib.util
import json
from datetime import UTC, datetime
from textwrap import dedent

import pyarrow as pa
import pytest

import trunkline as tl
from tests.jobs.tables import BY_DAY, DAYS, Tables, csv
from trunkline.errors import InvalidSpec
from trunkline.model.jobs import JobState


@pytest.fixture
def tables(spark, lake, tmp_path) -> Tables:
    found = Tables(lake, tmp_path / "code")
    found.day(DAYS[0], (1, 2.0), (2, 3.0))
    found.day(DAYS[1], (3, 4.0))
    return found


WHOLE = tl.pfs("orders")


def failure(tables: Tables) -> str:
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert list(tables.lake.ls(f"{job.pipeline}@main")) == []
    return job.reason


# -- SQL -----------------------------------------------------------------------------------------


def test_several_statements_views_and_tables(tables):
    tables.sql(
        "report",
        """
        -- what was paid; a semicolon; in a comment
        CREATE TEMP VIEW large AS SELECT * FROM orders WHERE amount >= ${least};
        CREATE TABLE days AS SELECT day, count(*) AS n FROM large GROUP BY day;
        CREATE TABLE notes AS SELECT id, 'a;b' AS note FROM large WHERE note_of(id) IS NULL
        """.replace(" WHERE note_of(id) IS NULL", ""),
        WHOLE,
        params={"least": 3},
    )
    tables.run_well()
    assert [row[1] for row in tables.rows("report@main:/days", "day", "n")] == [1, 1]
    assert tables.rows("report@main:/notes", "id", "note") == [(2, "a;b"), (3, "a;b")]


def test_parameters_are_typed(tables):
    tables.sql(
        "picked",
        "SELECT id, ${note} AS note FROM orders WHERE day = ${day} AND id IN ${ids}",
        WHOLE,
        params={"day": "2026-01-01", "ids": [1, 9], "note": "it's; ${not} one"},
    )
    tables.run_well()
    assert tables.rows("picked@main") == [(1, "it's; ${not} one")]


def test_what_is_no_input_is_refused_before_anything_runs(tables):
    with pytest.raises(InvalidSpec, match="order"):
        tables.sql("wrong", "SELECT * FROM order_items", WHOLE)


@pytest.mark.parametrize(
    "sql, said",
    [
        ("SELECT id,\n       amont\nFROM orders", "amont"),
        ("SELECT sum(DISTINCT) FROM orders WHERE", ""),
        ("SELECT id FROM orders JOIN (SELECT id FROM orders) o ON true", "id"),
        ("SELECT no_such_function(id) AS x FROM orders", "no_such_function"),
    ],
)
def test_wrong_sql_is_shown_with_its_place(tables, sql, said):
    try:
        tables.sql("wrong", sql, WHOLE)
    except InvalidSpec as error:
        text = error.message
    else:
        text = failure(tables)
    lines = text.splitlines()
    assert said in lines[0]
    assert lines[2].strip().endswith("^")


def test_an_error_while_it_runs_is_one_line(tables):
    tables.sql("wrong", "SELECT id / (id - 1) AS x, cast('x' AS int) AS y FROM orders", WHOLE)
    reason = failure(tables)
    assert "\n" not in reason.strip()
    assert "at org.apache" not in reason
    assert "x" in reason


@pytest.mark.parametrize(
    "sql, said",
    [
        ("SELECT id, id AS ID FROM orders", "The output has the column ID twice (as id)."),
        ("SELECT null AS nothing FROM orders", "the column nothing has void"),
        ("SELECT id AS __tl_x FROM orders", "Trunkline's own"),
    ],
)
def test_columns_that_no_table_can_have(tables, sql, said):
    tables.sql("wrong", sql, WHOLE)
    assert said in failure(tables)


def test_a_partition_column_that_the_output_lacks(tables):
    tables.sql("wrong", "SELECT id FROM orders", mode="together", partition_by=["day"])
    assert "lacks the column day, which partition_by names" in failure(tables)


# -- functions -----------------------------------------------------------------------------------


def test_a_function_gets_what_it_names_and_ctx(tables):
    tables.put("rates", {"/rates.csv": csv((1, 10.0), (2, 20.0), header="id,rate")})
    source = """
import trunkline as tl
from helper import NAME

def f(orders, rates, ctx):
    assert ctx.pipeline == NAME and ctx.params["factor"] == 2
    assert set(ctx.inputs) == {"orders", "rates"} and len(ctx.commit) == 32
    before = ctx.previous()
    runs = 1 if before is None else before.first().runs + 1
    joined = orders.join(rates, "id")
    paid = f"amount * rate * {ctx.params['factor']} AS paid"
    return joined.selectExpr("id", paid, f"{runs} AS runs")
"""
    (tables.code / "paid").mkdir(parents=True)
    (tables.code / "paid" / "helper.py").write_text("NAME = 'paid'\n")
    both = tl.cross(tl.pfs("orders"), tl.pfs("rates"))
    tables.spark("paid", source, both, params={"factor": 2})
    tables.run_well()
    assert tables.rows("paid@main") == [(1, 40.0, 1), (2, 120.0, 1)]
    tables.put("rates", {"/rates.csv": csv((1, 11.0), header="id,rate")})
    tables.run_well()
    assert tables.rows("paid@main") == [(1, 44.0, 2)]


def test_several_outputs(tables):
    source = """
def f(orders):
    return {"large": orders.where("amount > 2"), "small": orders.where("amount <= 2")}
"""
    tables.spark("split", source, WHOLE)
    tables.run_well()
    assert tables.rows("split@main:/large", "id") == [(2,), (3,)]
    assert tables.rows("split@main:/small", "id") == [(1,)]
    tables.sql("sizes", "SELECT count(*) AS n FROM large", tl.pfs("split", "/large/", name="large"))
    tables.run_well()
    assert tables.rows("sizes@main") == [(2,)]


def test_python_pandas_and_arrow_functions_run_on_executors(tables):
    source = """
import pandas as pd
from pyspark.sql import functions as F
from helper import plus_one

def f(orders):
    one = F.udf(plus_one, "bigint")
    @F.pandas_udf("double")
    def twice(amounts: pd.Series) -> pd.Series:
        return amounts * 2
    def count(batches):
        import pyarrow as pa
        for batch in batches:
            yield pa.RecordBatch.from_arrays(
                [batch.column(0), batch.column(1), pa.array([batch.num_rows > 0] * batch.num_rows)],
                names=["id", "amount", "some"])
    frame = orders.select(one("id").alias("id"), twice("amount").alias("amount"))
    return frame.mapInArrow(count, "id bigint, amount double, some boolean")
"""
    (tables.code / "udfs").mkdir(parents=True)
    (tables.code / "udfs" / "helper.py").write_text("def plus_one(n):\n    return n + 1\n")
    tables.spark("udfs", source, WHOLE)
    tables.run_well()
    assert tables.rows("udfs@main", "id", "amount") == [(2, 4.0), (3, 6.0), (4, 8.0)]


LAZY = """
import pandas as pd
from pyspark.sql import functions as F

def f(orders):
    from lib.inner import told  # here and not above, and it does the same

    @F.udf("string")
    def one(n):
        from helpers import name
        return name(n)
    @F.pandas_udf("string")
    def many(ns: pd.Series) -> pd.Series:
        import helpers
        return ns.map(helpers.name)
    def parts(frames):
        for frame in frames:
            import lib.inner
            frame["part"] = frame["id"].map(lib.inner.told)
            yield frame
    def group(frame):
        from lib import inner
        frame["whole"] = "+".join(sorted(frame["id"].map(inner.told)))
        return frame
    columns = "id bigint, one string, many string, told string"
    frame = orders.select("id", one("id").alias("one"), many("id").alias("many"),
                          F.udf(told, "string")("id").alias("told"))
    frame = frame.mapInPandas(parts, f"{columns}, part string").groupBy("many")
    return frame.applyInPandas(group, f"{columns}, part string, whole string")
"""


@pytest.mark.slow
def test_modules_imported_inside_functions_of_executors(spark, tables):
    """Each version and each pipeline has its own, in workers that have served others before."""
    from pyspark.sql.functions import udf

    def declare(name: str, sign: str) -> None:
        folder = tables.code / name
        (folder / "lib").mkdir(parents=True, exist_ok=True)
        (folder / "helpers.py").write_text(f"def name(n):\n    return f'{sign}{{n}}'\n")
        (folder / "lib" / "inner.py").write_text(
            "def told(n):\n    from helpers import name\n    return name(n) * 2\n"
        )
        tables.spark(name, LAZY, WHOLE)

    def found(n):
        return importlib.util.find_spec("helpers") is not None

    for name, sign in (("first", "'%"), ("second", "ß"), ("first", "\u2028")):
        declare(name, sign.replace("'", "\\'"))
        tables.run_well()
        texts = [(n, f"{sign}{n}") for n in (1, 2, 3)]
        assert tables.rows(f"{name}@main") == [(n, a, a, a * 2, a * 2, a * 2) for n, a in texts]
        others = spark.spark.range(0, 8, 1, 4).select(udf(found, "boolean")("id").alias("found"))
        assert not any(row.found for row in others.collect())
    alone = """
from pyspark.sql import functions as F

def f(orders):
    @F.udf("string")
    def one(n):
        from helpers import name
        return name(n)
    return orders.select(one("id").alias("x"))
"""
    tables.spark("alone", alone, WHOLE)
    assert "No module named 'helpers'" in failure(tables)


KEEPING = """
from pyspark import StorageLevel

def f(orders, ctx):
    side = ctx.spark.range(-3, 3).selectExpr("id * 7 AS k", "'%' AS no_name")
    above = side.cache().groupBy("k").count().persist(StorageLevel.DISK_ONLY)
    assert above.count() == 6 and above.where("k < 0").count() == 3
    above.createOrReplaceTempView("above")
    ctx.spark.sql("CACHE TABLE named AS SELECT k + 1 AS k FROM above")
    ctx.spark.sparkContext.parallelize(["a", None, "a"]).distinct().cache().count()
    above.rdd.map(tuple).cache().count()
    side.localCheckpoint()
"""


@pytest.mark.slow
def test_what_a_call_cached_is_gone_after_it(spark, tables):
    """Of a good one, of one that fails, and of a stream; but not what others cached meanwhile."""
    context = spark.context._jsc
    manager = spark.spark._jsparkSession.sharedState().cacheManager()
    theirs = spark.spark.newSession()
    frame = theirs.range(5).selectExpr("id AS of_another").cache()
    rdd = spark.context.parallelize(range(4)).cache()
    assert (frame.count(), rdd.count()) == (5, 4)
    before, plans = set(context.getPersistentRDDs()), manager.numCachedEntries()
    assert len(before) >= 2

    def same() -> bool:
        return set(context.getPersistentRDDs()) == before and manager.numCachedEntries() == plans

    both = "{'a': orders.cache(), 'b': orders.join(side, orders.id == side.k)}"
    tables.spark("good", f"{KEEPING}    return {both}\n", WHOLE)
    tables.run_well()
    assert same()
    tables.spark("bad", KEEPING + "    raise ValueError(orders.cache().count())\n", WHOLE)
    assert "ValueError: 3" in failure(tables)
    assert same()
    folder = tables.code / "streamed"
    folder.mkdir()
    (folder / "work.py").write_text(KEEPING + "    return orders.where('id > 1')\n")
    tables.apply("streamed", {"stream": "work.py:f", "code": str(folder)}, WHOLE)
    tables.run_well()
    assert tables.rows("streamed@main", "id") == [(2,), (3,)]
    assert same()
    assert frame.storageLevel.useMemory
    frame.unpersist()
    rdd.unpersist()


@pytest.mark.parametrize(
    "source, said",
    [
        ("def f(orders):\n    return orders.no_such\n", "no_such"),
        ("def f(orders):\n    raise KeyError('x')\n", "f failed: KeyError: 'x' work.py:2: raise"),
        ("def f(orders):\n    return None\n", "work.py:f returned nothing, not a DataFrame."),
        ("def f(orders):\n    return {}\n", "its dict is empty"),
        ("def f(orders):\n    return {'a/b': orders}\n", "cannot be the name of a table"),
        ("import no_such_module\ndef f(orders):\n    return orders\n", "no_such_module"),
        ("def f(orders):\n    import sys\n    sys.exit(3)\n", "sys.exit(3)"),
    ],
)
def test_a_function_that_fails_says_where(tables, source, said):
    tables.spark("wrong", source, WHOLE)
    reason = failure(tables)
    assert said in reason
    assert "Traceback" not in reason


def test_an_error_in_a_udf_is_the_users_own(tables):
    source = """
from pyspark.sql import functions as F

def f(orders):
    def bad(n):
        raise ValueError("not this one")
    return orders.select(F.udf(bad, "int")("id").alias("x"))
"""
    tables.spark("wrong", source, WHOLE)
    assert "ValueError: not this one" in failure(tables)


def test_requirements_are_checked_before_the_run(tables):
    tables.spark(
        "wrong", "def f(orders):\n    return orders\n", WHOLE,
        requirements=["no-such-package>=2", "pyarrow>=1"],
    )  # fmt: skip
    assert "no-such-package" in failure(tables)


def test_settings_of_one_pipeline_stay_its_own(tables):
    source = """
def f(orders, ctx):
    zone = ctx.spark.conf.get("spark.sql.session.timeZone")
    return orders.selectExpr(f"'{zone}' AS zone").limit(1)
"""
    tables.spark("berlin", source, WHOLE, spark={"spark.sql.session.timeZone": "Europe/Berlin"})
    tables.spark("plain", source, WHOLE)
    tables.run_well()
    assert tables.rows("berlin@main") == [("Europe/Berlin",)]
    assert tables.rows("plain@main") == [("UTC",)]


# -- inputs --------------------------------------------------------------------------------------


def test_a_damaged_file_is_named_and_nothing_is_published(tables):
    tables.put("rates", {"/a.parquet": b"PAR1 this is not one PAR1"})
    tables.sql("wrong", "SELECT * FROM rates", tl.pfs("rates"))
    assert "a.parquet" in failure(tables)


def test_formats_that_do_not_mix(tables):
    tables.put("rates", {"/a.csv": csv((1, 2)), "/b.json": b'{"id": 1}\n'})
    tables.sql("wrong", "SELECT * FROM rates", tl.pfs("rates"))
    reason = failure(tables)
    assert "/a.csv" in reason
    assert "/b.json" in reason


def test_a_repo_of_several_tables_must_be_told_which(tables):
    tables.put("rates", {"/a/x.csv": csv((1, 2)), "/b/x.csv": csv((1, 2))})
    tables.sql("wrong", "SELECT * FROM rates", tl.pfs("rates"))
    assert "several tables (a, b)" in failure(tables)


def test_no_rows_still_are_a_table(tables):
    tables.sql("none", "SELECT * FROM orders WHERE amount > 1000", WHOLE)
    tables.sql("below", "SELECT count(*) AS n, max(amount) AS most FROM none", tl.pfs("none"))
    tables.run_well()
    assert tables.rows("none@main") == []
    assert tables.rows("below@main") == [(0, None)]


def test_a_new_column_reaches_the_days_that_have_it(tables):
    tables.sql("copy", "SELECT * FROM orders", mode="together", partition_by=["day"])
    tables.run_well()
    tables.put("orders", {f"/day={DAYS[2]}/a.csv": csv((9, 1.0, "x"), header="id,amount,note")})
    tables.run_well()
    found = tables.rows("copy@main", "id", "note")
    assert found == [(1, None), (2, None), (3, None), (9, "x")]
    assert json.loads(tables.lake.read("copy@main:/_table.json"))["evolved"]


def test_code_that_gives_the_same_rows_changes_nothing_below(tables):
    tables.sql("daily", BY_DAY, mode="together", partition_by=["day"])
    tables.sql("top", "SELECT max(revenue) AS most FROM daily", tl.pfs("daily"))
    tables.run_well()
    before = tables.files("daily@main")
    tables.sql("daily", BY_DAY + " ORDER BY day", mode="together", partition_by=["day"])
    jobs = {str(job.pipeline): job for job in tables.run_well()}
    assert jobs["daily"].counts.processed == 2
    assert tables.files("daily@main") == before
    assert jobs["top"].counts.processed == 0


def test_a_change_in_the_last_place_is_published(tables):
    def events(micro, number):
        at = datetime(2026, 1, 1, 0, 0, 0, micro, UTC)
        nested = [{"t": [at], "m": {"n": number}}]
        return pa.table({"id": [number], "s": nested})

    lake = tables.lake
    lake.create_repo("events")
    lake.write_table("events", events(123456, 123456789012345.0), mode="overwrite")
    tables.sql("ids", "SELECT id FROM events", tl.pfs("events"))
    tables.sql("nested", "SELECT s FROM events", tl.pfs("events"))
    tables.sql("zero", "SELECT id * 0 AS id FROM events", tl.pfs("events"))
    tables.run_well()
    for number in (123456789012346.0, -1.0):
        new = events(123999, number)
        lake.write_table("events", new, mode="overwrite")
        tables.run_well()
        assert lake.table("ids").arrow()["id"].to_pylist() == [number]
        assert lake.table("nested").arrow()["s"].to_pylist() == new["s"].to_pylist()
    assert str(lake.table("zero").arrow()["id"][0]) == "-0.0"


def test_fields_of_any_name_are_written_and_read(tables):
    names = ["user-id", "first name", "2024", "größe", "a`b", "select", "not", "null", "x:y", "p.q"]
    fields = ", ".join(f"'{name}', {place}" for place, name in enumerate(names))
    wanted = {name: place for place, name in enumerate(names)}
    tables.sql(
        "odd",
        f"""SELECT named_struct({fields}) AS s, array(named_struct({fields})) AS l,
        map('k', named_struct({fields})) AS m FROM orders LIMIT 1""",
        WHOLE,
    )
    tables.sql("below", "SELECT * FROM odd WHERE s.`user-id` = 0", tl.pfs("odd"))
    tables.run_well()
    for name in ("odd", "below"):
        for found in (
            tables.lake.table(name).arrow(),
            tables.lake.sql(f"SELECT * FROM {name}").arrow(),
            tables.lake.table(name).spark().toArrow(),
        ):
            assert found.to_pylist() == [{"s": wanted, "l": [wanted], "m": [("k", wanted)]}]


def test_vectors_are_stored_as_the_struct_that_they_are(tables):
    source = """
    from pyspark.ml.feature import VectorAssembler

    def f(orders):
        return VectorAssembler(inputCols=["id", "amount"], outputCol="v").transform(orders)
    """
    tables.spark("vectors", dedent(source), WHOLE)
    tables.sql("below", "SELECT v.values AS x FROM vectors WHERE id = 1", tl.pfs("vectors"))
    tables.run_well()
    assert tables.rows("below@main", "x") == [([1.0, 2.0],)]
    found = tables.lake.sql("SELECT v.values AS x FROM vectors WHERE id = 1").arrow()
    assert found["x"].to_pylist() == [[1.0, 2.0]]


def test_results_of_a_failed_branch_are_taken_over(tables):
    """What is computed is kept by content: a pipeline set back finds its old results."""
    tables.sql("daily", BY_DAY, mode="together", partition_by=["day"])
    tables.run_well()
    tables.day(DAYS[0], (1, 50.0))
    tables.run_well()
    tables.day(DAYS[0], (1, 2.0), (2, 3.0))
    job = tables.run_one()
    assert job.counts.processed == 0
    assert [row[0] for row in tables.rows("daily@main", "revenue")] == [4.0, 5.0]


def test_a_value_that_does_not_fit_is_said_once(tables, capfd):
    source = """
    def f(orders):
        from pyspark.sql import functions as F
        return orders.select(F.concat(F.lit("n"), "id").cast("double").alias("x"))
    """
    tables.spark("wrong", dedent(source), WHOLE)
    capfd.readouterr()
    said = failure(tables)
    assert said.startswith("The value 'n")
    assert "cannot be cast" in said
    assert capfd.readouterr().err == "", "pyspark logs it in JSON, with Java's trace"


def test_what_python_raises_in_a_worker_is_not_tried_again(tables):
    source = """
    from pyspark.sql import functions as F

    @F.udf("long")
    def divided(v):
        return 10 // (v - v)

    def f(orders):
        return orders.select(divided("id").alias("x"))
    """
    tables.spark("wrong", dedent(source), WHOLE)
    said = failure(tables)
    assert said.startswith("ZeroDivisionError: ")
    assert "work.py:6: return 10 // (v - v)" in said
    assert [job.attempt for job in tables.lake.jobs("wrong")] == [1]


def test_any_reader_takes_an_output_as_it_is(tables: Tables):
    """Rows set aside stay aside, whatever the pattern, and folders tell the partition."""
    import duckdb
    import pandas as pd
    from pyarrow import dataset, parquet

    from trunkline.filesystem import LakeFileSystem

    tables.day(DAYS[0], (1, 5), (2, -1000))
    tables.day(DAYS[1], (3, 7), (4, -1))
    tables.sql(
        "clean",
        "SELECT id, amount, day FROM orders",
        partition_by=["day"],
        expectations=[{"name": "positive", "expr": "amount >= 0", "action": "quarantine"}],
    )
    tables.sql("count", "SELECT count(*) AS n FROM clean", tl.pfs("clean", "/"), mode="whole")
    tables.run_well()
    assert tables.rows("count@main") == [(2,)]
    aside = tables.rows("clean@main:/_quarantine/positive", "id", "day")
    assert [(n, str(day)) for n, day in aside] == [(2, DAYS[0]), (4, DAYS[1])]
    fs = LakeFileSystem(tables.lake.location, skip_instance_cache=True)
    assert sorted(fs.ls("clean@main", detail=False)) == [f"clean@main/day={d}" for d in DAYS[:2]]
    found = []
    with duckdb.connect() as connection:
        connection.register_filesystem(fs)
        query = "SELECT id, amount, day FROM read_parquet('tl://clean@main/**/*.parquet')"
        found.append(connection.sql(query).to_arrow_table().to_pylist())
    found.append(parquet.read_table("clean@main", filesystem=fs).to_pylist())
    hive = dataset.dataset("clean@main", filesystem=fs, partitioning="hive")
    found.append(hive.to_table().to_pylist())
    options = {"lake": fs.storage_options["lake"]}
    found.append(pd.read_parquet("tl://clean@main", storage_options=options).to_dict("records"))
    for rows in found:
        seen = sorted((int(row["id"]), int(row["amount"]), str(row["day"])) for row in rows)
        assert seen == [(1, 5, DAYS[0]), (3, 7, DAYS[1])]


def test_commands_are_given_folders_without_what_is_kept_beside(tables: Tables):
    tables.lake.create_repo("raw")
    tables.put("raw", {"/a.txt": b"1", "/_late/in/x": b"2", "/t/_table.json": b"{}", "/t/b": b"3"})
    for name, glob in (("whole", "/"), ("late", "/_late/*")):
        tables.lake.apply(
            {
                "pipeline": {"name": name},
                "input": tl.pfs("raw", glob),
                "transform": {
                    "cmd": ["sh"],
                    "stdin": ["cd /pfs/raw && find . -type f | sort > /pfs/out/seen"],
                },
            }
        )
    tables.run_well()
    assert tables.lake.read("whole@main:/seen") == b"./a.txt\n./t/b\n"
    assert tables.lake.read("late@main:/seen") == b"./_late/in/x\n"


def test_values_of_folders_reach_spark_as_they_are(tables: Tables):
    """A line in one of them moved all that came after it into other partitions."""
    tables.lake.create_repo("odd")
    values = ["a\nb", "c", "d", "\\N", "e\tf", "01", None, "g/h=i%"]
    names = ["a%0Ab", "c", "d", "%5CN", "e%09f", "01", "__HIVE_DEFAULT_PARTITION__", "g%2Fh%3Di%25"]
    tables.put("odd", {f"/k={one}/a.csv": csv((n,), header="n") for n, one in enumerate(names)})
    tables.sql("plain", "SELECT n, k FROM odd", tl.pfs("odd", "/"), mode="whole")
    tables.sql(
        "parted", "SELECT n, k FROM plain", tl.pfs("plain", "/"), partition_by=["k"], mode="whole"
    )
    tables.run_well()
    assert tables.rows("plain@main", "n", "k") == sorted(enumerate(values), key=repr)
    assert tables.rows("parted@main", "n", "k") == sorted(enumerate(values), key=repr)
    by_sql = tables.lake.sql("SELECT n, k FROM parted").rows()
    assert sorted(map(tuple, by_sql), key=repr) == sorted(enumerate(values), key=repr)


def test_an_empty_text_is_no_partition(tables: Tables):
    tables.day(DAYS[0], (1, 5))
    tables.sql("parted", "SELECT id, '' AS k FROM orders", partition_by=["k"], mode="each")
    (job,) = tables.run()
    assert job.state is JobState.FAILURE
    assert 'A row has an empty text in "k", which its table is partitioned by' in job.reason


def test_datums_that_one_call_takes_are_running_while_it_does(tables):
    source = """
def f(orders, ctx):
    import trunkline as tl
    with tl.open(ctx.env["LAKE"]) as lake:
        states = [str(one.state) for one in lake.datums(f"{ctx.pipeline}@{ctx.job}")]
    raise ValueError(f"states: {states}")
"""
    folder = tables.code / "seen"
    folder.mkdir(parents=True)
    (folder / "work.py").write_text(source)
    env = {"LAKE": str(tables.lake._folder)}
    transform = {"spark": "work.py:f", "code": str(folder), "env": env}
    tables.apply("seen", transform, None, mode="together", partition_by=["day"])
    assert "states: ['running', 'running']" in failure(tables)
