"""Memory stays bounded, whatever the size of a file."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SIZE = 2 << 30
LIMIT = 300 << 10  # KiB, as ru_maxrss counts

# A process that runs a command and then tells the peak memory of it and of all its children.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """On the disk: what is measured here should not itself lie in memory."""
    folder = tmp_path_factory.mktemp("large")
    yield folder
    shutil.rmtree(folder)


def peak(*args: object) -> int:
    command = [sys.executable, "-c", MEASURE, sys.executable, "-m", "trunkline", *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    code, memory = map(int, done.stdout.split())
    assert code == 0, done.stderr
    return memory


def digest(path: Path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def test_a_file_of_two_gigabytes_passes_through(lake, tmp_path):
    source = tmp_path / "large.bin"
    with open(source, "wb") as stream:
        for position in range(0, SIZE, SIZE // 8):
            stream.seek(position)
            stream.write(b"not only holes %d" % position)
        stream.truncate(SIZE)
    ref = "r@main:/large.bin"
    assert peak("put", "--lake", tmp_path, ref, source) < LIMIT
    assert peak("cat", "--lake", tmp_path, ref) < LIMIT
    assert peak("get", "--lake", tmp_path, ref, tmp_path / "got") < LIMIT
    assert digest(tmp_path / "got") == digest(source)


def test_appending_and_streaming_hold_no_whole_file(lake, tmp_path):
    source = tmp_path / "large.bin"
    with open(source, "wb") as stream:
        stream.truncate(512 << 20)
    for _ in range(2):
        assert peak("put", "--lake", tmp_path, "--append", "r@main:/x", source) < LIMIT
    assert lake.stat("r@main:/x").size == 1 << 30
    assert peak("get", "--lake", tmp_path, "--tar", "r@main", tmp_path / "got.tar") < LIMIT
