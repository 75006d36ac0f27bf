"""What rows a file holds, whatever their order: files that Spark wrote, as entries.

Spark gives the rows of one query in any order and any cut, so the hash of a file's bytes says
little. Its fingerprint does: the number of rows and two sums over the hashes of the rows.
Fingerprints add up, so that two sets of files are compared without reading them.
"""

from __future__ import annotations

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
from trunkline.tables.writing.naming import Namer, hive_folder

_MASK = (1 << 64) - 1


class Total(NamedTuple):
    """The sum of fingerprints."""

    rows: int
    first: int
    second: int


def schema_digest(schema: Schema) -> str:
    """16 hex digits for names and types. Whether nulls may occur is no part of the rows."""
    text = "\n".join(f"{column.name}\t{column.type}" for column in schema)
    return blake3(text.encode()).hexdigest(8)


def fingerprint(written: Written, schema: Schema) -> str:
    total = Total(written.rows, written.first & _MASK, written.second & _MASK)
    return shown(total, schema_digest(schema))


def shown(total: Total, digest: str) -> str:
    """A fingerprint as the 64 hex digits that an entry has for its hash."""
    return f"{total.rows:016x}{total.first:016x}{total.second:016x}{digest}"


def total(entries: Iterable[Entry]) -> Total | None:
    """The sum over all files, or None if one of them has no fingerprint."""
    rows = first = second = 0
    for entry in entries:
        if not entry.byte_hash or len(entry.hash) != 64:
            return None
        rows += int(entry.hash[:16], 16)
        first += int(entry.hash[16:32], 16)
        second += int(entry.hash[32:48], 16)
    return Total(rows, first & _MASK, second & _MASK)


def digests(entries: Iterable[Entry]) -> set[str]:
    """The digests of the schemas that the files were written with."""
    return {entry.hash[48:] for entry in entries}


def same_rows(old: Sequence[Entry], new: Sequence[Entry]) -> bool:
    """Whether two sets of files are known to hold the same rows."""
    if sorted(entry.hash for entry in old) == sorted(entry.hash for entry in new):
        return True
    before = total(old)
    return before is not None and before == total(new) and digests(old) == digests(new)


def entry_of(core: Core, written: Written, path: str, schema: Schema) -> Entry:
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
        stats=written.stats,
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
    paths = [
        namer.path(folder, hive_folder(partition_by, written.folder), fingerprint(written, schema))
        for written in files
    ]
    with ThreadPoolExecutor(min(8, (os.cpu_count() or 1) + 1)) as pool:
        entries = list(
            pool.map(
                lambda one: entry_of(core, one[0], one[1], schema), zip(files, paths, strict=True)
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
