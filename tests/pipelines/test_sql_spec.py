"""SQL databases in specs: what is taken, what is refused, and that no password is in them."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

import trunkline as tl
from trunkline.errors import InvalidSpec
from trunkline.model.pipelines import PipelineSpec
from trunkline.pipelines.spec import from_json, json_schema, read_specs, to_json
from trunkline.sdk.specs import gather

SOURCE = """
ingest: {name: customers}
source:
  sql:
    url: postgresql+psycopg://lake@db:5432/shop
    password: shop-db
    table: public.customers
    by: updated_at
    key: id
    lag: 5s
    every: 1m
    parallel: {by: id, parts: 8}
    jdbc: {package: "org.postgresql:postgresql:42.7.4"}
"""
TARGET = """
pipeline: {name: report}
input: {pfs: {repo: orders, glob: /}}
transform: {sql: SELECT 1 AS day}
egress:
  sql: {url: "postgresql://mart@db/mart", password: mart-db, table: daily, mode: merge, key: day}
"""


def one(text: str) -> PipelineSpec:
    (made,) = read_specs(text, name="a.yaml", project="default").specs
    return made.spec


def test_a_source() -> None:
    spec = one(SOURCE)
    assert spec.source is not None and spec.source.kind == "sql"
    assert spec.source.secrets == (("password", "shop-db"),)
    assert spec.source.options == {
        "url": "postgresql+psycopg://lake@db:5432/shop",
        "table": "public.customers",
        "query": "",
        "by": "updated_at",
        "key": ["id"],
        "lag": 5.0,
        "every": 60.0,
        "parallel": {"by": "id", "parts": 8},
        "jdbc": {"package": "org.postgresql:postgresql:42.7.4"},
    }
    assert from_json(to_json(spec)) == spec
    jsonschema.Draft202012Validator(json_schema()).validate(yaml.safe_load(SOURCE))


def test_a_target() -> None:
    spec = one(TARGET)
    (target,) = spec.egress
    assert (target.kind, target.secrets) == ("sql", (("password", "mart-db"),))
    assert target.options == {
        "url": "postgresql://mart@db/mart",
        "table": "daily",
        "mode": "merge",
        "key": ["day"],
        "delete": False,
        "create": True,
    }
    assert from_json(to_json(spec)) == spec
    jsonschema.Draft202012Validator(json_schema()).validate(yaml.safe_load(TARGET))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lake@", "lake:hush@", "source.sql.url: A URL holds no password."),
        ("/shop", "/shop?password=hush", "source.sql.url: A URL holds no password."),
        ("postgresql+psycopg://lake@db:5432/shop", "shop", "It is no URL of a database."),
        ("table: public.customers", "", "source.sql has neither a table nor a query."),
        ("table:", "query: SELECT 1\n    table:", "source.sql has both a table and a query."),
        ("by: updated_at", "", "source.sql.key goes with by."),
        ("parallel: {by: id, parts: 8}", "", "source.sql.jdbc goes with parallel."),
        ("parts: 8", "parts: 0", "source.sql.parallel.parts is 0, but must be 1 or more."),
        ('"org.postgresql:postgresql:42.7.4"', "pg.jar", "It is no package of Maven."),
        ("{package:", '{url: "jdbc:postgresql://u:hush@db/x", package:', "holds no password"),
    ],
)
def test_refusals_of_a_source(old: str, new: str, said: str) -> None:
    assert old in SOURCE
    with pytest.raises(InvalidSpec) as caught:
        one(SOURCE.replace(old, new, 1))
    assert said in caught.value.message
    assert "hush" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mart@", "mart:hush@", "A URL holds no password."),
        (", key: day", "", "egress[0].sql: mode: merge needs a key."),
        ("mode: merge", "mode: replace", "egress[0].sql.key goes with mode: merge."),
        ("mode: merge, key: day", "mode: append, delete: true", "delete goes with mode: merge."),
        ("mode: merge", "mode: update", "update"),
    ],
)
def test_refusals_of_a_target(old: str, new: str, said: str) -> None:
    assert old in TARGET
    with pytest.raises(InvalidSpec) as caught:
        one(TARGET.replace(old, new, 1))
    assert said in caught.value.message
    assert "hush" not in f"{caught.value.message} {caught.value.hint}"


def test_in_python() -> None:
    made = tl.database("sqlite:///shop.db", "orders", by="seen", key=("id",), password="db")
    assert made == {
        "sql": {
            "url": "sqlite:///shop.db",
            "table": "orders",
            "by": "seen",
            "key": ["id"],
            "password": "db",
        }
    }


def test_a_file_is_looked_for_from_the_spec(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    for given, wanted in (
        ("sqlite:///shop.db?timeout=5", f"sqlite:///{tmp_path}/shop.db?timeout=5"),
        ("sqlite:////data/shop.db", "sqlite:////data/shop.db"),
        ("postgresql://lake@db/shop", "postgresql://lake@db/shop"),
    ):
        path.write_text(f"ingest: {{name: a}}\nsource: {{sql: {{url: '{given}', table: t}}}}\n")
        (declared,) = gather((path,), "default", {}).declared
        assert declared.spec.source is not None
        assert declared.spec.source.options["url"] == wanted
        path.write_text(TARGET.replace("postgresql://mart@db/mart", given))
        (declared,) = gather((path,), "default", {}).declared
        assert declared.spec.egress[0].options["url"] == wanted
