"""Immutable bytes under names, and the way in and out of them.

`port` is the contract; `local` and `cloud` keep it; `open_store` chooses. `Intake` stores many
files (small ones in packs), `outlet` writes them back. Every object name carries the id of the
transaction that wrote it. May import `model` and `errors`; nothing here knows what a commit is.
"""

from trunkline.storage.objects.keys import KeyMaker, txn_of
from trunkline.storage.objects.open import open_store
from trunkline.storage.objects.port import ObjectInfo, ObjectStore, ObjectWriter

__all__ = ["KeyMaker", "ObjectInfo", "ObjectStore", "ObjectWriter", "open_store", "txn_of"]
