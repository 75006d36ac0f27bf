"""Many local files at once: what the branch has already is kept, the rest is uploaded."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from blake3 import blake3

from trunkline.model.refs import Ref
from trunkline.sdk.remote.sources import hash_of, opened, read_small
from trunkline.sdk.remote.uploading import BUNDLE_BYTES, BUNDLE_FILES, SMALL, Sent
from trunkline.sdk.wire.files import AskKnown, Keep, Known
from trunkline.sdk.writer import Progress
from trunkline.storage.objects.intake import Files
from trunkline.storage.objects.source import unreadable

if TYPE_CHECKING:
    from trunkline.sdk.remote.writer import RemoteTransaction

_ASKED = 20_000
_File = tuple[str, str | os.PathLike[str], int, str]
"""Path, place on this computer, size, and the hash that the branch has for it."""


class FileSet:
    """Sends files of this computer to one branch. `at` is what the branch has; "" is nothing."""

    def __init__(self, transaction: RemoteTransaction, target: Ref, at: str) -> None:
        self._transaction = transaction
        self._target = target
        self._at = at
        self._lock = threading.Lock()

    def send(self, pairs: Files, progress: Progress | None) -> tuple[Keep, list[Sent]]:
        """What need not be sent, and the receipts of the rest. All has arrived when this returns.

        What is there already is put again as it is: another commit may remove it meanwhile.
        """
        commit, files = self._compared(pairs)
        kept: list[str] = []
        sent: list[Sent] = []

        def report(count: int, size: int) -> None:
            if progress is not None:
                with self._lock:
                    progress(count, size)

        def some(batch: Sequence[_File]) -> None:
            ready: list[tuple[str, bytes, Sent]] = []
            for path, local, _, known in batch:
                data = read_small(local)
                if known and blake3(data).hexdigest() == known:
                    kept.append(path)
                else:
                    ready.append((path, data, Sent()))
            if ready:
                uploader.deliver_many(ready)
            sent.extend(one for _, _, one in ready)
            report(len(batch), sum(one[2] for one in batch))

        def alone(one: _File) -> None:
            path, local, size, known = one
            with opened(local) as source:
                if known and hash_of(source) == known:
                    kept.append(path)
                    report(1, size)
                    return
                made = Sent()
                made.receipt = uploader.deliver(path, source, lambda count: report(0, count))
            sent.append(made)
            report(1, 0)

        uploader = self._transaction.uploader
        batch: list[_File] = []
        total = 0
        for one in files:
            if one[2] > SMALL:
                uploader.spawn(lambda one=one: alone(one))  # type: ignore[misc]
                continue
            batch.append(one)
            total += one[2]
            if total >= BUNDLE_BYTES or len(batch) >= BUNDLE_FILES:
                uploader.spawn(lambda batch=batch: some(batch))  # type: ignore[misc]
                batch, total = [], 0
        if batch:
            uploader.spawn(lambda: some(batch))
        uploader.wait()
        return Keep(commit, sorted(kept)), sent

    def _compared(self, pairs: Files) -> tuple[str, list[_File]]:
        """The files with what the branch has at their paths, and the commit that has it."""
        sizes = [_size(local) for _, local in pairs]
        at, commit = self._at, ""
        hashes: list[str | None] = []
        place = f"/repos/{self._target.repo.project}/{self._target.repo.repo}/known"
        for start in range(0, len(pairs), _ASKED):
            some = range(start, min(start + _ASKED, len(pairs)))
            if not at:
                hashes += [None] * len(some)
                continue
            body = AskKnown([(pairs[n][0], sizes[n]) for n in some], at)
            known: Known = self._transaction.client.send("POST", place, body, kind=Known)
            hashes += known.hashes
            # The pages that follow are of the same commit.
            at = commit = known.commit or ""
        rows = zip(pairs, sizes, hashes, strict=True)
        return commit, [(path, local, size, known or "") for (path, local), size, known in rows]


def _size(local: str | os.PathLike[str]) -> int:
    try:
        return os.stat(local).st_size
    except OSError as error:
        raise unreadable(os.fsencode(local), error) from None
