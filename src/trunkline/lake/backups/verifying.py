"""Whether a backup is as it was when it was taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from trunkline.errors import CorruptObject
from trunkline.lake.backups.places import (
    Backup,
    Contents,
    catalog_lines,
    choose,
    digest_of,
    open_place,
    pieces,
    sizes,
    whole_backups,
)
from trunkline.lake.backups.taking import PREFIXES
from trunkline.storage.objects.port import ObjectStore

_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Verification:
    """What was looked at, and what was found wrong, one line each."""

    ok: bool = field(init=False)
    backup: Backup
    deep: bool
    problems: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "ok", not self.problems)


def verify(
    source: str, at: str | None, lake: str | None, deep: bool, options: Mapping[str, str]
) -> Verification:
    """Whether everything that a backup lists is there: by its size, or deep, by its hash."""
    place = open_place(source, options)
    known = whole_backups(place)
    backup = choose(known, source, at, lake)
    try:
        for _ in catalog_lines(place, backup):
            pass
        contents = Contents(place, known, backup)
    except CorruptObject as error:
        return Verification(backup, deep, (error.message,))
    problems = list(problems_in(place, contents))
    if deep and not problems:
        with ThreadPoolExecutor(_AT_ONCE, "verify") as crew:
            said = crew.map(lambda key: _read(place, contents, key), contents.objects)
            problems = [text for text in said if text]
    return Verification(backup, deep, tuple(problems))


def problems_in(place: ObjectStore, contents: Contents) -> Iterator[str]:
    """What is missing, or has another size."""
    there = sizes(place, PREFIXES)
    for key, stored in contents.objects.items():
        size = there.get(key)
        if size is None:
            yield f"{key} is missing"
        elif not contents.has(key, size):
            yield f"{key} has {size} bytes, not {stored.size}"


def _read(place: ObjectStore, contents: Contents, key: str) -> str:
    try:
        found = digest_of(pieces(place, key))
    except FileNotFoundError:
        return f"{key} is missing"
    return "" if contents.has(key, *found) else f"{key} is damaged"
