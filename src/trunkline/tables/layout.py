"""Folders of data files: which names are data, of which format, and what the folders say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from trunkline.model.tables import TABLE_FILE, Format

EXTENSIONS = {
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".orc": Format.ORC,
}
COMPRESSIONS = (".gz", ".zst", ".bz2", ".lz4", ".snappy")
NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"

_hidden = ("_", ".")
_STRAY = re.compile("[\udc80-\udcff]")


def format_of(name: str) -> Format | None:
    """The format that a file's name tells, or None if it is no data."""
    return EXTENSIONS.get(extension_of(name))


def extension_of(name: str) -> str:
    """The extension that tells the format: `.csv` of `a.CSV.gz`."""
    name = name.lower()
    stem = name
    for suffix in COMPRESSIONS:
        if name.endswith(suffix):
            stem = name[: -len(suffix)]
            break
    dot = stem.rfind(".")
    return stem[dot:] if dot > 0 else ""


def compression_of(name: str) -> str:
    name = name.lower()
    return next((suffix for suffix in COMPRESSIONS if name.endswith(suffix)), "")


def is_data(rest: str, nested: bool = False) -> bool:
    """Whether a file below a table's folder is one of its own: `rest` is its path from there.

    `nested` takes files of any folder, else only of those that are called name=value.
    """
    *folders, name = rest.split("/")
    if name.startswith(_hidden) or format_of(name) is None:
        return False
    return not any(_is_hidden(one) or not (nested or is_hive(one)) for one in folders)


def _is_hidden(folder: str) -> bool:
    """As Spark has it: a value of a column whose name begins with `_` is data."""
    return folder.startswith(_hidden) and not (folder[0] == "_" and is_hive(folder))


def is_hive(folder: str) -> bool:
    return folder.find("=") > 0


def hive_values(rest: str) -> dict[str, str | None]:
    """What the folders of a path say: `day=2026-01-01/a.csv` that day is 2026-01-01."""
    found: dict[str, str | None] = {}
    for folder in rest.split("/")[:-1]:
        name, equals, value = folder.partition("=")
        if equals and name:
            found[_unescaped(name)] = None if value == NULL_VALUE else _unescaped(value)
    return found


def table_folders(paths: Iterable[Sequence[str]]) -> list[str]:
    """The folders, of files given as their parts, that are tables."""
    found: dict[str, None] = {}
    for parts in paths:
        *folders, name = parts
        if any(map(_is_hidden, folders)):
            continue
        if name != TABLE_FILE and (name.startswith(_hidden) or format_of(name) is None):
            continue
        while folders and is_hive(folders[-1]):
            folders.pop()
        found["/" + "/".join(folders)] = None
    return sorted(found)


def _unescaped(text: str) -> str:
    """Percents are bytes of UTF-8, as most write them; those that are none are characters, as
    Spark and Hive write them."""
    if "%" not in text:
        return text
    found = unquote(text, errors="surrogateescape")
    return _STRAY.sub(lambda one: chr(ord(one[0]) - 0xDC00), found)
