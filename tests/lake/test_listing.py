"""Reading a tree: what is in a folder, below it, and what a pattern means."""

from __future__ import annotations

import pytest
from blake3 import blake3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.lake.conftest import Trees, models, paths, sorted_by_bytes
from trunkline.errors import NotFound, Usage
from trunkline.lake import files
from trunkline.model.files import FileInfo, FileType
from trunkline.pipelines.globs import Glob

Model = dict[str, int]
thorough = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
folders = st.just("/") | paths


def below(model: Model, folder: str) -> list[tuple[str, int]]:
    prefix = folder.rstrip("/") + "/"
    return [(path, c) for path, c in sorted_by_bytes(model) if path.startswith(prefix)]


def file(path: str, content: int) -> FileInfo:
    return FileInfo(path, FileType.FILE, content * 10, f"{content:064x}")


def folder(model: Model, path: str) -> FileInfo:
    start = len(path.rstrip("/")) + 1
    inside = below(model, path)
    text = "".join(f"{p[start:]}\t{c:064x}\n" for p, c in inside)
    size = sum(c * 10 for _, c in inside)
    return FileInfo(path, FileType.FOLDER, size, blake3(text.encode()).hexdigest())


def folders_of(model: Model) -> set[str]:
    parts = [path.split("/") for path in model]
    return {"/".join(p[:n]) or "/" for p in parts for n in range(1, len(p))}


@thorough
@given(model=models(), path=folders)
def test_a_file_or_folder_is_what_a_naive_look_says(model: Model, path: str):
    tree = Trees().of(model)
    if path in model:
        assert files.stat(tree, path, "x") == file(path, model[path])
    elif path == "/" or below(model, path):
        assert files.stat(tree, path, "x") == folder(model, path)
    else:
        with pytest.raises(NotFound, match="There is no"):
            files.stat(tree, path, "x")


@thorough
@given(model=models(), path=folders)
def test_totals_count_what_is_below(model: Model, path: str):
    tree = Trees().of(model)
    inside = below(model, path)
    prefix = path.rstrip("/").encode() + b"/"
    assert tree.totals(prefix) == (len(inside), sum(c * 10 for _, c in inside))
    assert tree.has_below(path.rstrip("/").encode()) == bool(inside)


@thorough
@given(model=models(), path=folders)
def test_a_folder_lists_its_files_and_folders_once_each(model: Model, path: str):
    tree = Trees().of(model)
    if path in model:
        assert list(files.children(tree, path, "x")) == [file(path, model[path])]
        return
    prefix = path.rstrip("/") + "/"
    names = dict.fromkeys(p[len(prefix) :].partition("/")[0] for p, _ in below(model, path))
    wanted = [
        file(prefix + name, model[prefix + name])
        if prefix + name in model
        else folder(model, prefix + name)
        for name in names
    ]
    if not wanted and path != "/":
        with pytest.raises(NotFound):
            list(files.children(tree, path, "x"))
        return
    assert list(files.children(tree, path, "x")) == wanted
    quick = list(files.children(tree, path, "x", hashes=False))
    assert [info.path for info in quick] == [info.path for info in wanted]
    assert {info.hash for info in quick if info.type is FileType.FOLDER} <= {""}


@thorough
@given(model=models(), path=folders)
def test_everything_below_is_listed_in_path_order(model: Model, path: str):
    tree = Trees().of(model)
    wanted = [(path, model[path])] if path in model else below(model, path)
    if not wanted and path != "/":
        with pytest.raises(NotFound):
            list(files.everything(tree, path, "x"))
        return
    assert list(files.everything(tree, path, "x")) == [file(p, c) for p, c in wanted]


@thorough
@given(model=models(), path=folders)
def test_a_file_is_found_or_it_is_said_what_is_there(model: Model, path: str):
    tree = Trees().of(model)
    if path in model:
        assert files.find(tree, path, "x").path == path
    elif path == "/" or below(model, path):
        with pytest.raises(Usage, match="is a folder"):
            files.find(tree, path, "x")
    else:
        with pytest.raises(NotFound):
            files.find(tree, path, "x")


patterns = st.sampled_from(
    [
        "/", "/*", "/**", "/a*", "/a/*", "/a*/x", "/*/*", "/a", "/a/x", "/a.txt", "/{a,b}/**",
        "/[a-b]", "/a-b", "/**/x", "/!(a)", "/a b/*", "/é*", "a/", "/nobody",
    ]
)  # fmt: skip


@thorough
@given(model=models(), pattern=patterns)
def test_a_glob_gives_the_files_and_folders_whose_whole_path_matches(model: Model, pattern: str):
    tree = Trees().of(model)
    glob = Glob(pattern)
    found = list(files.matching(tree, pattern))
    wanted = [file(p, c) for p, c in model.items() if glob.matches(p)]
    wanted += [folder(model, p) for p in folders_of(model) if glob.matches(p)]
    # A folder comes where its first file does.
    wanted.sort(key=lambda i: (i.path.rstrip("/") + ("/" * (i.type == "folder"))).encode())
    assert found == wanted


def test_on_an_empty_commit_nothing_matches():
    tree = Trees().of({})
    assert list(files.matching(tree, "/")) == []
    assert list(files.matching(tree, "/**")) == []
    assert list(files.children(tree, "/", "x")) == []


def test_a_folder_has_the_same_hash_wherever_it_lies():
    tree = Trees().of({"/a/x": 1, "/a/y/z": 2, "/b/c/x": 1, "/b/c/y/z": 2, "/d/x": 1, "/d/y": 2})
    a, c, d = (files.stat(tree, path, "x").hash for path in ("/a", "/b/c", "/d"))
    assert a == c != d


@pytest.mark.parametrize(
    "typed, meant",
    [("/data/orders.cvs", "/data/orders.csv"), ("/dat", "/data"), ("/a.txt.gs", "/a.txt.gz")],
)
def test_a_missing_path_suggests_a_neighbour(typed: str, meant: str):
    tree = Trees().of({"/data/orders.csv": 1, "/a.txt": 1, "/a.txt.gz": 1, "/zzz": 1})
    with pytest.raises(NotFound, match=f'Did you mean "{meant}"'):
        files.stat(tree, typed, "x")
