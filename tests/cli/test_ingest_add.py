"""`trunkline ingest add`: an ingest from an address, without a file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
import yaml

import trunkline as tl
from tests.cli.run import Cli
from trunkline.errors import NotAllowed, Usage
from trunkline.pipelines.spec.ingestaddresses import source_of


@pytest.mark.parametrize(
    ("address", "fields", "secrets", "source"),
    [
        ("s3://b/dir/", {}, {}, {"objects": {"url": "s3://b/dir/"}}),
        ("https://a.org/v1", {"key": ["id"]}, {"token": "t"},
         {"api": {"url": "https://a.org/v1", "key": ["id"], "token": "t"}}),
        ("postgresql://lake@db/shop#public.orders", {"by": "at", "every": None}, {"password": "p"},
         {"sql": {"url": "postgresql://lake@db/shop", "table": "public.orders", "by": "at",
                  "password": "p"}}),
        ("kafka://h:9092/clicks", {}, {"sasl.password": "k"},
         {"kafka": {"servers": "h:9092", "topics": ["clicks"], "secrets": {"sasl.password": "k"}}}),
        ("delta:/data/t", {}, {}, {"delta": {"url": "/data/t"}}),
        ("iceberg:shop.orders", {"catalog": {"uri": "u"}}, {},
         {"iceberg": {"table": "shop.orders", "catalog": {"uri": "u"}}}),
        ("/data/in", {"format": "csv"}, {}, {"folder": {"path": "/data/in", "format": "csv"}}),
    ],
)  # fmt: skip
def test_addresses(address, fields, secrets, source):
    assert source_of(address, fields, secrets) == source


def test_a_password_is_refused_and_not_repeated():
    with pytest.raises(NotAllowed) as caught:
        source_of("postgresql://lake:hush@db/shop#t", {}, {})
    assert "hush" not in f"{caught.value} {caught.value.hint}"
    assert "--secret password=NAME" in caught.value.hint


def test_what_is_said_twice_or_unknown_is_refused():
    with pytest.raises(Usage, match="The address says table already"):
        source_of("sqlite:////data/a.db#t", {"table": "u"}, {})
    with pytest.raises(Usage, match='brought in from "ftp://"'):
        source_of("ftp://host/x", {}, {})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    tl.init(tmp_path).close()
    return tmp_path


def test_a_table_comes_in(cli: Cli, place: Path):
    with sqlite3.connect(place / "shop.db") as db:
        db.executescript("CREATE TABLE people (id INTEGER, name TEXT); "
                         "INSERT INTO people VALUES (1, 'Ada'), (2, 'Grace')")  # fmt: skip
    made = cli.ok("ingest", "add", "people", "sqlite:///shop.db#people", "--by=id", "--key=id")
    assert made == "Created people, version 1. A worker, or trunkline run, runs it.\n"
    cli.ok("run")
    assert cli.json("sql", "SELECT count(*) AS n FROM people") == [{"n": 2}]


def test_the_spec_is_shown_and_checked(cli: Cli, place: Path):
    feed = ("ingest", "add", "feed", "https://a.org/v1", "--set", "paging={link: true}", "--show")
    source = {"api": {"url": "https://a.org/v1", "paging": {"link": True}}}
    assert yaml.safe_load(cli.ok(*feed)) == {"ingest": {"name": "feed"}, "source": source}
    assert cli.json(*feed) == {"ingest": {"name": "feed"}, "source": source}
    wrong = cli("ingest", "add", "feed", "s3://b/", "--set", "how=teleport", "--show")
    assert wrong.code == 2
    assert "source.objects.how" in wrong.err
    assert cli("ingest", "add", "feed", "s3://b/", "--set", "how").code == 2
    assert cli("ingest", "add", "feed", "s3://b/", "--set", "how=[").code == 2
    assert cli.json("ingest", "list") == []
