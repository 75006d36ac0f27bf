"""A lake's files as any library of files sees them: in its folder and through its server."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest
from fsspec.core import url_to_fs

import trunkline as tl
from trunkline import Lake
from trunkline.filesystem import LakeFileSystem
from trunkline.filesystem.paths import LakePath, parse
from trunkline.model.shape import as_json


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", None),
        ("orders", LakePath("orders", "orders", "main", "/")),
        ("orders/a/b", LakePath("orders", "orders", "main", "/a/b")),
        ("orders@v1/a", LakePath("orders@v1", "orders", "v1", "/a")),
        ("orders@main~2", LakePath("orders@main~2", "orders", "main~2", "/")),
        ("shop/prices@main/a@b", LakePath("shop/prices@main", "shop/prices", "main", "/a@b")),
        ("orders@main/x@y/z", LakePath("orders@main", "orders", "main", "/x@y/z")),
        ("a/b/c@d", LakePath("a", "a", "main", "/b/c@d")),
    ],
)
def test_how_a_path_is_read(text: str, expected: LakePath | None) -> None:
    assert parse(text) == expected


def test_files_are_written_listed_and_read(lake: Lake, fs: LakeFileSystem) -> None:
    with fs.open("tl://orders@main/day=1/a.csv", "wb") as file:
        file.write(b"one,")
        assert file.tell() == 4
        file.write(b"two")
    fs.pipe_file("orders/day=2/b.csv", b"three")
    fs.write_text("orders/top.txt", "äöü")
    assert len(lake.commits("orders@main")) == 3
    assert fs.ls("orders@main", detail=False) == [
        "orders@main/day=1",
        "orders@main/day=2",
        "orders@main/top.txt",
    ]
    assert fs.find("tl://orders") == ["orders/day=1/a.csv", "orders/day=2/b.csv", "orders/top.txt"]
    assert fs.find("orders", withdirs=True) == [
        "orders",
        "orders/day=1",
        "orders/day=1/a.csv",
        "orders/day=2",
        "orders/day=2/b.csv",
        "orders/top.txt",
    ]
    assert fs.find("orders", maxdepth=1) == ["orders/top.txt"]
    assert fs.find("orders/none") == []
    assert fs.glob("tl://orders@main/day=*/*.csv") == [
        "orders@main/day=1/a.csv",
        "orders@main/day=2/b.csv",
    ]
    assert fs.glob("orders/**/*.csv") == ["orders/day=1/a.csv", "orders/day=2/b.csv"]
    assert fs.cat("orders/day=*/*") == {
        "orders/day=1/a.csv": b"one,two",
        "orders/day=2/b.csv": b"three",
    }
    assert fs.read_text("orders/top.txt") == "äöü"
    assert fs.du("orders") == 7 + 5 + 6
    assert fs.isdir("orders/day=1") and not fs.isfile("orders/day=1")
    assert fs.isfile("orders/top.txt") and not fs.isdir("orders/top.txt")
    assert not fs.exists("orders/none") and not fs.exists("none/a") and not fs.exists("a//b")
    assert [path for path, *_ in fs.walk("orders")] == ["orders", "orders/day=1", "orders/day=2"]
    assert fs.ls("orders/top.txt", detail=False) == ["orders/top.txt"]


def test_earlier_commits_are_files_too(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe_file("orders/a", b"old")
    lake.create_tag("orders@v1", "main")
    fs.pipe_file("orders/a", b"new")
    assert fs.cat_file("orders@main~1/a") == fs.cat_file("orders@v1/a") == b"old"
    first = lake.commits("orders@main")[-1]
    assert fs.cat_file(f"orders@{first.id[:16]}/a") == b"old"
    assert f"{fs.modified('orders@v1/a'):%Y-%m-%dT%H:%M:%S.%fZ}" == as_json(first)["finished"]
    assert fs.created("orders@v1/a") == fs.modified("orders@v1/a")
    assert fs.ukey("orders@v1/a") == lake.stat("orders@v1:/a").hash != fs.ukey("orders/a")
    assert fs.checksum("orders@v1/a") == fs.checksum("orders@main~1/a") != fs.checksum("orders/a")


def test_projects_and_repos_are_folders(fs: LakeFileSystem) -> None:
    fs.pipe_file("shop/prices@main/a", b"1")
    assert fs.ls("", detail=False) == ["orders"]
    assert fs.isdir("tl://") and fs.isdir("shop") and fs.isdir("orders")
    assert fs.ls("shop", detail=False) == ["shop/prices@main"]
    assert fs.find("shop") == ["shop/prices@main/a"]
    assert not fs.exists("nowhere")


def test_a_project_can_be_given(lake: Lake) -> None:
    with tl.open(lake.location, "shop", direct=True) as shop, shop.commit("prices") as commit:
        commit.put("/a", b"1")
    fs = LakeFileSystem(lake.location, project="shop", skip_instance_cache=True)
    assert fs.cat_file("prices/a") == b"1"
    fs.lake.close()


def test_parts_of_files_are_read(fs: LakeFileSystem) -> None:
    data = bytes(range(256)) * 40
    fs.pipe_file("orders/a", data)
    for start, end in ((0, 5), (10, 10), (10, 5), (-5, None), (None, -5), (3, None), (-9, -3)):
        assert fs.cat_file("orders/a", start, end) == data[start:end]
    assert fs.cat_file("orders/a", 10_000, 99_999) == data[10_000:]
    assert fs.cat_ranges(["orders/a"] * 3, [0, 7, -2], [3, 9, None]) == [
        data[:3],
        data[7:9],
        data[-2:],
    ]
    [missing, there] = fs.cat_ranges(["orders/none", "orders/a"], 0, 2)
    assert isinstance(missing, FileNotFoundError)
    assert there == data[:2]
    with pytest.raises(FileNotFoundError):
        fs.cat_ranges(["orders/none"], 0, 2, on_error="raise")
    with fs.open("orders/a", block_size=100) as file:
        file.seek(500)
        assert file.read(20) == data[500:520]
        file.seek(-3, 2)
        assert file.read() == data[-3:]
    assert fs.head("orders/a", 10) == data[:10]
    assert fs.tail("orders/a", 10) == data[-10:]


def test_an_open_file_stays_as_it_was(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe_file("orders/a", b"x" * 1000)
    with fs.open("orders/a", block_size=10, cache_type="none") as file:
        assert file.read(10) == b"x" * 10
        fs.pipe_file("orders/a", b"y")
        assert file.read() == b"x" * 990


def test_appending(lake: Lake, fs: LakeFileSystem) -> None:
    for text in ("one\n", "two\n"):
        with fs.open("orders/log", "a") as file:
            file.write(text)
    assert fs.cat_file("orders/log") == b"one\ntwo\n"
    with fs.open("orders/log", "ab") as file:
        assert file.tell() == 8


def test_copying_moves_no_bytes_and_moving_is_one_commit(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe({"orders/a/x": b"1", "orders/a/y": b"2"})
    assert len(lake.commits("orders@main")) == 1
    fs.cp_file("orders/a/x", "shop/prices@main/x")
    assert fs.ukey("shop/prices@main/x") == fs.ukey("orders/a/x")
    fs.mv("orders/a", "orders/b", recursive=True)
    assert fs.find("orders") == ["orders/b/x", "orders/b/y"]
    assert len(lake.commits("orders@main")) == 2
    fs.rm("orders/b", recursive=True)
    assert fs.find("orders") == []
    assert len(lake.commits("orders@main")) == 3


def test_files_of_this_computer_come_and_go(lake: Lake, fs: LakeFileSystem, tmp_path: Path) -> None:
    local = tmp_path / "local"
    (local / "sub").mkdir(parents=True)
    (local / "a").write_bytes(b"1" * 5000)
    (local / "sub" / "b").write_bytes(b"2")
    fs.put(str(local), "orders/up", recursive=True)
    assert fs.find("orders") == ["orders/up/a", "orders/up/sub/b"]
    assert len(lake.commits("orders@main")) == 1
    fs.get("orders/up", str(tmp_path / "down"), recursive=True)
    assert (tmp_path / "down" / "a").read_bytes() == b"1" * 5000
    assert (tmp_path / "down" / "sub" / "b").read_bytes() == b"2"
    with open(tmp_path / "one", "wb") as file:
        fs.get_file("orders/up/a", file)
    assert (tmp_path / "one").stat().st_size == 5000


def test_what_is_large_waits_on_disk(lake: Lake, fs: LakeFileSystem) -> None:
    with fs.open("orders/big", "wb") as file:
        for number in range(20):
            file.write(bytes([number]) * (1 << 20))
    assert fs.size("orders/big") == 20 << 20
    assert fs.cat_file("orders/big", (19 << 20) - 1, (19 << 20) + 1) == b"\x12\x13"
    with fs.transaction:
        for name in ("one", "two"):
            with fs.open(f"orders/{name}", "wb") as file:
                file.write(name.encode() * (6 << 20))
    assert fs.cat_file("orders/two", (18 << 20) - 3) == b"two"
    assert fs.size("orders/one") == 18 << 20


def test_files_are_written_side_by_side(lake: Lake, fs: LakeFileSystem) -> None:
    with ThreadPoolExecutor(4) as pool:
        written = [pool.submit(fs.pipe_file, f"orders/{n}", b"%d" % n) for n in range(12)]
        for one in written:
            one.result()
    assert len(fs.find("orders")) == len(lake.commits("orders@main")) == 12


# -- one commit for many -------------------------------------------------------------------------


def test_a_transaction_is_one_commit_for_each_repo(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe_file("orders/old", b"0")
    with fs.transaction:
        for number in range(5):
            with fs.open(f"orders/part-{number}", "wb") as file:
                file.write(b"%d" % number)
        fs.pipe_file("shop/prices@main/a", b"1")
        fs.rm_file("orders/old")
        fs.cp_file("orders/old", "orders/kept")
        assert not fs.exists("orders/part-0")
    assert [name.rpartition("/")[2] for name in fs.ls("orders", detail=False)] == [
        "kept",
        *(f"part-{number}" for number in range(5)),
    ]
    orders, prices = lake.commits("orders@main"), lake.commits("shop/prices@main")
    assert (len(orders), len(prices)) == (2, 1)
    assert orders[0].id == prices[0].id
    fs.pipe_file("orders/after", b"")
    assert len(lake.commits("orders@main")) == 3


def test_a_transaction_that_fails_leaves_nothing(lake: Lake, fs: LakeFileSystem) -> None:
    with pytest.raises(RuntimeError), fs.transaction:
        fs.pipe_file("orders/a", b"1")
        with fs.open("orders/b", "wb") as file:
            file.write(b"2")
        raise RuntimeError
    fs.start_transaction()
    fs.pipe_file("orders/c", b"1")
    fs.transaction.complete(commit=False)
    assert lake.commits("orders@main") == []
    fs.start_transaction()
    fs.pipe_file("orders/d", b"1")
    fs.end_transaction()
    assert fs.find("orders") == ["orders/d"]


def test_a_transaction_writes_to_one_branch_of_a_repo(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe_file("orders/a", b"1")
    lake.create_branch("orders@side")
    with pytest.raises(ValueError, match="orders@main, so not to orders@side"), fs.transaction:
        fs.pipe_file("orders/b", b"1")
        fs.pipe_file("orders@side/b", b"1")
    with pytest.raises(ValueError, match="was written in this transaction"), fs.transaction:
        fs.pipe_file("orders/b", b"1")
        fs.cp_file("orders/b", "orders/c")
    assert len(lake.commits("orders@main")) == 1


def test_a_file_that_fails_leaves_nothing(lake: Lake, fs: LakeFileSystem) -> None:
    with pytest.raises(RuntimeError), fs.open("orders/a", "wb") as file:
        file.write(b"half")
        raise RuntimeError
    assert not fs.exists("orders/a")
    file = fs.open("orders/a", "wb", autocommit=False)
    file.write(b"whole")
    file.close()
    assert not fs.exists("orders/a")
    file.commit()
    assert fs.cat_file("orders/a") == b"whole"


def test_a_file_that_is_never_closed_is_not_written(lake: Lake, fs: LakeFileSystem) -> None:
    with pytest.warns(RuntimeWarning, match="orders/a was never closed"):
        fs.open("orders/a", "wb").write(b"half")
    assert lake.commits("orders@main") == []


def test_the_message_of_commits(lake: Lake) -> None:
    fs = LakeFileSystem(lake.location, message="from pandas", skip_instance_cache=True)
    fs.pipe_file("orders/a", b"1")
    with fs.transaction:
        fs.pipe_file("orders/b", b"1")
    assert [one.message for one in lake.commits("orders@main")] == ["from pandas"] * 2
    fs.lake.close()


# -- what goes wrong -----------------------------------------------------------------------------


def test_errors_are_those_of_files(lake: Lake, fs: LakeFileSystem) -> None:
    fs.pipe_file("orders/a/b", b"1")
    lake.create_tag("orders@v1", "main")
    for ask in (
        lambda: fs.info("orders/none"),
        lambda: fs.cat_file("orders/none"),
        lambda: fs.open("orders/none"),
        lambda: fs.open("none/a"),
        lambda: fs.ls("none"),
        lambda: fs.open("none/a", "wb"),
        lambda: fs.open("orders@nowhere/a", "wb"),
        lambda: fs.rm("orders/none"),
        lambda: fs.rm("orders/none", recursive=True),
        lambda: fs.cp_file("orders/none", "orders/x"),
        lambda: fs.modified("orders/none"),
    ):
        with pytest.raises(FileNotFoundError) as raised:
            ask()
        assert "\n" not in str(raised.value)
    with pytest.raises(FileNotFoundError, match=r'^There is no "/none" in orders@main'):
        fs.open("orders/none")
    for ask in (
        lambda: fs.cat_file("orders/a"),
        lambda: fs.open("orders/a"),
        lambda: fs.rm("orders/a"),
        lambda: fs.open("orders", "wb"),
        lambda: fs.cat_file(""),
    ):
        with pytest.raises(IsADirectoryError):
            ask()
    for ref in ("orders@v1", "orders@main~0", f"orders@{lake.commit_info('orders').id}"):
        with pytest.raises(PermissionError, match="never change"):
            fs.open(f"{ref}/a", "wb")
        with pytest.raises(PermissionError, match="never change"):
            fs.pipe_file(f"{ref}/a", b"1")
        with pytest.raises(PermissionError, match="never change"):
            fs.rm_file(f"{ref}/a/b")
    with pytest.raises(FileExistsError):
        fs.open("orders/a/b", "xb")
    with pytest.raises(NotImplementedError):
        fs.open("orders/a/b", "r+b")
    assert len(lake.commits("orders@main")) == 1


def test_a_lake_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        LakeFileSystem()
    with pytest.raises(ConnectionError):
        LakeFileSystem("http://127.0.0.1:9").ls("orders")
    with pytest.raises(ConnectionError):
        LakeFileSystem("http://127.0.0.1:9").exists("orders")


# -- how it is found -----------------------------------------------------------------------------


def test_the_nearest_lake_is_asked_whichever_that_is(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    with tl.init(other) as second:
        second.create_repo("orders")
    with lake.commit("orders@main") as commit:
        commit.put("/a", b"first")
    monkeypatch.chdir(lake.location)
    assert fsspec.filesystem("tl") is fsspec.filesystem("tl")
    assert fsspec.open("tl://orders@main/a").open().read() == b"first"
    monkeypatch.chdir(other)
    assert not fsspec.filesystem("tl").exists("orders/a")
    monkeypatch.setenv("TRUNKLINE_LAKE", lake.location)
    fs, path = url_to_fs("tl://orders@main/a")
    assert (fs.cat_file(path), path) == (b"first", "orders@main/a")
    again = pickle.loads(pickle.dumps(fs))
    monkeypatch.delenv("TRUNKLINE_LAKE")
    assert again.cat_file(path) == b"first"
    LakeFileSystem.clear_instance_cache()


def test_nothing_of_spark_is_imported() -> None:
    code = """
import sys, fsspec
assert fsspec.get_filesystem_class("tl").__name__ == "LakeFileSystem"
assert not {"pyspark", "fastapi", "httpx2", "pandas"} & set(sys.modules), sorted(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


BESIDE = (
    "t/_table.json",
    "t/_quarantine/rule/a.parquet",
    "_late/clicks/a.parquet",
    "t/_malformed/a.parquet",
    "_ingest/taken/a:",
)


def test_what_the_lake_keeps_beside_files_is_hidden(lake: Lake, fs: LakeFileSystem) -> None:
    seen = ("t/a.parquet", "t/_own/b.parquet", "x_late/c.parquet")
    with lake.commit("orders") as commit:
        for name in (*seen, *BESIDE):
            commit.put(f"/{name}", b"1")
    root, whole = "orders@main", sorted(f"orders@main/{one}" for one in seen)
    assert fs.find(root) == whole
    assert fs.glob(f"{root}/**/*.parquet") == whole
    assert sorted(f"{top}/{one}" for top, _, files in fs.walk(root) for one in files) == whole
    assert sorted(fs.ls(root, detail=False)) == [f"{root}/t", f"{root}/x_late"]
    assert fs.du(root) == len(seen)
    assert fs.glob(f"{root}/*") == [f"{root}/t", f"{root}/x_late"]
    for name in BESIDE:
        assert fs.exists(f"{root}/{name}")
        assert fs.cat_file(f"{root}/{name}") == b"1"
        assert f"{root}/{name}" in fs.find(f"{root}/{name.rpartition('/')[0]}") or "_table" in name
    assert fs.glob(f"{root}/*/_quarantine/**/*.parquet") == [f"{root}/t/_quarantine/rule/a.parquet"]
    assert fs.glob(f"{root}/**/_table.json") == [f"{root}/t/_table.json"]
    assert fs.ls(f"{root}/t/_quarantine", detail=False) == [f"{root}/t/_quarantine/rule"]
    # A table that is moved takes its description along.
    fs.mv(f"{root}/t", f"{root}/u", recursive=True)
    moved = {one.path for one in lake.ls("orders@main", recursive=True, hidden=True)}
    old = {f"/{one}" for one in (*seen, *BESIDE)}
    assert moved == {one.replace("/t/", "/u/") for one in old}
