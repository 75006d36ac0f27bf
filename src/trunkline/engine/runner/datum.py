"""What a pipeline's Python function is given: the files of one datum, and a place for results.

def edges(datum):
    image = datum.file("images")
    datum.write(image.name + ".edges", find_edges(image.read()))
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Protocol

from trunkline.engine.runner.task import DatumInput, DatumTask
from trunkline.model.entries import FileBytes


class Host(Protocol):
    """What a datum does with the world outside of the function."""

    @property
    def job(self) -> str: ...

    @property
    def out(self) -> Path: ...

    def environment(self, datum: DatumTask) -> Mapping[str, str]: ...

    def read(self, one: DatumInput, fields: FileBytes) -> bytes: ...

    def place(self, one: DatumInput, fields: FileBytes) -> Path: ...

    def write(self, path: str, data: bytes) -> None: ...


class File:
    """One file of a datum. Nothing is fetched before it is asked for."""

    __slots__ = ("_fields", "_host", "_input")

    def __init__(self, host: Host, one: DatumInput, line: str) -> None:
        self._host = host
        self._input = one
        self._fields = FileBytes.decode(line)

    def __repr__(self) -> str:
        return f"<File {self._input.name}{self.path} of {self.size:,} bytes>"

    @property
    def path(self) -> str:
        """The path in the repo, such as "/2024/a.csv"."""
        return self._fields.path

    @property
    def name(self) -> str:
        """The last part of the path, such as "a.csv"."""
        return self._fields.path.rpartition("/")[2]

    @property
    def size(self) -> int:
        """Bytes; 0 for an input with `empty_files`."""
        return 0 if self._input.empty_files else self._fields.size

    def read(self) -> bytes:
        """All bytes, verified against their hash."""
        return b"" if self._input.empty_files else self._host.read(self._input, self._fields)

    def text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """All bytes as text. Line ends stay as they are."""
        return self.read().decode(encoding, errors)

    def open(self) -> BinaryIO:
        """The bytes as a stream to read from. A large file is read from disk, not from memory."""
        if self._fields.offset < 0 and not self._input.empty_files:
            return self.local.open("rb")
        return io.BytesIO(self.read())

    @property
    def local(self) -> Path:
        """A copy on disk, there until the function returns. For libraries that want a path."""
        return self._host.place(self._input, self._fields)


class Datum:
    """One unit of work. What was written counts when the function returns, and not if it raises."""

    def __init__(self, host: Host, task: DatumTask) -> None:
        self._host = host
        self._task = task

    def __repr__(self) -> str:
        return f"<Datum {self.id} of {', '.join(self.inputs)}>"

    @property
    def id(self) -> str:
        """The same for the same paths, whatever is in the files."""
        return self._task.id

    @property
    def job(self) -> str:
        return self._host.job

    @cached_property
    def inputs(self) -> Mapping[str, list[File]]:
        """The files under each input's name, in the order of their paths."""
        found: dict[str, list[File]] = {}
        for one in self._task.inputs:
            files = found.setdefault(one.name, [])
            files += [File(self._host, one, line) for line in one.lines]
        return found

    def file(self, name: str) -> File:
        """The only file of an input."""
        files = self.inputs.get(name)
        if files is None:
            raise KeyError(f"no input is called {name!r}: there is {', '.join(self.inputs)}")
        if len(files) != 1:
            raise ValueError(f"the input {name!r} has {len(files)} files: use datum.inputs")
        return files[0]

    @cached_property
    def join_on(self) -> Mapping[str, str]:
        """The key that the files of an input were joined by."""
        return {one.name: one.join_on for one in self._task.inputs if one.join_on}

    @cached_property
    def group_by(self) -> Mapping[str, str]:
        """The key that the files of an input were grouped by."""
        return {one.name: one.group_by for one in self._task.inputs if one.group_by}

    @cached_property
    def env(self) -> Mapping[str, str]:
        """What a command would find in its environment: TL_DATUM_ID, the transform's env, secrets.

        The function runs inside a worker: `os.environ` is the worker's and not meant for it.
        """
        return self._host.environment(self._task)

    @property
    def out(self) -> Path:
        """A folder on disk: every file in it when the function returns is part of the result."""
        return self._host.out

    def write(self, path: str, data: bytes | bytearray | memoryview | str) -> None:
        """Add a file to the result. The same path again replaces it."""
        self._host.write(path, data.encode() if isinstance(data, str) else bytes(data))
