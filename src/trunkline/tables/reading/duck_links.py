"""Files under the names that DuckDB wants: links to those that are there, copies of small ones.

Their folders say the values of columns that the files lack, and no name is a pattern.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote, unquote

from trunkline.lake.core import Core
from trunkline.model.tables import ScanFile, Schema
from trunkline.storage.objects.outside import outside_key
from trunkline.tables.layout import NULL_VALUE
from trunkline.tables.pathvalues import escape
from trunkline.tables.physical import SLICE

_WILD = frozenset("*?[]{}\\")
_FETCHERS = 8
_LONGEST = 150
"""Bytes of a value in the name of a folder, beside that of its column."""


def is_near(file: ScanFile) -> bool:
    """Whether the file is there by itself, on this computer."""
    return file.uri.startswith("file://")


def path_of(file: ScanFile) -> str:
    return unquote(file.uri.removeprefix("file://"))


def is_pattern(path: str) -> bool:
    """Whether DuckDB would take the path for a pattern."""
    return not _WILD.isdisjoint(path)


def can_say(columns: Schema, files: Sequence[ScanFile]) -> bool:
    """Whether names of folders here tell DuckDB the values as we mean them."""
    if any(escape(one.name) != one.name or is_pattern(one.name) for one in columns):
        return False  # DuckDB takes the name of a column as it is written there
    dates = [n for n, one in enumerate(columns) if one.type.startswith(("date", "timestamp"))]
    return all(
        value is None
        or (0 < len(_escaped(value)) <= _LONGEST and not (n in dates and value[0] in "+-"))
        for values in {file.values for file in files}
        for n, value in enumerate(values)
    )


def place(core: Core, folder: str, columns: Schema, files: Sequence[ScanFile]) -> list[str]:
    """A path for each file, in folders named after its values: `day=2026-01-01/0.parquet`.

    DuckDB reads such folders as columns, and leaves out files by them.
    """
    folders: dict[tuple[str | None, ...], str] = {}
    paths = []
    fetched: list[tuple[ScanFile, str]] = []
    for number, file in enumerate(files):
        below = folders.get(file.values)
        if below is None:
            parts = (
                f"{column.name}={_escaped(value)}"
                for column, value in zip(columns, file.values, strict=True)
            )
            below = folders[file.values] = os.path.join(folder, *parts)
            os.makedirs(below, exist_ok=True)
        paths.append(f"{below}/{number}.parquet")
        if is_near(file):
            os.symlink(path_of(file), paths[-1])
        else:
            fetched.append((file, paths[-1]))
    if core.objects.uri("").startswith("file://"):
        slices = [one for one in fetched if one[0].uri.startswith(SLICE)]
        fetched = [one for one in fetched if not one[0].uri.startswith(SLICE)]
        _copy_slices(slices)
    if fetched:
        with ThreadPoolExecutor(_FETCHERS) as pool:
            list(pool.map(lambda one: _fetch(core, *one), fetched))
    return paths


def _copy_slices(fetched: Sequence[tuple[ScanFile, str]]) -> None:
    """From packs on this computer, each opened once: there may be thousands of files in it."""
    packs: dict[str, int] = {}
    try:
        for file, path in fetched:
            start, uri = _slice(file)
            if uri not in packs:
                packs[uri] = os.open(unquote(uri.removeprefix("file://")), os.O_RDONLY)
            _write(path, os.pread(packs[uri], file.size, start))
    finally:
        for pack in packs.values():
            os.close(pack)


def _fetch(core: Core, file: ScanFile, path: str) -> None:
    base = core.objects.uri("")
    if file.uri.startswith(SLICE):
        start, uri = _slice(file)
        _write(path, core.objects.get_range(uri.removeprefix(base), start, file.size))
    elif file.uri.startswith(base):
        _write(path, core.objects.get(file.uri.removeprefix(base)))
    else:
        _write(path, core.objects.get(outside_key(unquote(file.uri))))


def _slice(file: ScanFile) -> tuple[int, str]:
    """Where in which object a packed file begins."""
    span, pack, _ = file.uri.removeprefix(SLICE).split("/", 2)
    return int(span.partition("-")[0]), bytes.fromhex(pack).decode()


def _write(path: str, data: bytes) -> None:
    target = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(target, data)
    finally:
        os.close(target)


def _escaped(value: str | None) -> str:
    return NULL_VALUE if value is None else quote(value, safe="")
