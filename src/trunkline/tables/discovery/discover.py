"""What is in the files of a table: looked up where it is known, found out where it is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from trunkline.errors import Precondition
from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Format
from trunkline.tables.discovery.facts import VERSION, Fact, FactCache
from trunkline.tables.layout import compression_of, extension_of

# So that an interruption loses little, and copies for DuckDB stay few.
_MOST_FILES = 2000
_MOST_BYTES = 256 << 20


def one_format(entries: Sequence[Entry], where: str) -> Format:
    """The format of all files, which their names tell; two different ones are refused."""
    from trunkline.tables.layout import EXTENSIONS

    first: dict[Format, str] = {}
    for entry in entries:
        format_ = EXTENSIONS[extension_of(entry.path)]
        first.setdefault(format_, entry.path)
        if len(first) > 1:
            (one, path), (two, other) = first.items()
            raise Precondition(
                f"The files of {where} have different formats: {path} is {one}, {other} is {two}.",
                hint="Keep each format in a folder of its own, then each is a table.",
            )
    return next(iter(first))


def facts_of(
    core: Core,
    entries: Sequence[Entry],
    format_: Format,
    options: Mapping[str, str],
    where: str,
    cache: FactCache | None = None,
) -> list[Fact]:
    """A fact for each file, in order. Only files that were never seen before are opened."""
    cache = cache or FactCache()
    keys = _keys(entries, format_, options)
    found = cache.find(keys)
    fresh = {key: entry for key, entry in zip(keys, entries, strict=True) if key not in found}
    pending: list[tuple[str, Entry]] = []
    size = 0
    for pair in fresh.items():
        pending.append(pair)
        size += pair[1].size
        if len(pending) >= _MOST_FILES or size >= _MOST_BYTES:
            _examine(core, pending, format_, options, where, cache, found)
            pending, size = [], 0
    _examine(core, pending, format_, options, where, cache, found)
    return [found[key] for key in keys]


def _examine(
    core: Core,
    pending: Sequence[tuple[str, Entry]],
    format_: Format,
    options: Mapping[str, str],
    where: str,
    cache: FactCache,
    found: dict[str, Fact],
) -> None:
    if not pending:
        return
    entries = [entry for _, entry in pending]
    facts = _look(core, entries, format_, options, where)
    fresh = [(key, fact) for (key, _), fact in zip(pending, facts, strict=True)]
    cache.keep(fresh)
    found.update(fresh)


def _look(
    core: Core, entries: Sequence[Entry], format_: Format, options: Mapping[str, str], where: str
) -> list[Fact]:
    if format_ is Format.CSV:
        from trunkline.tables.discovery import csvfacts

        return csvfacts.examine(core, entries, options, where)
    if format_ is Format.JSON:
        from trunkline.tables.discovery import jsonfacts

        return jsonfacts.examine(core, entries, options, where)
    from trunkline.tables.discovery import footers

    return footers.examine(core, entries, format_, where)


def _keys(entries: Sequence[Entry], format_: Format, options: Mapping[str, str]) -> list[str]:
    """Names in the cache: what the bytes are, and all else that decides how they are read."""
    if format_ in (Format.PARQUET, Format.ORC):
        stem = f"{VERSION}-{format_}-"
        return [stem + entry.checksum for entry in entries]
    told = "\0".join(f"{name}={value}" for name, value in sorted(options.items()))
    stem = f"{VERSION}-{blake2b(told.encode(), digest_size=8).hexdigest()}-"
    return [
        f"{stem}{extension_of(entry.path)}{compression_of(entry.path)}-{entry.checksum}"
        for entry in entries
    ]
