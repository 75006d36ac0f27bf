"""DuckDB's own Iceberg reader, a program that shares nothing with ours, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import Catalog

from tests.server.iceberg.catalogs import OpenCatalog, snapshot_of
from tests.server.iceberg.sample import Sample

VERSION = "1.5.5"
# The newest DuckDB whose extensions are packages: our own is newer, and finds none.
PACKAGES = ("duckdb", *(f"duckdb-extension-{one}" for one in ("httpfs", "avro", "iceberg")))
IN_DUCKDB = """
import importlib
import json
import sys
from pathlib import Path

import duckdb

endpoint, access, *questions = sys.argv[1:]
connection = duckdb.connect()
for name in ("httpfs", "avro", "iceberg"):
    packaged = importlib.import_module(f"duckdb_extension_{name}")
    (extension,) = Path(packaged.__file__).parent.rglob(f"{name}.duckdb_extension")
    connection.execute(f"LOAD '{extension}'")
connection.execute(f"ATTACH '' AS lake (TYPE iceberg, ENDPOINT '{endpoint}', {access})")
answers = []
for question in questions:
    try:
        answers.append(connection.execute(question).fetchall())
    except duckdb.Error as error:
        answers.append(str(error))
print(json.dumps(answers, default=str))
"""

Ask = Callable[..., list[Any]]


@pytest.fixture(scope="module")
def ask(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Ask:
    assert pytestconfig.cache is not None
    packages = pytestconfig.cache.mkdir(f"duckdb-iceberg-{VERSION}")
    if not (packages / "duckdb_extension_iceberg").exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        wanted = [f"{one}=={VERSION}" for one in PACKAGES]
        subprocess.run([*install, "--target", str(packages), *wanted], check=True)
    home: Path = tmp_path_factory.mktemp("home")

    def asked(opened: OpenCatalog, access: str, *questions: str) -> list[Any]:
        done = subprocess.run(
            [sys.executable, "-c", IN_DUCKDB, opened.uri, access, *questions],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: list[Any] = json.loads(done.stdout)
        return found

    return asked


@pytest.mark.slow
def test_tables_and_versions(ask: Ask, opened: OpenCatalog, catalog: Catalog, sample: Sample):
    orders = catalog.load_table("default.orders")
    first, second = (snapshot_of(orders, sample.commits[step]) for step in ("first", "second"))
    head, at_first, at_second, filtered, counted, written = ask(
        opened,
        "AUTHORIZATION_TYPE 'none'",
        "SELECT id, name, tip FROM lake.default.orders ORDER BY id",
        f"SELECT * FROM lake.default.orders AT (VERSION => {first}) ORDER BY id",
        f"SELECT * FROM lake.default.orders AT (VERSION => {second}) ORDER BY id",
        "SELECT name FROM lake.default.orders WHERE id > 5 ORDER BY name",
        "SELECT count(*), sum(id) FROM lake.shop.items",
        "INSERT INTO lake.default.orders VALUES (1, 'no', 0)",
    )
    assert head == [[1, "A", 0.5], [3, None, None], [10, "x", 1.5], [2**40, "y", 2.5]]
    assert at_first == [[1, "a"], [2, "b"]]
    assert at_second == [[1, "a", None], [2, "b", None], [10, "x", 1.5], [2**40, "y", 2.5]]
    assert filtered == [["x"], ["y"]]
    assert counted == [[1, 7]]
    assert "403" in written or "read-only" in written


def test_folders_and_types(ask: Ask, opened: OpenCatalog):
    hive, one_day, days, small, every, nested, empty, planned = ask(
        opened,
        "AUTHORIZATION_TYPE 'none'",
        'SELECT id, day FROM lake."default.lake".hive ORDER BY id',
        "SELECT id FROM lake.\"default.lake\".hive WHERE day = DATE '2026-01-02' ORDER BY id",
        "SELECT id FROM lake.\"default.lake\".days WHERE day = DATE '2026-01-02' ORDER BY id",
        'SELECT count(*), sum(id) FROM lake."default.lake".small',
        "SELECT id, tiny, flag, exact, epoch(moment), local, day, hex(raw), float, text "
        'FROM lake."default.lake.raw"."every" ORDER BY id',
        'SELECT list, struct.a, struct.b, map[\'k\'] FROM lake."default.lake.raw"."every" '
        "ORDER BY id",
        'SELECT count(*) FROM lake."default.lake.raw"."empty"',
        'SELECT count(*) FROM lake."default.lake".planned',
    )
    assert hive[0] == [0, None]
    assert hive[1:3] == [[10, "2026-01-01"], [11, "2026-01-01"]]
    assert one_day == [[20], [21]]
    assert days == [[1], [4], [7]]
    assert small == [[30, 435]]
    assert every[0] == [
        1, -1, True, "12345678901234567890.123", 1767268800.0, "2026-01-01 12:00:00.123456",
        "2026-02-28", "00FF", 1.5, "Zoë",
    ]  # fmt: skip
    assert nested == [[[1, None], 1, ["x"], 1.5], [None, None, None, None]]
    assert empty == [[0]]
    assert planned == [[0]]


def test_tokens(ask: Ask, locked: OpenCatalog):
    lake = locked.lake
    lake.create_user("duck", roles={"shop": "reader"})
    token = lake.create_token(owner="duck").token
    seen, hidden = ask(
        locked,
        f"TOKEN '{token}'",
        "SELECT * FROM lake.shop.items",
        "SELECT * FROM lake.default.orders",
    )
    assert seen == [[7, "bread"]]
    assert "does not exist" in hidden
    place = f"{locked.uri}/v1/oauth/tokens"
    access = f"CLIENT_ID 'any', CLIENT_SECRET '{token}', OAUTH2_SERVER_URI '{place}'"
    assert ask(locked, access, "SELECT name FROM lake.shop.items") == [[["bread"]]]
