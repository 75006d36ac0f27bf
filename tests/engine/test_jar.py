"""Our jar for Spark: made once, made well, and never taken from who uses it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.spark import ROOT
from trunkline.engine import jar
from trunkline.engine.home import spark_home
from trunkline.engine.java import find_java
from trunkline.errors import Precondition, Unavailable

LONG_AGO = time.time() - jar.UNUSED_AFTER - 60


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A jar that two processes made at the same time, in a cache of their own."""
    cache = tmp_path_factory.mktemp("cache")
    code = """
        import sys
        from pathlib import Path
        from trunkline.engine.jar import jar
        from trunkline.engine.java import find_java
        from trunkline.engine.home import spark_home
        print(jar(Path(sys.argv[1]), find_java(), spark_home()))
    """.replace("\n        ", "\n")
    command = [sys.executable, "-c", code, str(cache)]
    both = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)
    ]
    (first, second) = [process.communicate(timeout=180)[0].strip() for process in both]
    assert first == second
    assert [path.name for path in cache.iterdir()] == [Path(first).name]
    return Path(first)


@pytest.fixture
def compiled(made: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stands in for the compiler, with what it has made before; where it was called to."""
    calls: list[str] = []

    def copy(folder: str, *_: object) -> None:
        calls.append(folder)
        with zipfile.ZipFile(made) as archive:
            archive.extractall(folder)

    monkeypatch.setattr(jar, "_compile", copy)
    return calls


def get(cache: Path) -> Path:
    return jar.jar(cache, find_java(), spark_home())


@pytest.mark.slow
def test_it_holds_classes_for_each_source(made):
    with zipfile.ZipFile(made) as archive:
        names = set(archive.namelist())
    assert {"io/trunkline/Tables.class", "io/trunkline/SliceFileSystem.class"} <= names
    assert not [name for name in names if not name.startswith("io/trunkline/")]


def test_it_is_made_once_and_always_the_same(made, compiled, tmp_path):
    first = get(tmp_path)
    facts = first.stat()
    assert get(tmp_path) == first
    assert len(compiled) == 1
    assert first.read_bytes() == made.read_bytes()
    # The JVM's archive of classes is for a jar of that time and size.
    assert (first.stat().st_mtime_ns, facts.st_size) == (facts.st_mtime_ns, made.stat().st_size)
    assert facts.st_mtime_ns == made.stat().st_mtime_ns
    assert [path.name for path in tmp_path.iterdir()] == [first.name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:5000] + bytes([data[5000] ^ 1]) + data[5001:],
    ],
    ids=["empty", "half of it", "a byte short", "a bit flipped"],
)
def test_a_damaged_one_is_made_again(made, compiled, tmp_path, damage: Callable[[bytes], bytes]):
    path = get(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    assert get(tmp_path) == path
    assert path.read_bytes() == made.read_bytes()
    assert len(compiled) == 2


def test_where_nobody_may_write_a_process_has_its_own(made, compiled, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    path = get(tmp_path / "file" / "cache")
    assert path.read_bytes() == made.read_bytes()
    assert str(path).startswith(tempfile.gettempdir())
    assert get(tmp_path / "file" / "cache") == path
    assert len(compiled) == 1


def test_where_nothing_can_be_written_it_says_so(compiled, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with pytest.raises(Precondition, match=r"neither to .*file/cache nor to .*: Not a directory"):
        get(tmp_path / "file" / "cache")


def test_sources_that_do_not_compile_give_one_line(tmp_path, monkeypatch):
    sources = tmp_path / "jvm"
    (sources / "io" / "trunkline").mkdir(parents=True)
    (sources / "Compile.java").write_bytes((jar.SOURCES / "Compile.java").read_bytes())
    bad = "package io.trunkline;\npublic class Bad { NoSuchClass field; }\n"
    (sources / "io" / "trunkline" / "Bad.java").write_text(bad)
    monkeypatch.setattr(jar, "SOURCES", sources)
    with pytest.raises(Precondition) as caught:
        get(tmp_path / "cache")
    assert "cannot compile what tables need" in caught.value.message
    assert "Bad.java" in caught.value.message
    assert "NoSuchClass" in caught.value.message
    assert "\n" not in caught.value.message
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_compiler_that_hangs_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(jar, "_PATIENCE", 0.01)
    with pytest.raises(Unavailable, match="was not compiled within"):
        get(tmp_path)
    assert list(tmp_path.iterdir()) == []


class TestOthers:
    """Two environments with different Sparks may share a cache."""

    def other(self, cache: Path, used: float, name: str = "0") -> Path:
        path = cache / f"trunkline-{name * 24}.jar"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", b"")
        os.utime(path, (used, LONG_AGO))
        return path

    def test_what_was_used_lately_stays(self, compiled, tmp_path):
        old, young = self.other(tmp_path, LONG_AGO, "0"), self.other(tmp_path, time.time(), "1")
        left = tmp_path / "making-jar-x"
        left.mkdir()
        os.utime(left, (LONG_AGO, LONG_AGO))
        get(tmp_path)
        assert young.exists()
        assert not old.exists()
        assert not left.exists()

    def test_what_a_process_holds_stays_however_long_it_runs(self, compiled, tmp_path):
        old = self.other(tmp_path, LONG_AGO)
        with open(old, "rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_SH)
            get(tmp_path)
            assert old.exists()

    def test_using_one_keeps_it_young(self, compiled, tmp_path):
        path = get(tmp_path)
        os.utime(path, (LONG_AGO, path.stat().st_mtime))
        assert get(tmp_path) == path
        assert path.stat().st_atime > LONG_AGO + jar.UNUSED_AFTER
        jar._clear_unused(tmp_path / "trunkline-another.jar")
        assert path.exists()
