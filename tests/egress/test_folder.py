"""A folder as a target: mirrors, versions, formats, and what it leaves alone."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.egress.worlds import DONE, FAILED, World, there


def mirror(folder: Path, **fields: Any) -> dict[str, Any]:
    return {"folder": {"path": str(folder), **fields}}


def versions(folder: Path, **fields: Any) -> dict[str, Any]:
    return mirror(folder, mode="versions", **fields)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "out"


def test_a_mirror_becomes_the_newest_version(world: World, out: Path):
    first = world.commit(a="1", dir__b="2", dir__c="3")
    assert world.send(first, mirror(out)).state is DONE
    assert there(out) == {"a": "1", "dir/b": "2", "dir/c": "3"}
    untouched = os.stat(out / "a").st_mtime_ns, os.stat(out / "a").st_ino

    done = world.send(world.commit(dir__b="two", dir__c=None, d="4"), mirror(out))
    assert there(out) == {"a": "1", "dir/b": "two", "d": "4"}
    assert (done.receipt["sent"], done.receipt["removed"], done.receipt["files"]) == (2, 1, 3)
    assert (os.stat(out / "a").st_mtime_ns, os.stat(out / "a").st_ino) == untouched


def test_files_and_folders_change_places(world: World, out: Path):
    world.send(world.commit(a="file", b__c="in a folder"), mirror(out))
    done = world.send(world.commit(a=None, b__c=None, a__x="1", b="2"), mirror(out))
    assert (done.state, done.reason) == (DONE, "")
    assert there(out) == {"a/x": "1", "b": "2"}
    world.send(world.commit(a__x=None, b=None), mirror(out))
    assert [one.name for one in out.iterdir()] == [".trunkline.json"]


def test_a_mirror_mends_what_others_did_to_it(world: World, out: Path):
    commit = world.commit(a="1", b="2")
    world.send(commit, mirror(out))
    (out / "a").unlink()
    (out / "b").write_text("longer than it was")
    (out / "mine").write_text("kept")
    world.send(commit, mirror(out))
    assert there(out) == {"a": "1", "b": "2", "mine": "kept"}


def test_what_was_there_before_is_not_replaced(world: World, out: Path):
    out.mkdir(parents=True)
    (out / "a").write_text("precious")
    done = world.send(world.commit(a="1", b="2"), mirror(out))
    assert done.state is FAILED
    assert "is there already, and was not delivered" in done.reason
    assert there(out) == {"a": "precious"}


def test_a_link_is_not_followed(world: World, out: Path, tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.mkdir(parents=True)
    (out / "dir").symlink_to(elsewhere)
    done = world.send(world.commit(dir__b="1"), mirror(out))
    assert done.state is FAILED
    assert there(elsewhere) == {}


def test_deliveries_to_one_folder_at_once_do_not_disturb_each_other(world: World, out: Path):
    commit = world.commit(**{f"f{number}": "x" * 1000 for number in range(50)})
    outcomes: list[str] = []

    def send() -> None:
        outcomes.append(world.lake.export(f"report@{commit}", str(out)).note)

    threads = [threading.Thread(target=send) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(outcomes) == 4
    assert len(there(out)) == 50


def test_nothing_is_written_if_a_link_is_on_the_way(world: World, out: Path, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    out.mkdir(parents=True)
    (out / "z").symlink_to(tmp_path / "elsewhere")
    assert world.send(world.commit(a="1", z__b="2"), mirror(out)).state is FAILED
    assert [one.name for one in out.iterdir()] == ["z"]


def test_two_pipelines_do_not_share_a_folder(world: World, out: Path):
    world.send(world.commit(a="1"), mirror(out))
    world.lake.create_repo("other")
    with world.lake.commit("other") as commit:
        commit.put("/b", b"2")
    with pytest.raises(Exception, match="is where report as mirror is delivered to"):
        world.lake.export("other", str(out))
    with pytest.raises(Exception, match="is where report as mirror is delivered to"):
        world.lake.export("report", str(out), mode="versions")
    assert there(out) == {"a": "1"}


def test_versions_and_the_newest(world: World, out: Path):
    made = [world.commit(a=str(n)) for n in range(3)]
    for commit in made:
        world.send(commit, versions(out, keep=2))
        assert (out / "latest").resolve() == out / commit
        assert (out / "latest" / "a").read_text() == str(made.index(commit))
    assert sorted(one.name for one in out.iterdir() if one.name[0] != ".") == [
        *sorted(made[1:]),
        "latest",
    ]
    # An older one again: it is the newest then, and there are still two.
    world.send(made[1], versions(out, keep=2))
    assert os.readlink(out / "latest") == made[1]


def test_what_the_lake_keeps_beside_tables_stays_there(world: World, out: Path):
    world.commit(t__a_csv="x", _quarantine__rule__b="1", t___late__c="2", _malformed__d="3")
    with world.lake.commit("report") as more:
        more.put("/t/_table.json", b"{}")
    assert world.send(more.result.id, mirror(out)).state is DONE
    assert list(there(out)) == ["t/a_csv"]


def test_one_folder_or_one_file_of_the_output(world: World, out: Path, tmp_path: Path):
    commit = world.commit(a="1", daily__b="2", daily__x__c="3")
    world.send(commit, {**mirror(out), "path": "/daily"})
    assert there(out) == {"b": "2", "x/c": "3"}
    world.send(commit, {**mirror(tmp_path / "one"), "path": "/daily/b", "name": "one"})
    assert there(tmp_path / "one") == {"b": "2"}
    missing = world.send(commit, {**mirror(tmp_path / "none"), "path": "/dayli", "name": "none"})
    assert missing.state is FAILED
    assert 'There is no "/dayli" in report@' in missing.reason


def test_tables_are_written_anew(world: World, out: Path, tmp_path: Path):
    rows = pa.table({"id": [1, 2, 3], "name": ["a", None, "ü"]})
    world.lake.write_table("report:/t", rows)
    commit = next(iter(world.lake.log("report"))).id
    target = {**mirror(out, format="csv"), "path": "/t"}
    done = world.send(commit, target)
    assert csv.read_csv(out / "part-00000.csv").to_pylist() == [
        {"id": 1, "name": "a"},
        {"id": 2, "name": ""},
        {"id": 3, "name": "ü"},
    ]
    assert world.send(commit, target).receipt["sent"] == 0
    world.send(commit, {**mirror(tmp_path / "json", format="json"), "name": "json"})
    lines = (tmp_path / "json/t/part-00000.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows.to_pylist()
    world.send(commit, {**mirror(tmp_path / "parquet", format="parquet"), "name": "parquet"})
    assert parquet.read_table(tmp_path / "parquet/t").to_pylist() == rows.to_pylist()
    assert done.receipt["files"] == 1


def test_what_is_no_number_is_spelt_as_the_lake_reads_it(world: World, out: Path, tmp_path: Path):
    rows = pa.table(
        {
            "v": [math.nan, math.inf, -math.inf, None, 0.1],
            "note": ["nan", 'a,nan,b\n"inf",', "", None, "-inf"],
            "w": pa.array([None, math.nan, 1.5, math.inf, -math.inf], pa.float32()),
        }
    )
    world.lake.write_table("report:/t", rows)
    commit = next(iter(world.lake.log("report"))).id
    world.send(commit, {**mirror(out, format="csv"), "path": "/t"})
    assert (out / "part-00000.csv").read_text() == (
        '"v","note","w"\nNaN,"nan",\nInf,"a,nan,b\n""inf"",",NaN\n-Inf,"",1.5\n,,Inf\n0.1,"-inf",-Inf\n'
    )
    world.lake.create_repo("back")
    with world.lake.commit("back") as made:
        made.put("/a.csv", (out / "part-00000.csv").read_bytes())
    assert repr(world.lake.table("back").arrow().to_pylist()) == repr(rows.to_pylist())
    world.send(commit, {**mirror(tmp_path / "json", format="json"), "name": "json"})
    lines = (tmp_path / "json/t/part-00000.json").read_text().splitlines()
    assert [json.loads(line, parse_constant=pytest.fail)["v"] for line in lines] == [
        "NaN", "Infinity", "-Infinity", None, 0.1
    ]  # fmt: skip


def test_times_that_json_has_no_form_for_are_refused_by_name(world: World, out: Path):
    far = pa.array([0, 400_000_000_000_000_000], pa.int64()).cast(pa.timestamp("us"))
    world.lake.write_table("report:/t", pa.table({"id": [1, 2], "until": far}))
    commit = next(iter(world.lake.log("report"))).id
    done = world.send(commit, {**mirror(out, format="json"), "path": "/t"})
    assert done.state is FAILED
    assert "until has a time outside the years 1 to 9999, which JSON cannot hold" in done.reason
    assert there(out) == {}


def test_large_tables_are_several_files(world: World, out: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("trunkline.egress.targets.parcels.ROWS_OF_A_FILE", 10)
    world.lake.write_table("report:/t", pa.table({"id": range(25)}))
    commit = next(iter(world.lake.log("report"))).id
    world.send(commit, {**mirror(out, format="parquet"), "path": "/t"})
    parts = sorted(out.glob("*.parquet"))
    assert [parquet.read_table(one).num_rows for one in parts] == [10, 10, 5]
    assert parquet.read_table(out, filters=None)["id"].to_pylist() == list(range(25))


def test_what_csv_cannot_hold_is_said(world: World, out: Path):
    world.lake.write_table("report:/t", pa.table({"id": [[1, 2]]}))
    commit = next(iter(world.lake.log("report"))).id
    done = world.send(commit, {**mirror(out, format="csv"), "path": "/t"})
    assert done.state is FAILED
    assert "cannot be written as csv" in done.reason
    assert there(out) == {}


def test_a_place_that_cannot_be_written(world: World, tmp_path: Path):
    (tmp_path / "file").write_text("")
    done = world.send(world.commit(a="1"), mirror(tmp_path / "file" / "out"))
    assert done.state is FAILED
    assert "cannot be written" in done.reason
