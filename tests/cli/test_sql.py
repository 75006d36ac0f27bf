"""`trunkline sql`: formats, files, charts, and errors that point to the place."""

from __future__ import annotations

import io
import json
import os
import pty
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trunkline as tl
from tests.cli.run import Cli, process


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the table orders: three rows, one of each kind of trouble."""
    folder = tmp_path_factory.mktemp("lake")
    table = pa.table(
        {
            "id": [1, 2, 3],
            "name": ['a,"b"', "zwei\nZeilen", None],
            "price": pa.array(map(Decimal, ("1.50", "20.00", "-3.25")), pa.decimal128(12, 2)),
            "raw": [b"\x00\xff", b"", None],
        }
    )
    file = io.BytesIO()
    pq.write_table(table, file)
    with tl.init(folder) as lake:
        lake.create_repo("orders")
        lake.create_repo("copies")
        with lake.commit("orders@main") as commit:
            commit.put("/a.parquet", file.getvalue())
    return folder


@pytest.fixture(autouse=True)
def inside(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shop)


def test_a_table(cli: Cli):
    out = cli.ok("sql", "SELECT id, price, name FROM orders ORDER BY id")
    assert out.splitlines() == [
        "id  price  name",
        ' 1   1.50  a,"b"',
        " 2  20.00  zwei\\nZeilen",
        " 3  -3.25  null",
    ]


def test_json_is_exact(cli: Cli):
    out = cli.ok("sql", "--json", "SELECT id, price, raw, name FROM orders ORDER BY id")
    found = json.loads(out, parse_float=Decimal)
    assert found[0] == {"id": 1, "price": Decimal("1.50"), "raw": "AP8=", "name": 'a,"b"'}
    assert found[2]["raw"] is None
    assert cli.ok("sql", "--format", "json", "SELECT id FROM orders WHERE false") == "[]\n"


def test_json_of_every_type(cli: Cli):
    text = """SELECT DATE '2026-01-02' AS d, TIMESTAMP '2026-01-02 03:04:05.5' AS t,
        TIMESTAMPTZ '2026-01-02 03:04:05+02' AS z, [1, 2] AS l, {'a': 1.5} AS s, MAP {'k': 2} AS m,
        170141183460469231731687303715884105727::HUGEINT AS h, true AS b, 'nan'::DOUBLE AS n"""
    (row,) = json.loads(cli.ok("sql", "--json", text))
    assert row == {
        "d": "2026-01-02", "t": "2026-01-02T03:04:05.500000", "z": "2026-01-02T01:04:05Z",
        "l": [1, 2], "s": {"a": 1.5}, "m": {"k": 2},
        "h": 170141183460469231731687303715884105727, "b": True, "n": "NaN",
    }  # fmt: skip


def test_csv(cli: Cli):
    out = process("sql", "SELECT id, name, '' AS e FROM orders ORDER BY id", "--format", "csv").out
    assert out == 'id,name,e\r\n1,"a,""b""",""\r\n2,"zwei\nZeilen",""\r\n3,,""\r\n'


def test_csv_of_what_is_no_number(cli: Cli):
    text = "SELECT unnest(['nan', 'inf', '-inf', NULL])::DOUBLE AS v, 'nan' AS t"
    assert process("sql", text, "--format", "csv").out == (
        "v,t\r\nNaN,nan\r\nInf,nan\r\n-Inf,nan\r\n,nan\r\n"
    )


def test_markdown(cli: Cli):
    out = cli.ok("sql", "SELECT id, 'a|b' AS n FROM orders LIMIT 1", "--format", "markdown")
    assert out == "| id | n |\n|---:|---|\n| 1 | a\\|b |\n"


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.md", "out.parquet", "out.txt"])
def test_files(cli: Cli, tmp_path: Path, name: str):
    path = tmp_path / name
    assert cli.ok("sql", "FROM orders", "-n", "2", "-o", path) == f"Wrote {path}.\n"
    if name.endswith("parquet"):
        assert pq.read_table(path).num_rows == 2
    assert os.listdir(tmp_path) == [name]


def test_a_query_that_fails_leaves_no_file(cli: Cli, tmp_path: Path):
    done = cli("sql", "SELECT name::INT FROM orders", "-o", tmp_path / "out.csv")
    assert done.code == 1
    assert os.listdir(tmp_path) == []


def test_from_a_file_and_from_stdin(cli: Cli, tmp_path: Path):
    (tmp_path / "q.sql").write_text("SELECT count(*) AS n\nFROM orders;\n")
    assert cli.json("sql", "-f", tmp_path / "q.sql") == [{"n": 3}]
    assert process("sql", "-", "--json", stdin=b"SELECT 1 AS a").json == [{"a": 1}]
    assert cli("sql", "-f", tmp_path / "none.sql").code == 1
    assert cli("sql", "SELECT 1", "-f", tmp_path / "q.sql").code == 2


def test_limit(cli: Cli):
    assert len(cli.json("sql", "FROM range(100)", "--limit", "7")) == 7
    assert cli.json("sql", "FROM range(100)", "--limit", "0") == []
    assert cli("sql", "FROM range(100)", "--limit", "-1").code == 2


def test_into(cli: Cli):
    assert "copies@main" in cli.ok("sql", "FROM orders WHERE id < 3", "--into", "copies@main")
    assert cli.json("sql", "SELECT count(*) AS n FROM copies") == [{"n": 2}]
    assert "orders@" in cli.ok("log", "copies", "-n", "1")


def test_errors_show_the_place(cli: Cli):
    done = cli("sql", "SELECT id,\n  nope FROM orders")
    assert done.code == 2
    assert done.out == ""
    lines = done.err.splitlines()
    assert lines[0].startswith('error: Referenced column "nope"')
    assert lines[1:3] == ["    nope FROM orders", "    ^^^^"]


@pytest.mark.parametrize(
    "args, code",
    [
        (["FROM ordes"], 3),
        (["DROP TABLE orders"], 5),
        (["FROM 'x.csv'"], 5),
        (["SELECT FROM WHERE"], 2),
        (["SELECT name::INT FROM orders"], 1),
        (["FROM orders", "--engine", "oracle"], 2),
        (["FROM orders", "--format", "xml"], 2),
        (["FROM orders", "--json", "--format", "csv"], 2),
        (["FROM orders", "--at", "deadbeef"], 3),
        (["FROM orders", "--plot", "pie"], 2),
    ],
)
def test_exit_codes(cli: Cli, args: list[str], code: int):
    done = cli("sql", *args)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(("error: ", "{"))
    as_json = cli("sql", *args, *([] if "--json" in args else ["--json"]))
    assert set(json.loads(as_json.err)) >= {"code", "message", "hint"}


def test_charts(cli: Cli):
    numbers = "SELECT range AS x, range * range AS y FROM range(20)"
    assert "⠀" not in cli.ok("sql", numbers, "--plot")
    assert any(ord(c) > 0x2800 for c in cli.ok("sql", numbers, "--plot"))
    assert any(ord(c) > 0x2800 for c in cli.ok("sql", "--plot", "scatter", numbers))
    bars = cli.ok("sql", "SELECT name, id FROM orders ORDER BY id", "--plot", "bar").splitlines()
    assert bars[2].count("█") > bars[0].count("█") > 0
    assert len(cli.ok("sql", "SELECT sin(range) FROM range(500)", "--plot").splitlines()) == 16
    days = "SELECT DATE '2026-01-01' + range::INT AS day, range AS n FROM range(9)"
    assert "2026-01-09" in cli.ok("sql", days, "--plot", "line")
    bars = cli.ok("sql", days, "--plot").splitlines()
    assert len(bars) == 9
    assert bars[8].startswith("2026-01-09 █")
    (one,) = cli.ok("sql", f"{days} LIMIT 1 OFFSET 3", "--plot").splitlines()
    assert one.startswith("2026-01-04 █")
    assert "│" in cli.ok("sql", days.replace("range(9)", "range(13)"), "--plot")
    assert cli("sql", "SELECT name FROM orders", "--plot").code == 6
    assert cli("sql", "SELECT id FROM orders WHERE false", "--plot").code == 6


def test_help_and_listing(cli: Cli):
    assert "orders" in cli.ok("sql", "SHOW TABLES")
    assert cli.json("sql", "DESCRIBE orders")[0]["column"] == "id"


@pytest.mark.slow
def test_ctrl_c_ends_a_long_query(shop: Path):
    text = (
        "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range * b.range) % 7 = 3"
    )
    with subprocess.Popen(
        [sys.executable, "-m", "trunkline", "sql", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=shop,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as done:
        # Long after it has started: starting takes less than half of that.
        while psutil.Process(done.pid).cpu_times().user < 3:
            time.sleep(0.1)
        done.send_signal(signal.SIGINT)
        out, err = done.communicate(timeout=90)
    assert (done.returncode, out, err) == (130, b"", b"interrupted\n")


def test_on_a_terminal_it_is_cut_to_the_width(shop: Path):
    master, slave = pty.openpty()
    text = "SELECT range AS n, repeat('x', 300) AS long, NULL AS none FROM range(150)"
    environ = {**os.environ, "COLUMNS": "60", "TERM": "xterm"}
    done = subprocess.Popen(
        [sys.executable, "-m", "trunkline", "sql", text], stdout=slave, cwd=shop, env=environ
    )
    os.close(slave)
    out = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        out += piece
    assert done.wait(90) == 0
    lines = out.decode().splitlines()
    assert "50 more rows" in lines[-1]
    assert lines[1].lstrip().startswith("0  xxx")
    assert "…" in lines[1]
    assert "\x1b[2mnull" in lines[1]
