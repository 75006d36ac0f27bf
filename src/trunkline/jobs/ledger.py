"""What datums came to: the index of a job and the results of a pipeline.

Both are trees of lines as commits are, so one job shares with the next whatever stayed the
same. An index lists the datums of one job. The results of a pipeline list everything that was
ever computed for it, under what went in: datum, content and version.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import zstandard

from trunkline.engine.runner.task import DatumResult, read_part
from trunkline.errors import CorruptObject
from trunkline.lake.changes import Changes, apply_unchecked
from trunkline.lake.core import Core
from trunkline.lake.manifests import Tree
from trunkline.model.ids import id_millis
from trunkline.pipelines.plan import LineState

_CACHED_PARTS = 32
_DAY = 86_400_000
_LETTERS = {state.datum_state.value: state.value.encode() for state in LineState}
GOOD = LineState.SUCCESS.value.encode()


class Pointer(NamedTuple):
    """Where a result is: the part, and its place in it."""

    part: str
    number: int


class Kept(NamedTuple):
    """A result of some earlier job."""

    job: str
    pointer: Pointer


def result_key(key: bytes, content: bytes, digest: str) -> bytes:
    """Versions come first: what a new one adds lies together, and leaves the others as they are."""
    return b"%b\x1f%b\x1f%b" % (digest[:16].encode(), key, content)


def result_line(key: bytes, content: bytes, digest: str, job: str, pointer: Pointer) -> bytes:
    # The third field is a number in every tree's lines.
    day = id_millis(job) // _DAY
    return b"%b\t%b\t%d\t%b\t%d" % (
        result_key(key, content, digest),
        job.encode(),
        pointer.number,
        pointer.part.encode(),
        day,
    )


class ResultWriter:
    """The lines of one job's results, part by part: as `IndexLine` and `result_line` make them,
    with what is the same for all of a part made once.
    """

    def __init__(self, job: str, digest: str) -> None:
        self._job = job.encode()
        self._digest = digest[:16].encode()
        self._day = id_millis(job) // _DAY
        self._part = b""

    def start(self, part: str) -> None:
        self._part = part.encode()

    def index_line(self, key: bytes, content: bytes, state: str, number: int, reason: str) -> bytes:
        fields = (key, content, _LETTERS[state], self._job, self._part, number, reason.encode())
        return b"%b\t%b\t%b\t%b\t%b\t%d\t%b" % fields

    def result_line(self, key: bytes, content: bytes, number: int) -> bytes:
        fields = (self._digest, key, content, self._job, number, self._part, self._day)
        return b"%b\x1f%b\x1f%b\t%b\t%d\t%b\t%d" % fields


def find_result(results: Tree, key: bytes, content: bytes, digest: str) -> Kept | None:
    line = results.find(result_key(key, content, digest)) if results.ranges else None
    return read_result(line) if line else None


def read_result(line: bytes) -> Kept:
    _, job, number, part, _ = line.split(b"\t")
    return Kept(job.decode(), Pointer(part.decode(), int(number)))


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
        self._cache: OrderedDict[str, list[DatumResult]] = OrderedDict()

    def read(self, key: str) -> list[DatumResult]:
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._fetch(key)
            while len(self._cache) > _CACHED_PARTS:
                self._cache.popitem(last=False)
        return found

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
