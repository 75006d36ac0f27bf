"""What rows a file holds, whatever their order: files that Spark wrote, as entries.

Spark gives the rows of one query in any order and any cut, so the hash of a file's bytes says
little. Its fingerprint does: the number of rows and two sums over the hashes of the rows, which
are exact (`RowHash.java`). Fingerprints add up, so that two sets of files are compared without
reading them. They say by which VERSION of the hash they were made; others compare with nothing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from blake3 import blake3

from trunkline.errors import CorruptObject
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Schema, Written
from trunkline.storage.objects.keys import check_key
from trunkline.tables.pathvalues import canonical, hive_folder
from trunkline.tables.writing.bounds import with_folder
from trunkline.tables.writing.naming import Namer

VERSION = "02"
"""Until version 2, which first says so, doubles were rounded and nested times cut."""

_MASK = (1 << 64) - 1


class Total(NamedTuple):
    """The sum of fingerprints."""

    rows: int
    first: int
    second: int


def schema_digest(schema: Schema) -> str:
    """16 hex digits for names and types. Whether nulls may occur is no part of the rows."""
    text = json.dumps([(column.name, column.type) for column in schema])
    return blake3(text.encode()).hexdigest(8)


def fingerprint(written: Written, schema: Schema) -> str:
    total = Total(written.rows, written.first & _MASK, written.second & _MASK)
    return shown(total, schema_digest(schema))


def shown(total: Total, digest: str) -> str:
    """A fingerprint as the 64 hex digits that an entry has for its hash."""
    return f"{VERSION}{total.rows:014x}{total.first:016x}{total.second:016x}{digest}"


def content(entry: Entry) -> str:
    """What two files are equal by only if their rows are: the hash, if it is exact."""
    return entry.byte_hash if _is_old(entry) else entry.hash


def total(entries: Iterable[Entry]) -> dict[str, Total] | None:
    """The sums over files by the digest of their schema; None if one has no exact fingerprint."""
    found: dict[str, Total] = {}
    for entry in entries:
        if not entry.byte_hash or len(entry.hash) != 64 or _is_old(entry):
            return None
        sums = (entry.hash[2:16], entry.hash[16:32], entry.hash[32:48])
        one, digest = Total(*(int(digits, 16) for digits in sums)), entry.hash[48:]
        found[digest] = plus(found.get(digest, Total(0, 0, 0)), one)
    return found


def plus(one: Total, two: Total) -> Total:
    return Total(
        one.rows + two.rows, (one.first + two.first) & _MASK, (one.second + two.second) & _MASK
    )


def same_rows(old: Sequence[Entry], new: Sequence[Entry]) -> bool:
    """Whether two sets of files are known to hold the same rows."""
    if sorted(map(content, old)) == sorted(map(content, new)):
        return True
    before = total(old)
    return before is not None and before == total(new)


def _is_old(entry: Entry) -> bool:
    return bool(entry.byte_hash) and not entry.hash.startswith(VERSION)


def entry_of(core: Core, written: Written, path: str, schema: Schema, stats: str) -> Entry:
    """The entry at `path` of a file that an engine wrote. Reads the file for its hash."""
    key = key_of(core, written.uri)
    hasher = blake3()
    try:
        for piece in core.objects.stream(key):
            hasher.update(piece)
    except FileNotFoundError:
        raise CorruptObject(
            f"The file {key} that Spark wrote is not in the store.",
            hint="Do the driver and the executors reach the same store?",
        ) from None
    return Entry(
        path,
        fingerprint(written, schema),
        written.size,
        key,
        rows=written.rows,
        byte_hash=hasher.hexdigest(),
        stats=stats,
    )


def entries_of(
    core: Core,
    files: Sequence[Written],
    folder: str,
    partition_by: Sequence[str],
    schema: Schema,
    suffix: str = "",
) -> list[Entry]:
    """The entries of all files of one write, below `folder`, durable when this returns.

    Names follow from the rows, so the same rows give the same names. With a `suffix`, such as
    digits of the transaction, they clash with those of no other write.
    """
    namer = Namer(suffix)
    columns = Schema(tuple(found for one in partition_by if (found := schema.find(one))))
    folders = [
        tuple(canonical(text, one.type) for text, one in zip(written.folder, columns, strict=True))
        for written in files
    ]
    paths = [
        namer.path(folder, hive_folder(columns.names, values), fingerprint(written, schema))
        for written, values in zip(files, folders, strict=True)
    ]
    stats = [
        with_folder(written.stats, columns, values, written.rows) if values else written.stats
        for written, values in zip(files, folders, strict=True)
    ]
    with ThreadPoolExecutor(min(8, (os.cpu_count() or 1) + 1)) as pool:
        entries = list(
            pool.map(
                lambda one: entry_of(core, one[0], one[1], schema, one[2]),
                zip(files, paths, stats, strict=True),
            )
        )
    sync_folders(core, [entry.key for entry in entries])
    return entries


def key_of(core: Core, uri: str) -> str:
    """The name of an object whose place an engine names. `file:/a` is `file:///a`."""
    base, place = (unquote(urlsplit(one).path) for one in (core.objects.uri(""), uri))
    if not place.startswith(base):
        raise CorruptObject(f"{uri} is not in the lake's store.")
    return check_key(place[len(base) :])


def sync_folders(core: Core, keys: Iterable[str]) -> None:
    """Make the names of files durable that somebody else wrote and synced. Local stores only."""
    root = core.objects.uri("")
    if not root.startswith("file:"):
        return
    base = unquote(urlsplit(root).path)
    folders: set[str] = set()
    for key in keys:
        # The day's folder may be new too, and so may that above it.
        folder = os.path.dirname(base + key)
        while folder.startswith(base) and folder not in folders:
            folders.add(folder)
            folder = os.path.dirname(folder)
    for folder in sorted({*folders, base}):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
