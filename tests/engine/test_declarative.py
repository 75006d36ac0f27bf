"""Files as Spark users write them, loaded and run without Spark Connect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from pyspark.sql import SparkSession

from trunkline.engine.declarative import examine, load_flow
from trunkline.engine.driver import using
from trunkline.engine.session import Session
from trunkline.errors import InvalidSpec, NotFound, Precondition
from trunkline.model.tables import Column, Schema
from trunkline.pipelines.declarative import Kind, Output, Project, Read, read_project
from trunkline.pipelines.declarative_plan import plan
from trunkline.pipelines.declarative_sql import Flow

HEAD = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, functions as F
"""
PROJECT = (
    "name: shop\nstorage: file:///tmp/x\nlibraries:\n  - glob: {include: transformations/**}\n"
)
ORDERS = Schema((Column("id", "bigint"), Column("day", "date"), Column("amount", "double")))

STREAM = "@dp.table\ndef a():\n    return spark.readStream.table('orders')"
CIRCLE = """
@dp.materialized_view
def a():
    return spark.table("b")

@dp.materialized_view
def b():
    return spark.table("a")
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A project of these files; the folder."""

    def write(project: str = PROJECT, **files: str) -> Path:
        (tmp_path / "spark-pipeline.yml").write_text(project)
        for name, text in files.items():
            path = tmp_path / "transformations" / name.replace("__", "/").replace("_sql", ".sql")
            path = path if path.suffix else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            head = HEAD if path.suffix == ".py" else ""
            path.write_text(head + dedent(text))
        return tmp_path

    return write


@pytest.fixture
def own(spark: Session) -> SparkSession:
    return spark.spark.newSession()


def known(name: str, where: str) -> Schema:
    if name != "orders":
        raise NotFound(f"{where}: no {name}")
    return ORDERS


def examined(root: Path, spark: SparkSession) -> tuple[list[Output], list[Flow]]:
    project = read_project((root / "spark-pipeline.yml").read_text(), "spark-pipeline.yml")
    return examine(root, project, spark, known)


def reads(root: Path, spark: SparkSession) -> dict[str, tuple[Read, ...]]:
    return {one.output.name: one.reads for one in plan(*examined(root, spark))}


class TestReads:
    def test_however_a_table_is_named(self, write: Write, own: SparkSession) -> None:
        root = write(
            ways="""
                @dp.materialized_view
                def a() -> DataFrame:
                    return spark.table("orders").select("id")

                @dp.materialized_view(name="b", comment="Second", partition_cols=["id"])
                def second():
                    return spark.read.table("spark_catalog.default.a").join(spark.sql(
                        "SELECT id, amount FROM default.orders"), "id")

                NAME = "or" + "ders"

                @dp.table
                def c():
                    from pyspark.sql import SparkSession
                    return SparkSession.active().readStream.table(NAME).where("amount > 0")
            """
        )
        outputs, _ = examined(root, own)
        assert reads(root, own) == {
            "a": (Read("orders"),),
            "b": (Read("a"), Read("orders")),
            "c": (Read("orders", stream=True),),
        }
        assert [(one.kind, one.comment, one.partition_by) for one in outputs][1:] == [
            (Kind.MATERIALIZED_VIEW, "Second", ("id",)),
            (Kind.STREAMING_TABLE, "", ()),
        ]
        assert outputs[0].where == "transformations/ways.py:5"

    def test_views_belong_to_who_reads_them(self, write: Write, own: SparkSession) -> None:
        root = write(
            views="""
                @dp.temporary_view
                def paid():
                    return spark.readStream.table("orders").where("amount > 0")

                dp.create_streaming_table("all_paid", schema="id BIGINT, day DATE, amount DOUBLE")

                @dp.append_flow(target="all_paid")
                def first():
                    return spark.readStream.table("paid")
            """,
            daily_sql="""
                CREATE TEMPORARY VIEW days AS SELECT day, amount FROM all_paid;
                CREATE MATERIALIZED VIEW daily AS SELECT day, sum(amount) s FROM days GROUP BY day;
            """,
        )
        found = {one.output.name: one for one in plan(*examined(root, own))}
        assert found["all_paid"].reads == (Read("orders", stream=True),)
        assert found["daily"].reads == (Read("all_paid"),)
        assert found["daily"].files == ("transformations/daily.sql",)
        assert found["daily"].sql.startswith("CREATE TEMPORARY VIEW `days` AS")
        assert found["all_paid"].sql == ""

    def test_sql_may_read_views_of_python(self, write: Write, own: SparkSession) -> None:
        root = write(
            a="""
                @dp.temporary_view
                def paid():
                    return spark.table("orders").where("amount > 0")
            """,
            b_sql="CREATE MATERIALIZED VIEW n AS SELECT count(*) n FROM paid",
        )
        (found,) = plan(*examined(root, own))
        assert (found.sql, found.reads) == ("", (Read("orders"),))
        assert found.files == ("transformations/a.py", "transformations/b.sql")


class TestRefused:
    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("dp.create_auto_cdc_flow(target='t', source='s', keys=['k'], sequence_by='x')",
             "create_auto_cdc_flow('t') is not supported"),
            ("dp.create_sink('out', 'kafka')", "out is a sink, which is not supported"),
            ("1 / 0", "ZeroDivisionError"),
            (f"{STREAM}.groupBy('id').count()", "a does a group or aggregate over a stream"),
            (f"{STREAM}.dropDuplicates()", "a does dropDuplicates over a stream"),
            ("@dp.table\ndef a():\n    return spark.readStream.format('rate').load()",
             "a reads a stream that is not a table of the lake"),
            ("@dp.materialized_view\ndef a():\n    return spark.readStream.table('orders')",
             "the materialized view a reads a stream"),
            ("@dp.materialized_view\ndef a():\n    return spark.table('orders').select('zz')",
             "transformations/x.py:5: [UNRESOLVED_COLUMN"),
            ("@dp.materialized_view\ndef a():\n    return spark.table('nowhere')", "no nowhere"),
            ("@dp.materialized_view\ndef a():\n    return 1", "a returned int, not a DataFrame"),
            ("@dp.table(schema='id INT')\ndef a(): return spark.table('orders')[['id']]",
             "a declares id int, but its query has bigint"),
            ("@dp.temporary_view\ndef a():\n    return spark.table('a')", "read each other: a → a"),
            (CIRCLE,
             "these read each other: a → b → a"),
            ("dp.create_streaming_table('a')", "nothing writes to the streaming table a"),
        ],
    )  # fmt: skip
    def test_by_name(self, write: Write, own: SparkSession, text: str, said: str) -> None:
        root = write()
        (root / "transformations").mkdir(exist_ok=True)
        (root / "transformations" / "x.py").write_text(HEAD + "\n" + text + "\n")
        with pytest.raises((InvalidSpec, NotFound)) as caught:
            plan(*examined(root, own))
        assert said in str(caught.value)


class TestRuns:
    def test_a_flow_gets_the_frames_of_a_job(self, write: Write, own: SparkSession) -> None:
        root = write(
            helpers__rates="RATE = 2.0\n",
            flows="""
                from helpers.rates import RATE

                @F.udf("double")
                def doubled(x):
                    from helpers import rates  # where Spark runs it
                    return x * (RATE + rates.RATE) / 2

                @dp.temporary_view
                def paid():
                    return spark.sql("SELECT * FROM STREAM(orders) WHERE amount > 1")

                dp.create_streaming_table("kept", schema="amount DOUBLE, id BIGINT")

                @dp.append_flow(target="kept")
                def one():
                    return spark.readStream.table("paid").select("id", "amount")

                @dp.append_flow(target="kept")
                def two():
                    source = spark.readStream.table("default.orders")
                    return source.select("id", doubled("amount").alias("amount"))
            """,
        )
        frame = own.sql("SELECT id, DATE '2026-01-01' day, id * 1.0D amount FROM range(1, 3)")
        with using(str(root)):
            call = load_flow(root / "transformations" / "flows.py", "kept", own)
            rows = call({"orders": frame}, None)
        assert rows.columns == ["amount", "id"]
        found = sorted(map(tuple, rows.collect()))
        assert found == [(2.0, 1), (2.0, 2), (4.0, 2)]
        with pytest.raises(Precondition, match="which it did not when it was applied"):
            call({}, None)

    def test_a_file_on_its_own(self, tmp_path: Path, own: SparkSession) -> None:
        path = tmp_path / "alone.py"
        text = '@dp.materialized_view(name="n")\ndef counted():\n    return spark.range(2)\n'
        path.write_text(HEAD + text)
        assert load_flow(path, "counted", own)({}, None).count() == 2
        with pytest.raises(InvalidSpec, match="defines no table 'm'"):
            load_flow(path, "m", own)

    def test_names_are_sparks_own_outside_of_flows(self, own: SparkSession) -> None:
        own.range(3).createOrReplaceTempView("orders")
        assert own.table("orders").count() == own.sql("SELECT * FROM orders").count() == 3


def test_configuration_is_there_when_files_are_loaded(write: Write, own: SparkSession) -> None:
    root = write(
        PROJECT + "configuration:\n  shop.least: '5'\n",
        a="""
            LEAST = int(spark.conf.get("shop.least"))

            @dp.materialized_view
            def a():
                return spark.range(LEAST)
        """,
        b_sql="CREATE MATERIALIZED VIEW b AS SELECT ${shop.least} AS n, id FROM a",
    )
    assert reads(root, own) == {"a": (), "b": (Read("a"),)}
    assert isinstance(read_project((root / "spark-pipeline.yml").read_text(), "p"), Project)
