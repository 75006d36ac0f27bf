"""The demo runs by itself, shows its commands, and leaves a lake to play with."""

import json
import os
import subprocess
import sys

import pytest

from tests.docs.console import ROOT
from trunkline.cli import demo, sample


def test_the_demo(cli, tmp_path, monkeypatch):
    place = tmp_path / "demo"
    monkeypatch.setenv("TRUNKLINE_LAKE", "/somewhere/else")
    text = cli.ok("demo", place)
    for shown in (
        "$ trunkline init\n",
        "$ trunkline put -r orders@main incoming",
        "$ trunkline plan shop/visits.yaml shop/invoices.py shop/report.yaml\n",
        "120 datums: 120 ran",
        "240 datums: 120 ran, 120 skipped",
        "241 datums: 1 ran, 240 skipped",
        "new                           orders:/day=2026-01-02/orders/0121.json\n",
        "input changed: /day=2026-01-02",
        "│ ✓ report │",
        "made from:\n",
        "$ trunkline merge orders@fix orders@main\n",
        "all is well",
        f"The lake is in {place}",
    ):
        assert shown in text
    assert os.environ["TRUNKLINE_LAKE"] == "/somewhere/else"
    names = [pipeline["name"] for pipeline in cli.json("pipeline", "list", "--lake", place)]
    assert names == ["invoices", "report", "visits"]


def test_what_it_shows_is_so(cli, tmp_path):
    """One file more: one invoice, one report, and the one of the day before is as it was."""
    place = tmp_path / "demo"
    assert json.loads(cli.ok("demo", place, "--json")) == {"lake": str(place)}
    late, late_day = (
        cli.json("job", "list", "--pipeline", name, "--lake", place)[1]
        for name in ("invoices", "report")
    )
    assert (late["processed"], late["skipped"]) == (1, 240)
    assert (late_day["processed"], late_day["skipped"]) == (1, 1)
    day_2 = f"report@main~2:/day={demo.DAY_2}.csv"
    before = cli.ok("cat", day_2, "--lake", place)
    after = cli.ok("cat", day_2.replace("~2", "~1"), "--lake", place)
    assert ",120," in before
    assert ",121," in after


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
def test_a_day_is_the_same_every_time(tmp_path, orders):
    for name in ("one", "two"):
        command = [sys.executable, sample.SHOP / "day.py", "2026-01-01", tmp_path / name]
        subprocess.run([*command, "--orders", str(orders)], check=True)
    files = [f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*") if f.is_file()]
    assert len(files) == orders + 2
    assert all(
        (tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files
    )
