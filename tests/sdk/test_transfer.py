"""Whole trees in and out: put, get and cp. SEMANTICS 1.9 and 1.10."""

from __future__ import annotations

import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import trunkline as tl
from tests.sdk.conftest import data_objects, head, put, tree
from trunkline import Lake
from trunkline.errors import (
    AlreadyExists,
    Conflict,
    NotAllowed,
    NotFound,
    PathClash,
    PrivateAddress,
    UnsafeArchive,
    Usage,
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """in/a.csv, in/b.csv and in/day=1/c.csv."""
    folder = tmp_path / "in"
    (folder / "day=1").mkdir(parents=True)
    for name in ("a.csv", "b.csv", "day=1/c.csv"):
        (folder / name).write_text(name)
    return folder


def local(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"), key=str)
        if path.is_file()
    }


@pytest.fixture
def full(lake: Lake) -> Lake:
    with lake.commit("orders") as commit:
        for name in ("a-b", "a.txt", "a/x", "a/y/z", "a0", "b"):
            commit.put(f"/{name}", name.encode())
    return lake


class TestPut:
    def test_a_folder_puts_what_is_in_it(self, lake: Lake, files: Path):
        made = lake.put("orders:/", files, recursive=True)
        assert tree(lake, "orders") == {
            "/a.csv": "a.csv", "/b.csv": "b.csv", "/day=1/c.csv": "day=1/c.csv",
        }  # fmt: skip
        assert made.files == 3

    def test_below_a_path(self, lake: Lake, files: Path):
        lake.put("orders:/x/y", files, recursive=True)
        assert list(tree(lake, "orders")) == ["/x/y/a.csv", "/x/y/b.csv", "/x/y/day=1/c.csv"]

    def test_a_folder_needs_recursion(self, lake: Lake, files: Path):
        with pytest.raises(Usage, match="is a folder"):
            lake.put("orders:/", files)
        assert head(lake, "orders@main") is None

    def test_a_pattern_puts_what_it_matches(self, lake: Lake, files: Path):
        lake.put("orders:/in/", str(files / "*.csv"))
        assert list(tree(lake, "orders")) == ["/in/a.csv", "/in/b.csv"]

    def test_one_file_takes_the_path_or_goes_into_the_folder(self, lake: Lake, files: Path):
        lake.put("orders:/renamed.csv", files / "a.csv")
        lake.put("orders:/in/", files / "a.csv")
        lake.put("orders", files / "b.csv")
        assert list(tree(lake, "orders")) == ["/b.csv", "/in/a.csv", "/renamed.csv"]

    def test_append(self, lake: Lake, files: Path):
        for _ in range(2):
            lake.put("orders:/a.csv", files / "a.csv", append=True)
        assert tree(lake, "orders") == {"/a.csv": "a.csva.csv"}

    def test_files_that_have_not_changed_are_not_copied(self, lake: Lake, files: Path):
        lake.put("orders:/", files, recursive=True)
        before = data_objects(lake)
        (files / "a.csv").write_text("new")
        lake.put("orders:/", files, recursive=True)
        (added,) = set(data_objects(lake)) - set(before)
        assert added.read_text() == "new"
        lake.put("orders:/", files, recursive=True)
        assert len(data_objects(lake)) == len(before) + 1

    def test_many_unchanged_files_are_not_copied(self, lake: Lake, tmp_path: Path):
        folder = tmp_path / "many"
        folder.mkdir()
        for number in range(250):
            (folder / f"{number:03}").write_text(str(number))
        lake.put("orders:/deep/er", folder, recursive=True)
        before = data_objects(lake)
        lake.put("orders:/deep/er", folder, recursive=True)
        assert data_objects(lake) == before
        assert lake.commit_info("orders").files == 250

    def test_missing_sources_are_named_and_nothing_is_changed(self, lake: Lake, files: Path):
        with pytest.raises(NotFound, match='Did you mean "a.csv"'):
            lake.put("orders:/", [files / "a.csv", files / "a.cvs"])
        assert head(lake, "orders@main") is None

    def test_no_sources_are_refused(self, lake: Lake):
        with pytest.raises(Usage, match="nothing to put"):
            lake.put("orders:/", [])

    def test_several_sources_go_below_the_path_also_when_appended(self, lake: Lake, files: Path):
        for _ in range(2):
            lake.put("orders:/in", [files / "a.csv", files / "b.csv"], append=True)
        assert tree(lake, "orders") == {"/in/a.csv": "a.csva.csv", "/in/b.csv": "b.csvb.csv"}

    def test_two_sources_of_one_name_clash(self, lake: Lake, files: Path):
        (files / "day=1" / "a.csv").write_text("2")
        with pytest.raises(PathClash):
            lake.put("orders:/x/", [files / "a.csv", files / "day=1" / "a.csv"])

    def test_large_files_are_objects_of_their_own_with_their_extensions(
        self, lake: Lake, tmp_path: Path
    ):
        large = tmp_path / "large.csv.gz"
        large.write_bytes(bytes(range(256)) * 8192)
        lake.put("orders:/", large)
        (stored,) = data_objects(lake)
        assert stored.name.endswith(".csv.gz")
        assert stored.read_bytes() == large.read_bytes() == lake.read("orders:/large.csv.gz")

    def test_progress_counts_files_and_bytes(self, lake: Lake, files: Path):
        seen = []
        lake.put(
            "orders:/", files, recursive=True, progress=lambda done, size: seen.append((done, size))
        )
        assert [sum(column) for column in zip(*seen, strict=True)] == [3, 21]


class TestPutFromArchives:
    def archive(self, path: Path, members: dict[str, bytes]) -> Path:
        with tarfile.open(path, "w:gz") as tar:
            for name, content in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return path

    def test_members_become_files(self, lake: Lake, tmp_path: Path):
        path = self.archive(tmp_path / "in.tar.gz", {"a": b"1", "d/b": b"2"})
        made = lake.put("orders:/x", path, untar=True)
        assert tree(lake, "orders") == {"/x/a": "1", "/x/d/b": "2"}
        assert len(list(lake.log("orders"))) == 1
        assert made.files == 2

    def test_a_member_outside_is_refused_and_nothing_is_changed(self, lake: Lake, tmp_path: Path):
        path = self.archive(tmp_path / "in.tar.gz", {"a": b"1", "../b": b"2"})
        with pytest.raises(UnsafeArchive):
            lake.put("orders:/", path, untar=True)
        assert head(lake, "orders@main") is None


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web(files: Path) -> Iterator[str]:
    handler = partial(QuietHandler, directory=str(files))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class TestPutFromUrls:
    @pytest.fixture
    def trusting(self, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
        monkeypatch.setenv("TRUNKLINE_URL_ALLOW_PRIVATE", "yes")
        monkeypatch.setenv("TRUNKLINE_URL_ALLOW_HTTP", "yes")
        with tl.open(lake.location) as opened:
            yield opened

    def test_a_url_is_put_under_its_own_name_or_the_path(self, trusting: Lake, web: str):
        trusting.put("orders:/in/", f"{web}/a.csv")
        trusting.put("orders:/renamed", f"{web}/day=1/c.csv")
        assert tree(trusting, "orders") == {"/in/a.csv": "a.csv", "/renamed": "day=1/c.csv"}

    def test_urls_and_files_make_one_commit(self, trusting: Lake, web: str, files: Path):
        trusting.put("orders:/in", [f"{web}/a.csv", str(files / "b.csv")])
        assert list(tree(trusting, "orders")) == ["/in/a.csv", "/in/b.csv"]
        assert len(list(trusting.log("orders"))) == 1

    def test_append_from_a_url(self, trusting: Lake, web: str):
        for _ in range(2):
            trusting.put("orders:/a", f"{web}/a.csv", append=True)
        assert tree(trusting, "orders") == {"/a": "a.csva.csv"}

    def test_a_missing_page_changes_nothing(self, trusting: Lake, web: str):
        with pytest.raises(NotFound):
            trusting.put("orders:/a", f"{web}/nobody")
        assert head(trusting, "orders@main") is None

    def test_a_private_address_is_refused_by_default(
        self, lake: Lake, web: str, monkeypatch: pytest.MonkeyPatch
    ):
        with pytest.raises(NotAllowed):
            lake.put("orders:/a", f"{web}/a.csv")
        monkeypatch.setenv("TRUNKLINE_URL_ALLOW_HTTP", "yes")
        with tl.open(lake.location) as opened, pytest.raises(PrivateAddress):
            opened.put("orders:/a", f"{web}/a.csv")


class TestGet:
    def test_a_file_to_a_path_or_into_a_folder(self, full: Lake, tmp_path: Path):
        report = full.get("orders:/a/x", tmp_path / "copy")
        assert (report.files, report.bytes) == (1, 3)
        assert (tmp_path / "copy").read_text() == "a/x"
        (tmp_path / "folder").mkdir()
        full.get("orders:/a/x", tmp_path / "folder")
        assert local(tmp_path / "folder") == {"x": "a/x"}

    def test_a_file_in_the_way_is_kept_unless_forced(self, full: Lake, tmp_path: Path):
        (tmp_path / "copy").write_text("mine")
        with pytest.raises(AlreadyExists):
            full.get("orders:/b", tmp_path / "copy")
        assert (tmp_path / "copy").read_text() == "mine"
        full.get("orders:/b", tmp_path / "copy", force=True)
        assert (tmp_path / "copy").read_text() == "b"

    def test_a_folder_gives_what_is_below_it(self, full: Lake, tmp_path: Path):
        report = full.get("orders:/a", tmp_path / "out")
        assert (report.files, report.bytes) == (2, 8)
        assert local(tmp_path / "out") == {"x": "a/x", "y/z": "a/y/z"}

    def test_everything(self, full: Lake, tmp_path: Path):
        for number, ref in enumerate(("orders", "orders:/", "orders@main")):
            full.get(ref, tmp_path / str(number))
            assert len(local(tmp_path / str(number))) == 6

    def test_a_glob_gives_a_folder(self, full: Lake, tmp_path: Path):
        full.get("orders:/a*", tmp_path / "out")
        assert list(local(tmp_path / "out")) == ["a-b", "a.txt", "a/x", "a/y/z", "a0"]
        full.get("orders:/a/*", tmp_path / "inner")
        assert local(tmp_path / "inner") == {"x": "a/x", "y/z": "a/y/z"}
        with pytest.raises(NotFound, match="matches"):
            full.get("orders:/q*", tmp_path / "none")

    def test_a_name_that_looks_like_a_pattern_is_a_name_first(self, lake: Lake, tmp_path: Path):
        put(lake, "orders", **{"[x]": "1", "x": "2"})
        lake.get("orders:/[x]", tmp_path / "out")
        assert (tmp_path / "out").read_text() == "1"

    def test_an_empty_commit_gives_an_empty_folder(self, lake: Lake, tmp_path: Path):
        report = lake.get("orders", tmp_path / "out")
        assert report.files == 0
        assert list((tmp_path / "out").iterdir()) == []

    def test_into_a_folder_that_has_files_of_its_own(self, full: Lake, tmp_path: Path):
        out = tmp_path / "out"
        (out / "y").mkdir(parents=True)
        (out / "y" / "mine").write_text("mine")
        full.get("orders:/a", out)
        assert local(out) == {"x": "a/x", "y/mine": "mine", "y/z": "a/y/z"}
        (out / "x").write_text("changed")
        with pytest.raises(AlreadyExists):
            full.get("orders:/a", out)
        assert (out / "x").read_text() == "changed"
        full.get("orders:/a", out, force=True)
        assert (out / "x").read_text() == "a/x"

    def test_an_older_commit(self, full: Lake, tmp_path: Path):
        put(full, "orders", b="new")
        full.get("orders@main^:/b", tmp_path / "old")
        assert (tmp_path / "old").read_text() == "b"

    def test_a_tar_has_everything_in_path_order(self, full: Lake, tmp_path: Path):
        stream = io.BytesIO()
        report = full.get("orders", stream, tar=True)
        stream.seek(0)
        with tarfile.open(fileobj=stream) as archive:
            names = archive.getnames()
            assert archive.extractfile("a/y/z").read() == b"a/y/z"  # type: ignore[union-attr]
        assert names == ["a-b", "a.txt", "a/x", "a/y/z", "a0", "b"]
        assert report.files == 6
        full.get("orders:/a", tmp_path / "a.tar", tar=True)
        with tarfile.open(tmp_path / "a.tar") as archive:
            assert archive.getnames() == ["x", "y/z"]
        full.get("orders:/a/*", tmp_path / "glob.tar", tar=True)
        with tarfile.open(tmp_path / "glob.tar") as archive:
            assert archive.getnames() == ["x", "y/z"]

    def test_what_comes_out_goes_in_again(self, full: Lake, tmp_path: Path):
        full.get("orders", tmp_path / "all.tar", tar=True)
        full.create_repo("copies")
        full.put("copies:/", tmp_path / "all.tar", untar=True)
        assert tree(full, "copies") == tree(full, "orders")
        assert full.stat("copies:/").hash == full.stat("orders:/").hash

    def test_only_an_archive_goes_to_a_stream(self, full: Lake):
        with pytest.raises(Usage, match="Only an archive"):
            full.get("orders:/b", io.BytesIO())

    def test_a_missing_path_leaves_nothing_behind(self, full: Lake, tmp_path: Path):
        before = list(tmp_path.iterdir())
        with pytest.raises(NotFound, match="There is no"):
            full.get("orders:/bb", tmp_path / "out")
        assert list(tmp_path.iterdir()) == before


class TestReading:
    def test_a_part_of_a_file(self, lake: Lake):
        large = bytes(range(256)) * 8192
        put(lake, "orders", small=b"0123456789", large=large)
        for name, content in (("small", b"0123456789"), ("large", large)):
            for start, length in ((0, 3), (4, 2), (7, None), (9, 100), (len(content), 1), (0, 0)):
                stop = None if length is None else start + length
                part = b"".join(lake.cat(f"orders:/{name}", start, length))
                assert part == content[start:stop]

    @pytest.mark.parametrize("start, length", [(-1, None), (0, -1)])
    def test_a_part_that_is_none_is_refused(self, full: Lake, start: int, length: int | None):
        with pytest.raises(Usage, match="part of a file"):
            full.cat("orders:/b", start, length)

    def test_a_folder_cannot_be_read(self, full: Lake):
        with pytest.raises(Usage, match="is a folder"):
            full.read("orders:/a")

    def test_listing(self, full: Lake):
        assert [(i.path, str(i.type), i.size) for i in full.ls("orders")] == [
            ("/a-b", "file", 3), ("/a.txt", "file", 5), ("/a", "folder", 8), ("/a0", "file", 2),
            ("/b", "file", 1),
        ]  # fmt: skip
        assert [i.path for i in full.ls("orders:/a", recursive=True)] == ["/a/x", "/a/y/z"]
        assert [i.path for i in full.glob("orders:/a*")] == ["/a-b", "/a.txt", "/a", "/a0"]


class TestCopy:
    def test_a_file_or_folder_by_reference_no_bytes_move(self, full: Lake):
        before = data_objects(full)
        full.cp("orders:/a", "orders:/c/d")
        full.cp("orders:/b", "orders:/e/")
        copied = tree(full, "orders")
        assert (copied["/c/d/x"], copied["/c/d/y/z"], copied["/e/b"]) == ("a/x", "a/y/z", "b")
        assert data_objects(full) == before

    def test_across_repos_and_from_old_commits(self, full: Lake):
        full.create_repo("copies")
        put(full, "orders", b="new")
        before = data_objects(full)
        full.cp("orders@main^:/b", "copies:/old")
        full.cp("orders:/", "copies:/all", message="everything")
        copied = tree(full, "copies")
        assert (copied["/old"], copied["/all/b"], len(copied)) == ("b", "new", 7)
        assert data_objects(full) == before
        assert full.commit_info("copies").message == "everything"

    def test_the_copy_outlives_its_source(self, full: Lake):
        full.create_repo("copies")
        full.cp("orders:/a", "copies:/a")
        full.delete_repo("orders")
        full.gc(grace=0)
        assert tree(full, "copies") == {"/a/x": "a/x", "/a/y/z": "a/y/z"}
        assert full.fsck(deep=True).ok

    def test_what_is_not_there_cannot_be_copied(self, full: Lake):
        before = head(full, "orders@main")
        with pytest.raises(NotFound):
            full.cp("orders:/nobody", "orders:/c")
        assert head(full, "orders@main") == before

    @pytest.mark.parametrize("loss", ["forget", "squash", "delete repo"])
    def test_a_source_that_goes_before_the_copy_is_made_is_noticed(self, lake: Lake, loss: str):
        """gc may have removed its bytes already."""
        lake.create_repo("copies")
        put(lake, "orders", a="old")
        put(lake, "orders", a="new")
        with pytest.raises(Conflict, match="reused by this one, is gone"):
            with lake.commit("copies") as commit:
                commit.copy("orders@main^:/a", "/a")
                if loss == "forget":
                    lake.forget("orders@main^")
                elif loss == "squash":
                    lake.squash("orders@main^")
                else:
                    lake.delete_repo("orders")
                lake.gc(grace=0)
        assert tree(lake, "copies") == {}
        assert lake.fsck(deep=True).ok

    def test_a_copy_in_a_commit_of_several_calls(self, full: Lake):
        with full.commit("orders") as commit:
            commit.copy("orders:/b", "/b2")
            commit.delete("/b")
        assert tree(full, "orders")["/b2"] == "b"
        assert "/b" not in tree(full, "orders")
