"""The state of streams: checkpoints of Spark in the object store, cut to any batch still kept.

A stream goes on from the batch that its newest commit names, in a folder of its own: a fork, that
holds what the state after this batch needs and nothing later. So a crash, a take-over and a rewind
are one thing. Folders lie at `streams/REPO/ID…`, and their names sort by the time they were made.
"""

from __future__ import annotations

import json
import math
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from trunkline.errors import AlreadyExists, CheckpointDamaged
from trunkline.lake.checkpointchecks import verify
from trunkline.lake.checkpointfiles import METADATA, Checkpoint, Damaged
from trunkline.model.ids import ID_LENGTH, id_millis, is_id
from trunkline.storage.objects.keys import STREAMS
from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.loose import LooseFiles, loose
from trunkline.storage.objects.port import ObjectInfo, ObjectStore

GRACE = 600.0
"""Seconds that a folder is left alone which no batch names: somebody may just be about to."""

_ATTEMPTS = 5
_SCHEMAS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):[^\"]*?(/state/\d+/_stateSchema/)")


def fork(store: ObjectStore, source: str, batch: int, target: str, name: str = "") -> None:
    """Make `target` a checkpoint that ends with `batch`, whatever `source` did after that.

    `metadata` is written last: a folder without it is no checkpoint. The source may be in use,
    and those who use it may clean it up meanwhile.
    """
    files = loose(store)
    for attempt in range(_ATTEMPTS):
        try:
            begin(files, target)
            _fork(store, files, source, batch, target)
            return
        except FileNotFoundError:
            if attempt == _ATTEMPTS - 1:
                break
        except Damaged as damage:
            raise _damaged(source, damage, name) from None
    raise _damaged(source, Damaged("a file", "disappears all the time"), name)


def check(store: ObjectStore, checkpoint: str, batch: int, name: str = "") -> None:
    """Raise CheckpointDamaged unless all that the state after `batch` needs is there and whole.

    `name` is the stream's, for what the error says.
    """
    found = Checkpoint(loose(store), checkpoint)
    try:
        verify(found, found.needed(batch))
    except Damaged as damage:
        raise _damaged(checkpoint, damage, name) from None
    except FileNotFoundError as error:
        gone = Damaged(str(error.args[-1]), "is missing")
        raise _damaged(checkpoint, gone, name) from None


def settle(store: ObjectStore, checkpoint: str, batch: int) -> None:
    """Make the state after `batch` survive a power cut: Spark only wrote it, and did not wait."""
    found = Checkpoint(loose(store), checkpoint)
    try:
        names = found.with_checksums(found.needed(batch))
        found.files.settle(found.folder + name for name in names)
    except Damaged as damage:
        raise _damaged(checkpoint, damage, "") from None


def prune(
    store: ObjectStore, prefix: str, keep: Iterable[tuple[str, int]], grace: float = GRACE
) -> int:
    """Remove what no batch in `keep` needs, of all checkpoints of a stream; how many files.

    A folder made after the newest that is kept may be in use, and so may one made just now: they
    stay. In a folder that is kept, what is later than its last batch belongs to who works in it.
    Without anything to keep nothing is removed: gc does that when the stream is gone.
    """
    files = loose(store)
    kept: dict[str, set[int]] = defaultdict(set)
    for folder, batch in keep:
        kept[folder.rstrip("/").removeprefix(prefix)].add(batch)
    listed: dict[str, list[str]] = defaultdict(list)
    for info in files.list(prefix):
        listed[info.key.removeprefix(prefix).partition("/")[0]].append(info.key)
    newest = max(map(_order, kept), default=None)
    before = (time.time() - grace) * 1000
    doomed: list[str] = []
    for folder, names in listed.items():
        if folder in kept:
            doomed += _outdated(Checkpoint(files, prefix + folder), kept[folder])
        elif newest is not None and _order(folder) < newest and _made(folder) < before:
            # Without the first one the rest is no checkpoint, should it stay half removed.
            doomed += sorted(names, key=lambda name: name != f"{prefix}{folder}/{METADATA}")
    files.delete(doomed)
    return len(doomed)


def of_nobody(store: ObjectStore, repos: Callable[[], set[int]]) -> list[ObjectInfo]:
    """All files of checkpoints whose repo is gone. The repos are asked for after the listing:
    who made a folder that is listed was there before.
    """
    listed = list(loose(store).list(STREAMS))
    owners = {str(key) for key in repos()}
    return [info for info in listed if info.key.split("/", 2)[1] not in owners]


# -- making one ----------------------------------------------------------------------------


def begin(files: LooseFiles, target: str) -> None:
    """Remove what a process that died has left of a checkpoint it was making."""
    folder = target.rstrip("/") + "/"
    left = [info.key for info in files.list(folder)]
    if folder + METADATA in left:
        raise AlreadyExists(f"There is a checkpoint at {target} already.")
    files.delete(left)


def end(files: LooseFiles, target: str) -> None:
    """Write what makes a folder a checkpoint. As a new query: the old one may not be dead yet."""
    said = json.dumps({"id": str(uuid.uuid4())}, separators=(",", ":"))
    files.write({f"{target.rstrip('/')}/{METADATA}": said.encode()})


def moved(store: ObjectStore, target: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Descriptions of operators that are right in another folder: they name files by address."""
    address = f"{store.root}/{target}" if isinstance(store, LocalStore) else _host(store, target)

    def there(match: re.Match[str]) -> str:
        return f"{match[1]}:{json.dumps(address)[1:-1]}{match[2]}"

    return {name: _SCHEMAS.sub(there, data.decode()).encode() for name, data in files.items()}


def names_addresses(name: str) -> bool:
    return name.startswith("state/") and "/_metadata/v2/" in name


def _host(store: ObjectStore, target: str) -> str:
    return store.uri(target).partition(":")[2]


def _fork(store: ObjectStore, files: LooseFiles, source: str, batch: int, target: str) -> None:
    found = Checkpoint(files, source)
    needed = found.needed(batch) - {METADATA}
    own = {name: found.read(name) for name in needed if names_addresses(name)}
    folder = target.rstrip("/") + "/"
    rest = found.with_checksums(needed - own.keys())
    files.copy({folder + name: found.folder + name for name in rest})
    changed = moved(store, folder.rstrip("/"), own)
    files.write({folder + name: data for name, data in changed.items()})
    end(files, target)


# -- removing ------------------------------------------------------------------------------


def _order(folder: str) -> tuple[str, int]:
    """Of two folders that one process made for one job, the second is `…-2`."""
    name, _, number = folder.partition("-")
    return name, int(number) if number.isdigit() else 0


def _made(folder: str) -> float:
    """When, in milliseconds; what is not named by an id is not ours, and never old."""
    return id_millis(folder) if is_id(folder[:ID_LENGTH]) else math.inf


def _outdated(checkpoint: Checkpoint, batches: set[int]) -> list[str]:
    """What none of the batches needs, and nobody who goes on after the last of them."""
    try:
        needed = set().union(*(checkpoint.needed(batch) for batch in batches))
        last, gone = max(batches), set()
        for name in checkpoint.sizes.keys() - needed:
            number = checkpoint.logged(name)
            if number is not None and number <= last:
                gone.add(name)
        for store in checkpoint.stores.values():
            whole = {name for number, name in store.whole.items() if number <= last + 1} - needed
            gone |= whole
            gone |= {name for n, name in store.changes.items() if n <= last + 1} - needed
            # A table is only removed with the zip that names it: others are being uploaded.
            dropped = _tables(checkpoint, whole)
            gone |= dropped and dropped - _tables(checkpoint, {*store.whole.values()} - whole)
    except (Damaged, FileNotFoundError):
        return []  # it is for `check` to say so; nothing is made worse
    return [checkpoint.folder + name for name in checkpoint.with_checksums(gone)]


def _tables(checkpoint: Checkpoint, snapshots: set[str]) -> set[str]:
    return {part for name in snapshots for part in checkpoint.snapshot(name)}


def _damaged(checkpoint: str, damage: Damaged, name: str) -> CheckpointDamaged:
    stream = name or "NAME"
    return CheckpointDamaged(
        f"The state of {f'the stream {name}' if name else 'a stream'} is damaged: "
        f"{checkpoint.rstrip('/')}/{damage.name} {damage.what}.",
        hint=f"Go back to a batch whose state is whole: trunkline stream rewind {stream} --to REF; "
        f"or begin without state: trunkline stream restart {stream} --from REF.",
    )
