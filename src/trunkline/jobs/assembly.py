"""The output of a job: what its datums wrote, on top of what the others wrote before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from trunkline.errors import Conflict
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core
from trunkline.lake.files import read
from trunkline.lake.manifests import Tree
from trunkline.model.entries import Entry, line_path
from trunkline.storage.objects.intake import Intake


class OutputClash(Conflict):
    """Two datums wrote one path: found before anything is published."""

    code = "output_clash"

    def __init__(self, path: str, first: str, second: str) -> None:
        super().__init__(
            f"Two datums wrote {path}: {first} and {second}.",
            hint="Give each datum a path of its own, or set merge: concat.",
        )
        self.path = path
        self.owners = (first, second)


def owner_of(line: bytes) -> str:
    return Entry.decode(line).owner


class Assembly:
    """Changes to the base output, datum by datum."""

    def __init__(self, base: Tree) -> None:
        self._base = base
        self.changes = Changes()
        self._owners: dict[bytes, str] = {}
        self._clash: OutputClash | None = None

    def drop(self, outputs: Iterable[str]) -> None:
        """A datum is gone, or runs again: what it wrote goes first."""
        for text in outputs:
            self.changes.removed_files.add(line_path(text.encode()))

    def add(self, datum_id: str, outputs: Iterable[str]) -> None:
        """What a datum wrote. A clash is kept for `check`: the results of others count first."""
        for text in outputs:
            line = text.encode()
            path = line_path(line)
            other = self._owners.get(path)
            if other is not None and other != datum_id:
                self._clash = self._clash or OutputClash(path.decode(), other, datum_id)
            self._owners[path] = datum_id
            self.changes.puts[path] = line

    def kept(self, folder: str) -> Iterator[bytes]:
        """The lines of a folder of the base that stay as they are."""
        for line in self._base.scan(f"/{folder}".rstrip("/").encode() + b"/"):
            path = line_path(line)
            if path not in self.changes.puts and not self.changes.removes(path):
                yield line

    def check(self) -> None:
        """Refuse paths of two datums, also of one that did not run this time."""
        if self._clash is not None:
            raise self._clash
        if not self._base.files:
            return
        for path, owner in self._owners.items():
            if path in self.changes.removed_files:
                continue
            there = self._base.find(path)
            if there is not None and (other := owner_of(there)) != owner:
                raise OutputClash(path.decode(), other, owner)


def concatenated(core: Core, intake: Intake, outputs: Iterable[str]) -> Changes:
    """All outputs, given in the order of their datums; pieces of one path are joined."""
    pieces: dict[bytes, list[bytes]] = {}
    for text in outputs:
        line = text.encode()
        pieces.setdefault(line_path(line), []).append(line)
    changes = Changes()
    changes.remove(b"/")
    for path, lines in pieces.items():
        if len(lines) == 1:
            changes.puts[path] = lines[0]
            continue
        streams = [read(core, Entry.decode(line)) for line in lines]
        changes.puts[path] = intake.add_stream(path.decode(), chain.from_iterable(streams))
    intake.close()
    return changes
