"""Projects of Spark Declarative Pipelines, as far as they are understood without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from trunkline.errors import InvalidSpec
from trunkline.pipelines.declarative import (
    Kind,
    Project,
    Read,
    defines_flows,
    definition_files,
    input_name,
    is_project_file,
    name_parts,
    read_project,
)
from trunkline.pipelines.declarative_plan import Planned, plan
from trunkline.pipelines.declarative_sql import read_file, read_query

SHOP = Project("shop", ("t/**/*",), database="shop", configuration=(("least", "7"),))


def planned(sql: str) -> dict[str, Planned]:
    found = read_file(sql, "a.sql", SHOP)
    return {one.output.name: one for one in plan(found.outputs, found.flows)}


class TestProjectFile:
    def test_all_that_it_says(self) -> None:
        text = """
            name: shop
            storage: file:///x
            catalog: main
            schema: sales
            configuration: {spark.sql.shuffle.partitions: "4"}
            libraries:
              - glob: {include: transformations/**}
              - glob: {include: more/one.sql}
        """
        assert read_project(text, "spark-pipeline.yml") == Project(
            "shop",
            ("transformations/**/*", "more/one.sql"),
            "main",
            "sales",
            (("spark.sql.shuffle.partitions", "4"),),
        )

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("name: x\nlibrarys: []", 'p:2: a project has no "librarys". Did you mean'),
            ("storage: x", "the project has no name"),
            ("name: x", "the project has no libraries"),
            ("name: x\nlibraries: [{glob: {include: 'a/**/*.py'}}]", "no pattern that Spark takes"),
            (
                "name: x\nlibraries: [{glob: {include: '../a.py'}}]",
                "is not in the project's folder",
            ),
            ("name: x\nlibraries: [a.py]", "a library is written as glob"),
            ("name: x\nconfiguration: {a: 1}", "configuration.a is not text"),
            ("- 1", "this is not the file of a Spark pipeline project"),
        ],
    )
    def test_what_is_wrong(self, text: str, said: str) -> None:
        with pytest.raises(InvalidSpec) as caught:
            read_project(text, "p")
        assert said in str(caught.value)

    def test_it_is_known_by_its_name(self) -> None:
        assert is_project_file("a/spark-pipeline.yml")
        assert is_project_file("spark-pipeline.yaml")
        assert not is_project_file("pipeline.yml")

    def test_its_files(self, tmp_path: Path) -> None:
        for name in ("t/b.sql", "t/in/a.py", "t/__pycache__/a.pyc"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        found = definition_files(tmp_path, Project("x", ("t/**/*",)))
        assert [one.relative_to(tmp_path).as_posix() for one in found] == ["t/b.sql", "t/in/a.py"]
        with pytest.raises(InvalidSpec, match="there is no such file"):
            definition_files(tmp_path, Project("x", ("gone.py",)))

    def test_files_that_define_flows(self) -> None:
        assert defines_flows("a.sql", "")
        assert defines_flows("a.py", "from pyspark import pipelines as dp")
        assert not defines_flows("a.py", "from pyspark import sql")
        assert not defines_flows("a.py", "def broken(")


class TestNames:
    def test_what_goes_without_saying_is_left_out(self) -> None:
        names = ("x", "shop.x", "main.shop.x", "default.x", "`shop`.`x`")
        assert {SHOP.name_of(one) for one in names} == {"x"}
        assert SHOP.name_of("main.other.x") == "other.x"
        assert input_name("other.x") == "other_x"

    def test_parts(self) -> None:
        assert name_parts("`a``b`.c") == ("a`b", "c")
        assert name_parts("a..b") == name_parts("a.") == name_parts("a b") == ()


class TestQueries:
    def test_streams_and_full_names(self) -> None:
        found = read_query("SELECT * FROM STREAM(shop.a) JOIN other.b USING (id)", "q", SHOP)
        assert found.sql == "SELECT * FROM `a` JOIN `other_b` USING (id)"
        assert found.reads == (Read("a", stream=True), Read("other.b"))

    def test_ctes_and_functions_are_no_tables(self) -> None:
        sql = "WITH c AS (SELECT * FROM a) SELECT (SELECT max(x) FROM b) FROM c, range(3)"
        assert {one.name for one in read_query(sql, "q", SHOP).reads} == {"a", "b"}

    @pytest.mark.parametrize(
        ("sql", "what"),
        [
            ("SELECT x FROM STREAM a WHERE x > 1", ""),
            ("SELECT x FROM STREAM a JOIN (SELECT id, max(y) FROM b GROUP BY id) USING (id)", ""),
            ("SELECT x FROM STREAM a UNION ALL SELECT x FROM STREAM b", ""),
            ("SELECT x, count(*) FROM STREAM a GROUP BY x", "GROUP BY"),
            ("SELECT max(x) FROM (SELECT * FROM STREAM a)", "an aggregate function"),
            ("SELECT DISTINCT x FROM STREAM a", "DISTINCT"),
            ("SELECT * FROM STREAM a JOIN STREAM b USING (id)", "a join of two streams"),
            ("WITH c AS (SELECT * FROM STREAM a) SELECT * FROM c LIMIT 3", "LIMIT"),
        ],
    )
    def test_what_needs_memory(self, sql: str, what: str) -> None:
        assert read_query(sql, "q", SHOP).stateful == what

    def test_what_is_wrong_has_its_line(self) -> None:
        with pytest.raises(InvalidSpec, match="a.sql:3: Expected table name but got WHERE"):
            read_file("\nCREATE MATERIALIZED VIEW x AS\nSELECT FROM WHERE", "a.sql", SHOP)


class TestStatements:
    def test_a_materialized_view(self) -> None:
        found = read_file(
            "SET spark.x = 3; CREATE OR REPLACE MATERIALIZED VIEW IF NOT EXISTS shop.daily "
            "(day DATE COMMENT 'which') PARTITIONED BY (day) COMMENT 'Sums' "
            "TBLPROPERTIES ('a' = 'b') AS SELECT day FROM orders WHERE n > ${least}",
            "a.sql",
            SHOP,
        )
        ((output,), (flow,)) = found.outputs, found.flows
        assert (output.name, output.kind, output.comment) == (
            "daily", Kind.MATERIALIZED_VIEW, "Sums"
        )  # fmt: skip
        assert (output.partition_by, output.unused) == (("day",), ("tblproperties",))
        assert output.schema == "day DATE COMMENT 'which'"
        assert flow.query is not None
        assert flow.query.sql.endswith("WHERE n > 7")
        assert flow.conf == (("spark.x", "3"),)

    @pytest.mark.parametrize(
        ("sql", "said"),
        [
            ("CREATE TABLE x AS SELECT 1", "'CREATE TABLE' does not start a statement"),
            ("INSERT INTO x SELECT 1", "'INSERT' does not start a statement"),
            ("CREATE FLOW f AS AUTO CDC INTO x FROM y", "is an AUTO CDC flow"),
            ("CREATE FLOW f AS INSERT INTO ONCE x SELECT 1", "the flow f runs once"),
            ("CREATE MATERIALIZED VIEW x", "has no query"),
            ("CREATE STREAMING TABLE x; CREATE FLOW f AS INSERT INTO y SELECT 1",
             "the flow f writes to y, which is not defined"),
            ("CREATE STREAMING TABLE x", "nothing writes to the streaming table x"),
            ("CREATE MATERIALIZED VIEW x AS SELECT 1; CREATE MATERIALIZED VIEW x AS SELECT 2",
             "x is already defined at a.sql:1"),
            ("CREATE MATERIALIZED VIEW x AS SELECT * FROM STREAM a", "reads a stream"),
            ("CREATE STREAMING TABLE x AS SELECT count(*) FROM STREAM a", "over a stream"),
            ("CREATE VIEW v AS SELECT * FROM v; CREATE MATERIALIZED VIEW x AS SELECT * FROM v",
             "these views read each other"),
            ("CREATE VIEW v AS FROM STREAM a; CREATE MATERIALIZED VIEW x AS SELECT * FROM v",
             "whole, but it is a stream"),
        ],
    )  # fmt: skip
    def test_refused(self, sql: str, said: str) -> None:
        with pytest.raises(InvalidSpec) as caught:
            planned(sql)
        assert said in str(caught.value)


class TestPlans:
    def test_flows_into_one_table(self) -> None:
        found = planned(
            "CREATE STREAMING TABLE t;"
            "CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM a;"
            "CREATE FLOW g AS INSERT INTO t BY NAME SELECT b.* FROM STREAM b JOIN c USING (id);"
        )["t"]
        assert found.append
        assert found.sql == ""
        assert found.reads == (Read("a", stream=True), Read("b", stream=True), Read("c"))

    def test_views_are_steps_of_the_script(self) -> None:
        found = planned(
            "CREATE TEMPORARY VIEW v AS SELECT * FROM w; CREATE VIEW w AS SELECT * FROM a;"
            "CREATE MATERIALIZED VIEW x AS SELECT * FROM v;"
        )["x"]
        assert not found.append
        assert found.reads == (Read("a"),)
        assert found.sql.split(";\n")[0] == "CREATE TEMPORARY VIEW `w` AS\nSELECT * FROM a"
