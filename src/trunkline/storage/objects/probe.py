"""Does a store keep its promises? Tried once, before anything is entrusted to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trunkline import errors
from trunkline.model.ids import new_id

if TYPE_CHECKING:
    from trunkline.storage.objects.port import ObjectStore

_HINT = "choose another store: this one would lose data"


def probe(store: ObjectStore) -> None:
    """Write, read back, overwrite, list and delete one small object."""
    folder = f"probe/{new_id()}/"
    key = f"{folder}object"
    where = store.uri("")
    store.put(key, b"first")
    try:
        _expect(_read(store, key) == b"first", f"{where} does not return what was written to it")
        store.edit(key, lambda _: b"second!")
        _expect(_read(store, key) == b"second!", f"{where} returns old bytes after an overwrite")
        _expect(store.get_range(key, 3, 3) == b"ond", f"{where} does not answer range reads")
        listed = [(info.key, info.size) for info in store.list(folder)]
        _expect(listed == [(key, 7)], f"{where} does not list what was written to it")
    finally:
        store.delete([key])
    _expect(_read(store, key) is None, f"{where} does not delete")
    _expect(not list(store.list(folder)), f"{where} lists what was deleted")


def _read(store: ObjectStore, key: str) -> bytes | None:
    try:
        return store.get(key)
    except FileNotFoundError:
        return None


def _expect(held: bool, message: str) -> None:
    if not held:
        raise errors.Failed(message, hint=_HINT)
