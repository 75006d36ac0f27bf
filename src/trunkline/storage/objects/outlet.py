"""The way back: files of a commit into a local folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import partial

from trunkline.model.entries import line_bytes
from trunkline.storage.objects.crowd import Crowd, Progress, Tally
from trunkline.storage.objects.exporter import Exporter
from trunkline.storage.objects.outside import outside_of
from trunkline.storage.objects.port import ObjectStore
from trunkline.storage.objects.reading import read_entry, read_packed, read_range

__all__ = ["MANY", "export", "read_entry", "read_packed", "read_range"]

MANY = 3000
"""From here on helper processes are worth their start-up time."""

_BATCH = 1000


def export(
    store: ObjectStore,
    lines: Iterable[bytes],
    dest: str | os.PathLike[str],
    *,
    strip: str = "/",
    overwrite: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Write files below the folder `dest`; how many, and their bytes.

    `strip` is the folder of the lake that becomes `dest`. Every file is checked against its
    hash. Without `overwrite` a file that is there already is an error. Nothing is synced, and
    after an error the files written so far are there, each of them whole.
    """
    packed: list[tuple[bytes, int, bytes]] = []
    whole: list[bytes] = []
    for line in lines:
        _, _, _, key, offset = line_bytes(line)
        if offset < 0:
            whole.append(line)
        else:
            packed.append((key, offset, line))
    # The order of the packs, so that each is read once from start to end.
    packed.sort()
    ordered = [line for _, _, line in packed]
    workers = workers or len(os.sched_getaffinity(0))
    folder = os.path.abspath(dest)
    os.makedirs(folder, exist_ok=True)
    total = 0

    def counted(files: int, size: int) -> None:
        nonlocal total
        total += size
        if progress is not None:
            progress(files, size)

    tally = Tally(counted)
    with outside_of(store).known.gathering(), Crowd[None](min(workers, 4), tally) as crowd:
        for number, line in enumerate(whole):
            crowd.submit(number, partial(_whole, store, folder, strip, overwrite, line, crowd))
        if len(ordered) < MANY or workers < 2 or store.address is None or not sys.executable:
            exporter = Exporter(store, os.fsencode(folder), strip.encode(), overwrite)
            for batch in _batches(ordered):
                tally.add(len(batch), exporter.write_packed(batch))
                tally.report()
        else:
            from trunkline.storage.objects.crew import share_out  # slow to load, for many only

            url, options = store.address
            setup = {
                "task": "outlet",
                "url": url,
                "options": dict(options),
                "dest": folder,
                "strip": strip,
                "overwrite": overwrite,
            }
            batches = _batches(ordered)
            with closing(share_out([setup] * workers, batches, b"\n".join)) as answers:
                for number, answer in answers:
                    tally.add(len(batches[number]), int(answer))
                    tally.report()
        crowd.results()
    tally.report()
    return len(ordered) + len(whole), total


def _whole(
    store: ObjectStore, folder: str, strip: str, overwrite: bool, line: bytes, crowd: Crowd[None]
) -> None:
    exporter = Exporter(store, os.fsencode(folder), strip.encode(), overwrite)
    exporter.write_whole(line, crowd.wrote)


def _batches(lines: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [lines[start : start + _BATCH] for start in range(0, len(lines), _BATCH)]
