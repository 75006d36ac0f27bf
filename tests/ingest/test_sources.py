from __future__ import annotations

import os
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.strangers import modes_respected
from trunkline.errors import (
    InvalidPath,
    NotAllowed,
    NotFound,
    PathClash,
    SourceUnreadable,
    TrunklineError,
    Usage,
)
from trunkline.ingests.sources import expand, local_files


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in ("a.csv", "b.csv", "sub/c.csv", "sub/deep/d.txt", ".hidden"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / "empty").mkdir()
    return root


def places(root: Path, *sources: str, to: str | None = None, r: bool = False) -> dict[str, str]:
    found = local_files([str(root / source) for source in sources], to, recursive=r)
    return {path: os.path.relpath(local, root) for path, local in found}


def test_one_file_takes_the_path_or_goes_below_a_folder(tree: Path) -> None:
    assert places(tree, "a.csv") == {"/a.csv": "a.csv"}
    assert places(tree, "a.csv", to="/") == {"/a.csv": "a.csv"}
    assert places(tree, "a.csv", to="/x") == {"/x": "a.csv"}
    assert places(tree, "a.csv", to="/x/") == {"/x/a.csv": "a.csv"}


def test_several_files_go_below_the_target(tree: Path) -> None:
    assert places(tree, "a.csv", "sub/c.csv", to="/x") == {"/x/a.csv": "a.csv",
                                                           "/x/c.csv": "sub/c.csv"}  # fmt: skip


def test_a_folder_gives_its_contents(tree: Path) -> None:
    wanted = {"/.hidden": ".hidden", "/a.csv": "a.csv", "/b.csv": "b.csv",
              "/sub/c.csv": "sub/c.csv", "/sub/deep/d.txt": "sub/deep/d.txt"}  # fmt: skip
    assert places(tree, "", r=True) == wanted
    assert list(places(tree, ".", r=True)) == sorted(wanted)
    assert places(tree, "sub", to="/x", r=True) == {"/x/c.csv": "sub/c.csv",
                                                    "/x/deep/d.txt": "sub/deep/d.txt"}  # fmt: skip


def test_a_folder_needs_recursion(tree: Path) -> None:
    with pytest.raises(Usage, match="is a folder") as caught:
        places(tree, "sub")
    assert "-r" in caught.value.hint


def test_patterns_the_shell_left_alone(tree: Path) -> None:
    assert places(tree, "*.csv") == {"/a.csv": "a.csv", "/b.csv": "b.csv"}
    assert places(tree, "a*", to="/x") == {"/x": "a.csv"}
    with pytest.raises(NotFound, match="No file matches"):
        places(tree, "*.parquet")
    (tree / "[x].txt").write_text("a name, not a pattern")
    assert places(tree, "[x].txt") == {"/[x].txt": "[x].txt"}


def test_missing_files_are_named_with_the_near_miss(tree: Path) -> None:
    with pytest.raises(NotFound, match=r'Did you mean "a\.csv"'):
        places(tree, "a.cvs")
    with pytest.raises(NotFound):
        places(tree, "a.csv/x")
    with pytest.raises(Usage):
        expand([], recursive=False, into=True)
    with pytest.raises(Usage):
        expand([""], recursive=False, into=True)


def test_two_sources_on_one_path_are_refused_naming_both(tree: Path) -> None:
    (tree / "sub" / "a.csv").write_text("other")
    with pytest.raises(PathClash) as caught:
        places(tree, "a.csv", "sub/a.csv")
    assert str(tree / "a.csv") in caught.value.message
    assert str(tree / "sub/a.csv") in caught.value.message
    with pytest.raises(PathClash):
        places(tree, "a.csv", "a.csv")


def test_links_inside_are_followed(tree: Path) -> None:
    (tree / "file_link").symlink_to("a.csv")
    (tree / "folder_link").symlink_to("sub/deep")
    found = places(tree, "", r=True)
    assert "/file_link" in found
    assert found["/folder_link/d.txt"] == "folder_link/d.txt"


@pytest.mark.parametrize(
    ("link", "target", "error", "flaw"),
    [
        ("out", "/usr", NotAllowed, "outside"),
        ("loop", ".", NotAllowed, "a folder that it is in"),
        ("sub/up", "..", NotAllowed, "a folder that it is in"),
        ("self", "self", SourceUnreadable, "leads nowhere"),
        ("gone", "nothing", SourceUnreadable, "leads nowhere"),
        ("null", "/dev/null", NotAllowed, "a device"),
    ],
)
def test_other_links_are_refused(
    tree: Path, link: str, target: str, error: type[TrunklineError], flaw: str
) -> None:
    (tree / link).symlink_to(target)
    with pytest.raises(error, match=flaw) as caught:
        places(tree, "", r=True)
    assert str(tree / link) in caught.value.message


def test_links_that_lead_to_each_other_are_refused(tree: Path) -> None:
    (tree / "sub" / "x").symlink_to("../other")
    (tree / "other").mkdir()
    (tree / "other" / "y").symlink_to("../sub")
    with pytest.raises(NotAllowed, match="a folder that it is in"):
        places(tree, "", r=True)


def test_what_is_no_file_is_refused_by_name(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(NotAllowed, match=r"pipe.* is a named pipe"):
        places(tree, "", r=True)
    with pytest.raises(NotAllowed, match=r"pipe.* is a named pipe"):
        places(tree, "pipe")
    (tree / "pipe").unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tree / "s"))
        with pytest.raises(NotAllowed, match="is a socket"):
            places(tree, "", r=True)


@pytest.mark.parametrize("name", [b"caf\xe9", b"a\nb", b"a\\b", b"\x7f", b"a\xc2\x85"])
def test_names_that_are_no_paths_are_refused_naming_the_file(tree: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_text("x")
    with pytest.raises(InvalidPath, match="cannot be put") as caught:
        places(tree, "", r=True)
    assert "tree/" in caught.value.message
    assert caught.value.message.isprintable()


def test_unreadable_folders_are_named(tree: Path) -> None:
    (tree / "sub").chmod(0)
    try:
        with modes_respected(), pytest.raises(SourceUnreadable, match="sub"):
            places(tree, "", r=True)
    finally:
        (tree / "sub").chmod(0o755)


def test_names_come_out_in_one_spelling(tmp_path: Path) -> None:
    (tmp_path / "cafe\u0301").write_text("x")
    assert list(places(tmp_path, "", r=True)) == ["/caf\u00e9"]


def test_order_is_that_of_bytes(tmp_path: Path) -> None:
    for name in ("a.b", "a/b", "\uffee", "\U0001f600", "Z"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = list(places(tmp_path, "", r=True))
    assert found == sorted(found, key=str.encode)


def test_a_relative_name_is_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    assert expand(["a.csv"], recursive=False, into=True) == [("a.csv", "a.csv")]
    assert ("/c.csv", "sub/c.csv") in local_files(["sub/"], None, recursive=True)


def test_walking_reads_each_folder_once_and_asks_about_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in range(20):
        (tmp_path / str(folder)).mkdir()
        for number in range(50):
            (tmp_path / str(folder) / f"file-{number:05}.csv").touch()
    asked: Counter[tuple[str, str]] = Counter()

    def noting(name: str) -> None:
        real = getattr(os, name)

        def note(path: Any, *rest: Any, **options: Any) -> Any:
            asked[name, os.fspath(path)] += 1
            return real(path, *rest, **options)

        monkeypatch.setattr(os, name, note)

    for name in ("scandir", "listdir", "stat", "lstat"):
        noting(name)
    found = local_files([str(tmp_path)], None, recursive=True)
    monkeypatch.undo()
    assert len(found) == 1_000
    folders = [str(tmp_path), *(str(tmp_path / str(folder)) for folder in range(20))]
    read = {path: times for (name, path), times in asked.items() if name == "scandir"}
    assert read == dict.fromkeys(folders, 1)
    assert not {path for _, path in asked if path.endswith(".csv")}
