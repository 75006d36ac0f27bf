"""What datums came to: the index of a job and the results of a pipeline.

Both are trees of lines as commits are, so one job shares with the next whatever stayed the
same. An index lists the datums of one job. The results of a pipeline list everything that was
ever computed for it, under what went in: datum, content and version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import zstandard

from trunkline.engine.runner.task import DatumResult, read_part
from trunkline.errors import CorruptObject
from trunkline.lake.changes import Changes, apply_unchecked
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.recent import Recent
from trunkline.pipelines.datums_lines import Pointer, ResultLine, result_key

_CACHED_PARTS = 32


class EarlierResult(NamedTuple):
    """A result that an earlier job made."""

    job: str
    pointer: Pointer


def find_result(results: Tree, key: bytes, content: bytes, digest: str) -> EarlierResult | None:
    line = results.find(result_key(key, content, digest)) if results.ranges else None
    if line is None:
        return None
    found = ResultLine.decode(line)
    return EarlierResult(found.job, found.pointer)


def patch(
    core: Core,
    tree: Tree,
    puts: Iterable[bytes],
    removed: Iterable[bytes],
    new_key: Callable[[], str],
) -> tuple[str, str] | None:
    """Store a tree with lines put and keys removed: key and hash; None if nothing changed."""
    changes = Changes()
    changes.removed_files.update(removed)
    changes.put_all(puts)
    if not changes:
        return None
    key, digest, _ = core.manifests.write(apply_unchecked(tree, changes), new_key)
    return key, digest


class Parts:
    """Reads results out of their parts, remembering the last few."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._cache: Recent[str, list[DatumResult]] = Recent(_CACHED_PARTS)

    def read(self, key: str) -> list[DatumResult]:
        return self._cache.get(key, lambda: self._fetch(key))

    def at(self, pointer: Pointer) -> DatumResult:
        results = self.read(pointer.part)
        if not 0 <= pointer.number < len(results):
            raise CorruptObject(f"Part {pointer.part} has no result {pointer.number}.")
        return results[pointer.number]

    def listed(self, prefix: str) -> Iterator[str]:
        """The parts that the attempts of a job have stored so far, oldest first."""
        found = [info for info in self._core.objects.list(prefix) if info.key.endswith(".part")]
        for info in sorted(found, key=lambda one: (one.modified, one.key)):
            yield info.key

    def _fetch(self, key: str) -> list[DatumResult]:
        try:
            return read_part(self._core.objects.get(key))
        except (FileNotFoundError, zstandard.ZstdError, ValueError):
            raise CorruptObject(
                f"The results {key} of a job are missing or damaged.",
                hint="Run the pipeline again with --reprocess.",
            ) from None
