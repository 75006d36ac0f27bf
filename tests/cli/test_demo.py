"""The demo runs by itself, shows its commands, and leaves a lake to play with."""

import json
import os
import subprocess
import sys

import pytest

from tests.docs.console import ROOT
from trunkline.cli import demo, sample


def test_the_demo(cli, spark, tmp_path, monkeypatch):
    place = tmp_path / "demo"
    monkeypatch.setenv("TRUNKLINE_LAKE", "/somewhere/else")
    text = cli.ok("demo", place)
    for shown in (
        "$ trunkline init\n",
        "$ trunkline put -r orders@main incoming",
        "$ trunkline pipeline apply shop/clean.yaml shop/revenue.py",
        "1 datum: 1 ran; 120 rows in, 120 out",
        "2 datums: 1 ran, 1 skipped; 120 rows in, 119 out",
        '"amount":-12.8}\n',
        "failure: the check known_once: 240 of 240 rows (100 %) share their day and id",
        "unrunnable: its input clean failed",
        "3 datums: 1 ran, 2 skipped; 120 rows in, 120 out",
        "2026-01-03    null  3225.8\n",
        "│ ✓ report │",
        "made from:\n",
        "all is well",
        f"The lake is in {place}",
    ):
        assert shown in text
    # What is asked before and after the bad day has the same answer.
    _, before, after = text.split(f'$ trunkline sql "{demo.REPORT}"\n')
    assert before.splitlines()[:3] == after.splitlines()[:3]
    assert os.environ["TRUNKLINE_LAKE"] == "/somewhere/else"
    names = [pipeline["name"] for pipeline in cli.json("pipeline", "list", "--lake", place)]
    assert names == ["clean", "goods", "report", "revenue"]


def test_what_it_shows_is_so(cli, spark, tmp_path):
    """Each day was computed once, and one row of the second is not in the table."""
    place = tmp_path / "demo"
    assert json.loads(cli.ok("demo", place, "--json")) == {"lake": str(place)}
    jobs = cli.json("job", "list", "--pipeline", "clean", "--lake", place)
    assert [(job["state"], job["processed"], job["rows_out"]) for job in jobs] == [
        ("success", 1, 120),
        ("failure", 0, None),
        ("success", 1, 119),
        ("success", 1, 120),
    ]
    days = cli.json("sql", "SELECT day, count(*) AS n FROM clean GROUP BY day", "--lake", place)
    assert sorted((row["day"], row["n"]) for row in days) == [
        (demo.DAY_1, 120), (demo.DAY_2, 119), (demo.DAY_3, 120),
    ]  # fmt: skip
    aside = cli.json("sql", 'FROM "clean@main:/_quarantine/not_negative"', "--lake", place)
    assert [row["amount"] for row in aside] == [-12.8]


def test_without_java_it_says_so(cli, tmp_path, monkeypatch):
    from trunkline.engine import session
    from trunkline.errors import Precondition

    def no_java(options):
        raise Precondition("There is no Java here.", hint="Install one.")

    monkeypatch.setattr(session, "start", no_java)
    result = cli("demo", tmp_path / "demo")
    assert result.code == 6
    assert "There is no Java here." in result.err


def test_it_wants_an_empty_folder(cli, tmp_path):
    (tmp_path / "mine").write_text("")
    result = cli("demo", tmp_path)
    assert result.code == 2
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]


def test_the_shop_of_the_package_is_the_example(tmp_path):
    files = sample.write_shop(tmp_path / "shop")
    example = ROOT / "examples" / "shop"
    assert [file.name for file in files] == sorted(
        file.name for file in example.iterdir() if file.is_file()
    )
    assert all(file.read_bytes() == (example / file.name).read_bytes() for file in files)


@pytest.mark.parametrize("orders", [3, 120])
@pytest.mark.parametrize("table", [False, True])
def test_a_day_is_the_same_every_time(tmp_path, orders, table):
    for name in ("one", "two"):
        command = [sys.executable, sample.SHOP / "day.py", "2026-01-01", tmp_path / name]
        command += ["--table"] if table else []
        subprocess.run([*command, "--orders", str(orders)], check=True)
    files = [f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*") if f.is_file()]
    assert len(files) == (1 if table else orders + 2)
    assert all(
        (tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files
    )
