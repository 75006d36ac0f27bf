"""What of this machine a source or a target reaches, by what is written of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from trunkline.model.reach import Connection, path_of

REST = {"type": "rest", "uri": "https://host"}


@pytest.mark.parametrize(
    ("kind", "options", "names"),
    [
        ("folder", {"path": "/a"}, ["path"]),
        ("folder", {"path": "/a", "then": {"move": "/b"}}, ["path", "then.move"]),
        ("objects", {"url": "s3://b/c/"}, []),
        ("objects", {"url": "file:///c/"}, ["url"]),
        ("objects", {"url": "gs://b/", "options": {"service_account": "/k"}},
         ["options.service_account"]),
        ("webhook", {"url": "https://h"}, []),
        ("sql", {"url": "postgresql://h/db"}, []),
        ("sql", {"url": "postgresql:///db"}, ["url"]),
        ("sql", {"url": "postgresql://h/db?host=/run/pg"}, ["url"]),
        ("sql", {"url": "postgresql://h/db?sslrootcert=system"}, []),
        ("sql", {"url": "postgresql://h/db?sslkey=/k"}, ["url.sslkey"]),
        ("sql", {"url": "postgresql://h/db?service=x"}, ["url.service"]),
        ("sql", {"url": "sqlite:////a.db"}, ["url"]),
        ("sql", {"url": "SQLITE:////a.db"}, ["url"]),
        ("sql", {"url": "sqlite+pysqlite:////a.db"}, ["url"]),
        ("sql", {"url": "duckdb:////a.db"}, ["url"]),
        ("sql", {"url": "mssql+pyodbc://dsn"}, ["url"]),
        ("sql", {"url": "mssql://a@dsn"}, ["url"]),
        ("sql", {"url": "mssql+pymssql://h/db"}, []),
        ("sql", {"url": "strange://h/db"}, ["url"]),
        ("sql", {"url": "postgresql://h/db", "jdbc": {"package": "a:b:1"}}, ["jdbc.package"]),
        ("delta", {"url": "/a"}, ["url"]),
        ("delta", {"url": "file:/a"}, ["url"]),
        ("delta", {"url": "s3a://b/a"}, []),
        ("delta", {"url": "s3://b/a", "options": {"AWS_PROFILE": "p"}}, ["options.AWS_PROFILE"]),
        ("kafka", {"servers": "h:1", "options": {"linger.ms": 1}}, []),
        ("kafka", {"servers": "h:1", "options": {"ssl.ca.location": "/a"}},
         ["options.ssl.ca.location"]),
        ("kafka", {"servers": "h:1", "options": {"ssl.ca.location": "probe"}}, []),
        ("iceberg", {"catalog": REST}, []),
        ("iceberg", {"catalog": {**REST, "name": "prod", "warehouse": "prod"}}, []),
        ("iceberg", {"catalog": {"name": "prod"}}, ["catalog"]),
        ("iceberg", {"catalog": {"type": "rest", "uri": "http://localhost:1"}}, ["catalog.uri"]),
        ("iceberg", {"catalog": {"type": "rest", "uri": "http://127.1:1"}}, ["catalog.uri"]),
        ("iceberg", {"catalog": {"type": "rest", "uri": "http://[::1]/"}}, ["catalog.uri"]),
        ("iceberg", {"catalog": {**REST, "warehouse": "file:///a"}}, ["catalog.warehouse"]),
        ("iceberg", {"catalog": {"type": "sql", "uri": "sqlite:////a.db"}}, ["catalog.uri"]),
        ("iceberg", {"catalog": {"type": "glue", "warehouse": "s3://b"}}, []),
        ("iceberg", {"catalog": {"type": "in-memory"}}, ["catalog.type"]),
        ("iceberg", {"catalog": {**REST, "s3.profile-name": "x"}}, ["catalog.s3.profile-name"]),
    ],
)  # fmt: skip
def test_what_is_of_this_machine(kind: str, options: Mapping[str, Any], names: list[str]) -> None:
    assert [one.name for one in Connection(kind, options).locals()] == names


def test_a_secret_may_be_a_place() -> None:
    """Before it is known it may be here; then it is judged as if it were written."""
    told = {"catalog": {"type": "sql"}, "table": "a.b"}
    (unknown,) = Connection("iceberg", told, ("uri",)).locals()
    assert unknown.path is None
    known = {**told, "uri": "sqlite:////a.db"}
    assert [one.path for one in Connection("iceberg", known, ("uri",)).locals()] == ["/a.db"]
    away = {**told, "uri": "postgresql://h/db"}
    assert not list(Connection("iceberg", away, ("uri",)).locals())


@pytest.mark.parametrize("is_source", [True, False])
def test_secrets_are_settings_too(is_source: bool) -> None:
    for options in ({}, {"plugin.library.paths": "/evil.so"}):
        names = ("plugin.library.paths", "sasl.password")
        found = Connection("kafka", options, names, is_source).refusals()
        assert [place for place, _ in found] == [("secrets", "plugin.library.paths")]
    spark = Connection("kafka", {"connector": "spark", "sasl.jaas.config": "x.Y required;"},
                       ("sasl.jaas.config",), is_source=True)  # fmt: skip
    assert [place for place, _ in spark.refusals()] == [("secrets", "sasl.jaas.config")]


def test_catalogs_are_of_known_databases() -> None:
    for uri in ("mysql://h/db", "sqlite:////a.db?vfs=x", "postgresql://h/db?plugin=x"):
        assert list(Connection("iceberg", {"catalog": {"uri": uri}}).refusals()), uri


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/a b", "/a b"),
        ("file:/a", "/a"),
        ("file:///a%20b", "/a b"),
        ("FILE://localhost/a", "/a"),
        ("a/../b", "a/../b"),
    ],
)
def test_paths(text: str, path: str) -> None:
    assert path_of(text) == path
