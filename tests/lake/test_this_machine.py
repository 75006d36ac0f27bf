"""What sources and targets may touch of the machine: when they are applied, and when they run."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import trunkline as tl
from trunkline.egress.base import Shipment
from trunkline.egress.opening import open_target
from trunkline.errors import InvalidSpec, NotAllowed, Precondition, TrunklineError
from trunkline.ingests.feeds import open_feed
from trunkline.ingests.feeds.base import Site
from trunkline.lake.core import Core
from trunkline.lake.manifests import EMPTY
from trunkline.lake.this_machine import check_file, of_target
from trunkline.model.commits import RepoName
from trunkline.model.egress import Target
from trunkline.model.inputs import Union
from trunkline.model.pipelines import PipelineSpec, Transform
from trunkline.model.streams import IngestSource

NAME = RepoName("default", "a")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tl.Lake]:
    folder = tmp_path_factory.mktemp("machine") / "home"
    with tl.init(folder, store=str(folder / "store")) as made:
        made.create_repo("orders")
        with made.commit("orders@main") as commit:
            commit.put("/a", b"1")
        yield made


@pytest.fixture
def core(lake: tl.Lake) -> Core:
    return lake._core


@pytest.fixture
def confined(core: Core) -> Core:
    return Core(core.database, core.objects, replace(core.options, sandbox_required=True))


def own(lake: tl.Lake) -> Path:
    return Path(lake.location) / ".trunkline"


def source(kind: str, options: Mapping[str, Any], secrets: Mapping[str, str]) -> PipelineSpec:
    found = IngestSource(kind, options, tuple((name, name) for name in secrets))
    return PipelineSpec(NAME, Union(()), Transform(), source=found)


def read(core: Core, kind: str, options: Mapping[str, Any], **secrets: str) -> Any:
    """As a worker does, whatever was applied once."""
    spec = source(kind, options, secrets)
    assert spec.source is not None
    site = Site(core, NAME, spec.source, {**options, **secrets}, threading.Event(),
                lambda: EMPTY, Path, spec, cast(Any, None))  # fmt: skip
    feed = open_feed(site)
    found = feed.gather({}, drain=True)
    return list(found.pieces) if found else []


def send(core: Core, kind: str, options: Mapping[str, Any], **secrets: str) -> None:
    target = Target("out", kind, "/", options, tuple((name, name) for name in secrets))
    sender = open_target(core, NAME, target, secrets.get, "L")
    try:
        sender.send(cast(Shipment, None))
    finally:
        sender.close()


def places(lake: tl.Lake) -> list[tuple[str, dict[str, Any]]]:
    """The lake's own files, by each kind that can name a file."""
    folder = own(lake)
    return [
        ("folder", {"path": str(folder)}),
        ("objects", {"url": f"file://{folder}/"}),
        ("objects", {"url": f"file://{str(folder).replace('trunk', '%74runk')}/"}),
        ("sql", {"url": f"sqlite:///{folder}/catalog.db", "table": "users"}),
        ("sql", {"url": f"sqlite+pysqlite:///{folder}/catalog%2Edb", "table": "users"}),
        ("sql", {"url": f"postgresql://h/db?sslkey={folder}/server.key", "table": "t"}),
        ("delta", {"url": str(folder)}),
        ("delta", {"url": f"file:{folder}"}),
        ("delta", {"url": f"file://{folder}/x"}),
        ("iceberg", {"catalog": {"uri": f"sqlite:///{folder}/catalog.db"}, "table": "a.b"}),
        ("iceberg", {"catalog": {"uri": "sqlite:///:memory:", "warehouse": f"file://{folder}"},
                     "table": "a.b"}),
        ("kafka", {"servers": "h:1", "topics": ["t"], "topic": "t",
                   "options": {"ssl.ca.location": f"{folder}/server.json"}}),
    ]  # fmt: skip


def test_a_lakes_own_files_are_no_source_and_no_target(
    lake: tl.Lake, core: Core, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(own(lake))
    linked = [("sql", {"url": f"sqlite:///{tmp_path}/link/catalog.db", "table": "users"})]
    for kind, options in [*places(lake), *linked]:
        for act in (read, send):
            with pytest.raises(Precondition, match="keeps its own files"):
                act(core, kind, options)


def test_nor_when_a_secret_names_them(lake: tl.Lake, core: Core) -> None:
    uri = f"sqlite:///{own(lake)}/catalog.db"
    told = {"catalog": {"type": "sql", "warehouse": "file:///tmp"}, "table": "a.b"}
    for act in (read, send):
        with pytest.raises(Precondition, match="keeps its own files"):
            act(core, "iceberg", told, uri=uri)
        with pytest.raises(Precondition, match="keeps its own files"):
            act(core, "kafka", {"servers": "h:1", "topics": ["t"], "topic": "t"},
                **{"ssl.ca.location": str(own(lake))})  # fmt: skip


def test_apply_refuses_them(lake: tl.Lake) -> None:
    url = f"sqlite:///{own(lake)}/catalog.db"
    for given in (
        {"ingest": {"name": "a"}, "source": {"sql": {"url": url, "table": "users"}}},
        {"ingest": {"name": "a"}, "source": {"objects": {"url": f"file://{own(lake)}/"}}},
        {"ingest": {"name": "a"}, "source": {"folder": str(own(lake))}},
        {"ingest": {"name": "a"}, "source": {"delta": str(own(lake))}},
        pipeline(sql={"url": url, "table": "grants", "mode": "append"}),
        pipeline(folder=str(own(lake) / "x")),
    ):
        with pytest.raises(Precondition, match="keeps its own files"):
            lake.apply(given)
    assert lake.pipelines() == []


def pipeline(**target: Any) -> dict[str, Any]:
    return {
        "pipeline": {"name": "a"},
        "input": {"pfs": {"repo": "orders", "glob": "/"}},
        "transform": {"cmd": ["true"]},
        "egress": target,
    }


LOCAL: list[tuple[str, dict[str, Any]]] = [
    ("folder", {"path": "/tmp/x"}),
    ("objects", {"url": "file:///tmp/"}),
    ("sql", {"url": "sqlite:////tmp/a.db", "table": "t"}),
    ("sql", {"url": "postgresql:///db", "table": "t"}),
    ("sql", {"url": "strange://host/db", "table": "t"}),
    ("sql", {"url": "postgresql://host/db", "table": "t",
             "parallel": {"by": "a", "parts": 1}, "jdbc": {"package": "a:b:1"}}),
    ("delta", {"url": "/tmp/x"}),
    ("iceberg", {"catalog": {"uri": "sqlite:////tmp/a.db"}, "table": "a.b"}),
    ("iceberg", {"catalog": {"name": "prod"}, "table": "a.b"}),
    ("kafka", {"servers": "h:1", "topics": ["t"], "topic": "t",
               "options": {"ssl.ca.location": "/tmp/ca"}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "options"), LOCAL)
def test_confined_nothing_of_the_machine_is_touched(
    confined: Core, kind: str, options: Mapping[str, Any]
) -> None:
    for act in (read, send):
        with pytest.raises(NotAllowed, match=r"\(sandbox\.required\)") as caught:
            act(confined, kind, options)
        assert caught.value.hint


def test_confined_apply_refuses_it_too(lake: tl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(lake._core.options, sandbox_required=True)
    monkeypatch.setattr(lake._core, "options", options)
    package = {"parallel": {"by": "a", "parts": 1}, "jdbc": {"package": "a:b:1"}}
    for given, said in (
        ({"ingest": {"name": "a"}, "source": {"folder": "/tmp"}}, "source.folder.path is a file"),
        ({"ingest": {"name": "a"}, "source": {"sql": {
            "url": "postgresql://h/db", "table": "t", **package}}}, "source.sql.jdbc.package"),
        (pipeline(folder="/tmp/x"), r"egress\[0\].folder.path is a file"),
        (pipeline(sql={"url": "sqlite:////tmp/a.db", "table": "t"}), r"egress\[0\].sql.url is"),
    ):  # fmt: skip
        with pytest.raises(NotAllowed, match=said):
            lake.apply(given)
    with pytest.raises(NotAllowed, match="folder.path is a file"):
        lake.export("orders@main", "/tmp/x")
    lake.apply(pipeline(webhook="https://host/x"))
    lake.delete_pipeline("a")


@pytest.mark.parametrize("act", [read, send])
def test_settings_are_looked_at_again_when_it_runs(core: Core, act: Any) -> None:
    """What was applied before there was a list, and what a secret is called."""
    kafka = {"servers": "h:1", "topics": ["t"], "topic": "t"}
    evil = {"plugin.library.paths": "/lake/evil"}
    for options, secrets in (({**kafka, "options": evil}, {}), (kafka, evil)):
        with pytest.raises(InvalidSpec, match=r"plugin\.library\.paths cannot be set"):
            act(core, "kafka", options, **secrets)
    iceberg = {"catalog": {"uri": "https://h", "py-io-impl": "subprocess.Popen"}, "table": "a.b"}
    with pytest.raises(InvalidSpec, match="py-io-impl cannot be set"):
        act(core, "iceberg", iceberg)


@pytest.mark.parametrize(
    ("kind", "body", "said"),
    [
        ("kafka", {"options": {"plugin.library.paths": "/x"}},
         "kafka.options: plugin.library.paths cannot be set"),
        ("kafka", {"secrets": {"ssl.engine.location": "x"}},
         "kafka.secrets: ssl.engine.location cannot be set"),
        ("kafka", {"options": {"sasl.mechanism": "GSSAPI"}},
         "kafka.options: sasl.mechanism cannot have this value."),
        ("iceberg", {"catalog": {"uri": "https://h", "py-io-impl": "x.Y"}},
         "iceberg.catalog: py-io-impl cannot be set"),
        ("delta", {"options": {"AWS_METADATA_ENDPOINT": "http://h"}},
         "delta.options: AWS_METADATA_ENDPOINT cannot be set"),
        ("objects", {"options": {"use_azure_cli": True}}, "objects.options: use_azure_cli cannot"),
        ("sql", {"url": "mssql+pyodbc:///?odbc_connect=x"}, "sql.url: odbc_connect cannot be set"),
    ],
)  # fmt: skip
def test_specs_say_what_cannot_be_set(
    lake: tl.Lake, kind: str, body: Mapping[str, Any], said: str
) -> None:
    basis: dict[str, dict[str, Any]] = {
        "kafka": {"servers": "h:1"},
        "iceberg": {"table": "a.b"},
        "delta": {"url": "s3://b/t"},
        "objects": {"url": "az://b/t"},
        "sql": {"table": "t"},
    }
    topics = {"topics": "t"} if kind == "kafka" else {}
    topic = {"topic": "t"} if kind == "kafka" else {}
    for given in (
        {"ingest": {"name": "a"}, "source": {kind: {**basis[kind], **topics, **body}}},
        pipeline(**{kind: {**basis[kind], **topic, **body}}),
    ):
        with pytest.raises(InvalidSpec) as caught:
            lake.apply(given)
        assert said in caught.value.message
        assert caught.value.hint


def test_a_catalog_elsewhere_leads_to_no_file_here(core: Core) -> None:
    away = of_target(Target("x", "iceberg", "/", {"catalog": {"uri": "https://h"}}))
    with pytest.raises(NotAllowed, match="its catalog is elsewhere"):
        check_file(away, core, "/etc/passwd")
    here = of_target(Target("x", "iceberg", "/", {"catalog": {"uri": "sqlite:////tmp/a.db"}}))
    check_file(here, core, "/tmp/x")
    check_file(away, core, "s3://bucket/x")


def test_files_are_read_as_before(core: Core, lake: tl.Lake, tmp_path: Path) -> None:
    """A folder around a lake is a source, without the lake; as is one with a link into it."""
    (tmp_path / "b.txt").write_text("b")
    (tmp_path / "keys").symlink_to(own(lake) / "catalog.db")
    (tmp_path / "lake").symlink_to(own(lake))
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE t AS SELECT 1 AS n")
    past = {"pattern": "**", "format": "files"}
    (tmp_path / "c.txt").touch()
    for name in ("b.txt", "c.txt", "a.db"):
        os.utime(tmp_path / name, (1, 1))
    pieces = read(core, "objects", {"url": f"file://{tmp_path}/", **past})
    assert [one.path for one in pieces] == ["/a.db", "/b.txt", "/c.txt"]
    (own(lake).parent / "beside.txt").touch()
    os.utime(own(lake).parent / "beside.txt", (1, 1))
    pieces = read(core, "objects", {"url": f"file://{own(lake).parent}/", **past})
    assert [one.path for one in pieces] == ["/beside.txt"]
    (rows,) = read(core, "sql", {"url": f"sqlite:///{tmp_path}/a.db", "table": "t"})
    assert rows.table.to_pylist() == [{"n": 1}]


def test_a_database_of_ducks_reads_no_files() -> None:
    from sqlalchemy.engine import make_url

    from trunkline.connect import databases

    seen: dict[str, Any] = {}

    def made(url: Any, **given: Any) -> None:
        seen.update(given["connect_args"])

    import sqlalchemy

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sqlalchemy, "create_engine", made)
        databases._engine(make_url("duckdb:////tmp/a.db"))
        assert seen["config"]["enable_external_access"] == "false"
        seen.clear()
        databases._engine(make_url("mysql+pymysql://h/db"))
        assert seen == {"local_infile": False}
    with pytest.raises(TrunklineError, match="plugin cannot be set"):
        databases.Database("postgresql://a@h/db#x?plugin=evil")
