"""Where the bytes of a table's files are, as engines want to be told."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from urllib.parse import quote

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.storage.objects.keys import check_key
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.outside import is_outside, outside_of, outside_uri, place_of_key
from trunkline.storage.objects.reading import reference

SLICE = "tlslice:///"

_plain = re.compile(r"[A-Za-z0-9_.=-]+").fullmatch


def scan_uri(core: Core, entry: Entry) -> str:
    """The object's URI, or for a file in a pack one of the `tlslice` file system."""
    return uri_maker(core)(entry)


def uri_maker(core: Core) -> Callable[[Entry], str]:
    """As `scan_uri`, for many files of one lake."""
    base = core.objects.uri("")
    packs: dict[str, str] = {}

    def uri(entry: Entry) -> str:
        key = entry.key
        if entry.offset is None:
            return outside_uri(key) if is_outside(key) else base + check_key(key)
        pack = packs.get(key)
        if pack is None:
            pack = packs[key] = (base + check_key(key)).encode().hex()
        name = entry.path[entry.path.rfind("/") + 1 :]
        if not _plain(name):
            name = quote(name)
        return f"{SLICE}{entry.offset}-{entry.size}/{pack}/{name}"

    return uri


def scan_uris(core: Core, entries: Iterable[Entry]) -> list[str]:
    return list(map(uri_maker(core), entries))


def check_references(core: Core, entries: Iterable[Entry], *, publish: bool = False) -> None:
    """Engines read what lies outside the lake by themselves: it must be what it was."""
    if references := [reference(entry) for entry in entries if is_outside(entry.key)]:
        outside_of(core.objects).check_all(references, publish=publish)


def local_path(core: Core, entry: Entry) -> str | None:
    """The file on this computer that holds the entry's bytes and nothing else, if there is one."""
    if is_outside(entry.key):
        place = place_of_key(entry.key)
        if place.scheme != "file":
            return None
        check_references(core, [entry])
        return f"/{place.key}"
    if entry.offset is None and isinstance(core.objects, LocalStore):
        return f"{core.objects.root}/{check_key(entry.key)}"
    return None
