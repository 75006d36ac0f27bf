"""Copies of what is erased that no commit names: a put that was cut off leaves them, and so does
one that goes on.

What is in an object that nothing names is on no record. So it is searched for the bytes
themselves, before those that commits name are destroyed: afterwards nobody could tell them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from blake3 import blake3

from trunkline.lake.core import Core
from trunkline.lake.reach import used_objects
from trunkline.storage.catalog import Row, leases
from trunkline.storage.objects.keys import DATA, PACKS, txn_of
from trunkline.storage.objects.outside import is_outside
from trunkline.storage.objects.port import ObjectInfo, ObjectStore

_MARK = 16
"""So many bytes of a file are looked for first; a shorter one cannot be told from others."""
_FEW = 32
_PIECE = 1 << 20


def unnamed_copies(core: Core, erased: Mapping[str, Sequence[Row]]) -> list[str]:
    """The objects that nothing names and that hold bytes of these places, by object."""
    sought = _Sought(core.objects, erased)
    if not sought:
        return []
    # In this order, for the reasons that gc has.
    found = [*core.objects.list(DATA), *core.objects.list(PACKS), *core.objects.abandoned()]
    with core.database.read() as session:
        living = leases.live(session)
    used = used_objects(core)
    return [
        info.key
        for info in found
        if info.key not in used
        and info.key not in erased
        and sought.is_in(info, txn_of(info.key) in living)
    ]


def destroy_unnamed(core: Core, keys: Sequence[str]) -> None:
    """Delete such objects. Who is still writing one cannot commit it, and is told so."""
    with core.database.write() as session:
        for txn in {txn_of(key) for key in keys} - {None}:
            leases.end_writer(session, txn or "")
        living = leases.live(session)
    used = used_objects(core)  # some may have been committed just before
    core.objects.delete(key for key in keys if key not in used and txn_of(key) not in living)


class _Sought:
    """What to look for: files of packs by a mark in each, others by all their bytes."""

    def __init__(self, objects: ObjectStore, erased: Mapping[str, Sequence[Row]]) -> None:
        self._objects = objects
        self._marks: dict[bytes, set[tuple[int, int, str]]] = defaultdict(set)
        self._short: set[bytes] = set()
        self._whole: list[ObjectInfo] = []
        for key, rows in erased.items():
            # Where it is not there any more, somebody else has looked, and destroyed it since.
            with suppress(FileNotFoundError):
                if any(row["start"] is None for row in rows):
                    if not is_outside(key):
                        self._whole.append(objects.head(key))
                    continue
                pack = objects.get(key)
                for row in rows:
                    self._add(pack[row["start"] : row["start"] + row["size"]])

    def _add(self, content: bytes) -> None:
        if not content.strip(b"\0"):
            return
        if len(content) < _MARK:
            self._short.add(content)
            return
        # Files often begin alike. The mark is where there is most to tell.
        last = len(content) - _MARK
        at = max((last * n // 8 for n in range(9)), key=lambda n: len({*content[n : n + _MARK]}))
        place = (at, len(content), blake3(content).hexdigest())
        self._marks[content[at : at + _MARK]].add(place)

    def __bool__(self) -> bool:
        return bool(self._marks or self._short or self._whole)

    def is_in(self, info: ObjectInfo, is_going_on: bool) -> bool:
        try:
            if not info.key.startswith(PACKS) and ".pack." not in info.key:
                return any(self._begins(one, info) for one in self._whole)
            if not (self._marks or self._short):
                return False
            pack = self._objects.get(info.key)
        except FileNotFoundError:
            return False
        if pack in self._short or (self._short and not is_going_on):
            return True
        return any(
            blake3(pack[start : start + size]).hexdigest() == digest
            for mark, found in _found(pack, self._marks)
            for at, size, digest in self._marks[mark]
            if (start := found - at) >= 0
        )

    def _begins(self, whole: ObjectInfo, info: ObjectInfo) -> bool:
        """Whether an object, which may have been cut off, is the beginning of a file."""
        if not 0 < info.size <= whole.size:
            return False
        pieces = ((at, min(_PIECE, info.size - at)) for at in range(0, info.size, _PIECE))
        get = self._objects.get_range
        return all(get(info.key, *piece) == get(whole.key, *piece) for piece in pieces)


def _found(data: bytes, marks: Mapping[bytes, object]) -> Iterator[tuple[bytes, int]]:
    if len(marks) > _FEW:
        for at in range(len(data) - _MARK + 1):
            if (mark := data[at : at + _MARK]) in marks:
                yield mark, at
        return
    for mark in marks:
        at = data.find(mark)
        while at >= 0:
            yield mark, at
            at = data.find(mark, at + 1)
