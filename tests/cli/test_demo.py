"""The demo runs by itself, shows its commands, and leaves a lake to play with."""

import json
import os

from trunkline.cli import sample


def test_the_demo(cli, tmp_path, monkeypatch):
    place = tmp_path / "demo"
    monkeypatch.setenv("TRUNKLINE_LAKE", "/somewhere/else")
    text = cli.ok("demo", place)
    for shown in (
        "$ trunkline init\n",
        "$ trunkline put -r orders@main:/day=2026-01-01",
        "242 added, 1 modified",
        "$ trunkline merge",
        "$ trunkline revert orders@main\n",
        "all is well",
        f"The lake is in {place}",
    ):
        assert shown in text
    assert os.environ["TRUNKLINE_LAKE"] == "/somewhere/else"
    assert cli.json("repo", "list", "--lake", place)[0]["name"] == "orders"


def test_in_json_it_says_only_where(cli, tmp_path):
    assert json.loads(cli.ok("demo", tmp_path / "demo", "--json")) == {
        "lake": str(tmp_path / "demo")
    }


def test_it_wants_an_empty_folder(cli, tmp_path):
    (tmp_path / "mine").write_text("")
    result = cli("demo", tmp_path)
    assert result.code == 2
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]


def test_the_sample_is_the_same_every_time(tmp_path):
    for name in ("one", "two"):
        sample.write_day(tmp_path / name, "2026-01-01")
    files = [f.relative_to(tmp_path / "one") for f in (tmp_path / "one").rglob("*") if f.is_file()]
    assert len(files) == sample.ORDERS + 2
    assert all(
        (tmp_path / "one" / f).read_bytes() == (tmp_path / "two" / f).read_bytes() for f in files
    )
