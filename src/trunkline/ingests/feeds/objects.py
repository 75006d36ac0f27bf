"""Objects of a bucket, or files below a folder: each once, by copy or by reference.

A pass goes through the listing in the order of names and takes what the newest commit does not
know in this version, in batches. It goes on behind the last name of the batch before; the next
pass begins anew, since something may have come with any name. What was taken is remembered with
the data (see `taken`), so nothing but the place in the listing is held in memory.

By reference nothing is read: the commit lists where an object is, and that entry itself tells
that it was taken. The source has promised never to change one.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from trunkline.errors import Failed, InvalidPath, SourceChanged
from trunkline.ingests.feeds import reading, taken
from trunkline.ingests.feeds.base import (
    Feed,
    Gathered,
    Piece,
    Refused,
    Site,
    Stored,
    StoredEntry,
    Written,
)
from trunkline.ingests.feeds.taken import Known
from trunkline.ingests.feeds.unpacking import (
    archive_pieces,
    is_archive,
    is_hidden,
    spooled,
    stream_pieces,
)
from trunkline.lake.manifests import Tree
from trunkline.lake.this_machine import OwnObjects
from trunkline.model.entries import line_hash
from trunkline.model.paths import join, normalize_path
from trunkline.pipelines.globs import Glob
from trunkline.storage.objects.foreign import Found, VersionGone, open_bucket, split_url
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.outside import outside_of, stands_for

MOST_OBJECTS = 10_000
SETTLE = 1.0
"""A file on a disk may still be written to; an object of a bucket is there when it is whole."""
_AHEAD = 16
_SMALL = 4 << 20
_REMEMBERED = 10_000


@dataclass(slots=True)
class _Batch:
    objects: list[Found]
    done: dict[str, Found] = field(default_factory=dict)
    labels: dict[str, set[str]] = field(default_factory=dict)
    """Of an object that gives rows, or an archive: what its rows are labelled with."""
    referred: set[str] = field(default_factory=set)
    removed: list[str] = field(default_factory=list)
    cleared: list[str] = field(default_factory=list)


class ObjectsFeed(Feed):
    # The rows of an object can be replaced while they are apart, and what is not here stays so.
    may_compact = False

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        given = site.options
        self._place = split_url(str(given["url"]).rstrip("/") + "/")
        pattern = str(given.get("pattern", "*"))
        self._by_name = "/" not in pattern
        self._glob = Glob("/" + pattern)
        self._format = str(given.get("format", "auto"))
        self._reference = given.get("how", "copy") == "reference"
        self._unpack = given.get("archives", "keep") == "unpack"
        self._every = float(given.get("every", 60.0))
        self._settle = SETTLE if self._place.scheme == "file" else 0.0
        self._bucket = open_bucket(self._place.scheme, self._place.bucket, self._store_options())
        # A lake's own objects are no data, and gc removes them.
        self._own = OwnObjects(
            site.core, self._place, self._store_options(), given.get("options", {})
        )
        self._after = ""
        self._next_pass = 0.0
        self._listed = self._waiting = 0
        self._unsettled = False
        self._known: Tree | None = None
        self._empty: dict[str, str] = {}
        """Versions that gave nothing: no commit tells that they were looked at."""
        self._taken, self._bytes = 0, 0

    def _store_options(self) -> dict[str, str]:
        """Those of the lake's own S3, and over them what the source says of its bucket."""
        own = outside_of(self.site.core.objects).options if self._place.scheme == "s3" else {}
        secrets = {name: str(self.site.options[name]) for name, _ in self.site.source.secrets}
        return {**own, **self.site.options.get("options", {}), **secrets}

    # -- what the loop asks for ------------------------------------------------------------

    def gather(self, position: Mapping[str, Any], *, drain: bool) -> Gathered | None:
        self._known = None
        before, size = int(position.get("objects", 0)), int(position.get("bytes", 0))
        early = self._next_pass - time.monotonic()
        if not drain and not self._after and early > 0:
            self.site.stop.wait(min(early, 1.0))
            return None
        objects = self._look()
        if not objects and drain and self._unsettled:
            # What came just now may still be growing: one more look tells.
            self.site.stop.wait(self._settle)
            objects = self._look()
        if not objects:
            return None
        batch = _Batch(objects)
        end = dict(position)
        # Of what is told with the commit, it is a part.
        self._taken, self._bytes = before + len(objects), size + sum(one.size for one in objects)

        def noted(stored: Stored) -> dict[str, bytes]:
            done = batch.done.values()
            end.update(objects=before + len(done), bytes=size + sum(one.size for one in done))
            return self._noted(batch, stored)

        return Gathered(
            self._pieces(batch),
            end,
            origin=lambda: _objects(list(batch.done)),
            noted=noted,
            removed=batch.removed,
            cleared=batch.cleared,
            token=batch,
        )

    def committed(self, batch: Gathered, written: Written) -> None:
        done: _Batch = batch.token
        if written.commit is None and len(self._empty) < _REMEMBERED:
            self._empty.update((name, one.version) for name, one in done.done.items())

    def refused(self, batch: Gathered, error: Exception) -> None:
        # Perhaps it was committed all the same, or the branch moved: look at it all anew.
        self._after = ""

    def facts(self) -> Mapping[str, Any]:
        return {
            "listed": self._listed,
            "taken": self._taken,
            "waiting": self._waiting,
            "bytes": self._bytes,
        }

    @property
    def _tree(self) -> Tree:
        if self._known is None:
            self._known = self.site.head()
        return self._known

    # -- looking ---------------------------------------------------------------------------

    def _look(self) -> list[Found]:
        """The next objects of the pass that are to be taken, as many as a batch holds."""
        begins, full = not self._after, False
        if begins:
            self._listed, self._waiting, self._unsettled = 0, 0, False
            self._own.look_again()
        chosen: list[Found] = []
        size = 0
        prefix = self._place.key
        for found in self._bucket.list(prefix, self._after):
            self._listed += begins
            relative = found.key.removeprefix(prefix)
            if not self._matches(relative) or not self._wanted(relative, found):
                continue
            size += 0 if self._reference else found.size
            if chosen and (size > self.site.source.bytes or len(chosen) >= MOST_OBJECTS):
                full = True
                # Once in a pass all of it is counted, so that one can see how far it is.
                if not begins:
                    break
            if full:
                self._waiting += 1
            else:
                chosen.append(found)
        if not begins:
            self._waiting = max(0, self._waiting - len(chosen)) if full else 0
        self._after = chosen[-1].key if full else ""
        if not full:
            self._next_pass = time.monotonic() + self._every
        return chosen

    def _matches(self, relative: str) -> bool:
        if not relative or is_hidden(relative):
            return False
        name = relative.rpartition("/")[2] if self._by_name else relative
        return self._glob.matches("/" + name) and not self._own.has(self._place.key + relative)

    def _wanted(self, relative: str, found: Found) -> bool:
        match self._taken_as(relative, found):
            case Known.TAKEN:
                return False
            case Known.CHANGED if self._reference:
                url = self._place._replace(key=found.key).url
                raise Failed(
                    f"The object changed although it was declared immutable: {url}.",
                    hint="Put it back as it was, and what is new under a name of its own.",
                )
        if self._empty.get(relative) == found.version:
            return False
        if self._settle and time.time() - found.modified / 1e6 < self._settle:
            self._unsettled = True
            return False
        return True

    def _taken_as(self, relative: str, found: Found) -> Known:
        if not self._reference:
            return taken.known(self._tree, relative, (found.size, found.version))
        try:
            path = join(self.site.source.folder or "/", relative)
        except InvalidPath:
            return taken.known(self._tree, relative, (found.size, found.version))
        line = self._tree.find(path.encode())
        if line is None:
            return Known.NEW
        url = self._place._replace(key=found.key).url
        same = stands_for(line_hash(line).decode(), url, found)
        return Known.TAKEN if same else Known.CHANGED

    # -- reading ---------------------------------------------------------------------------

    def _pieces(self, batch: _Batch) -> Iterator[Piece]:
        if self._reference:
            for found in batch.objects:
                yield from self._referred(batch, found)
            return
        for found, ahead in self._fetched(batch.objects):
            yield from self._object(batch, found, ahead)

    def _referred(self, batch: _Batch, found: Found) -> Iterator[Piece]:
        relative = found.key.removeprefix(self._place.key)
        place = self._place._replace(key=found.key)
        try:
            path = normalize_path("/" + relative)
            outside = outside_of(self.site.core.objects)
            yield StoredEntry(path, lambda intake, at: outside.line(at, place, found))
            batch.referred.add(relative)
        except InvalidPath as error:
            yield Refused("", error.message, relative)
        batch.done[relative] = found

    def _object(
        self, batch: _Batch, found: Found, ahead: Future[list[bytes]] | None
    ) -> Iterator[Piece]:
        relative = found.key.removeprefix(self._place.key)
        known = taken.known(self._tree, relative, (found.size, found.version))
        try:
            path = normalize_path("/" + relative)
            chunks = iter(ahead.result()) if ahead is not None else self._read(found)
            archive = self._unpack and is_archive(relative)
            kind = self._format if self._format != "auto" else reading.kind_of(relative)
            if kind == "files" and not archive:
                yield StoredEntry(path, partial(_store, chunks))
            else:
                replaced = self._replaced(relative) if known is Known.CHANGED else []
                if replaced is None:
                    yield Refused("", _JOINED, relative)
                else:
                    batch.removed += replaced
                    labels = batch.labels[relative] = {relative}
                    if archive and known is Known.CHANGED:
                        batch.cleared.append(path)
                    yield from self._rows(chunks, relative, path, archive, labels)
        except FileNotFoundError:
            return  # gone since it was listed
        except InvalidPath as error:
            yield Refused("", error.message, relative)
        batch.done[relative] = found

    def _rows(
        self, chunks: Iterator[bytes], label: str, path: str, archive: bool, labels: set[str]
    ) -> Iterator[Piece]:
        most = self.site.source.bytes
        if not archive:
            yield from stream_pieces(chunks, label, path, self._format, most)
            return
        with spooled(chunks) as file:
            for member, piece in archive_pieces(file, label, path, self._format, most):
                labels.add(member)
                yield piece

    def _read(self, found: Found) -> Iterator[bytes]:
        """Its bytes; FileNotFoundError only if there are none of them."""
        done = 0
        try:
            for piece in self._bucket.read(found.key, found.version, 0, found.size):
                done += len(piece)
                yield piece
        except FileNotFoundError:
            if not done:
                raise
        except VersionGone:
            done = -1
        if done != found.size:
            url = self._place._replace(key=found.key).url
            raise SourceChanged(f"{url} changed while it was read.", hint="It is read again.")

    def _whole(self, found: Found) -> list[bytes]:
        return list(self._read(found))

    def _fetched(self, objects: list[Found]) -> Iterator[tuple[Found, Future[list[bytes]] | None]]:
        """The objects in their order; small ones are fetched while others are worked on."""
        waiting: deque[tuple[Found, Future[list[bytes]] | None]] = deque()
        with ThreadPoolExecutor(_AHEAD, "objects") as pool:
            try:
                for found in objects:
                    small = found.size <= _SMALL
                    ahead = pool.submit(self._whole, found) if small else None
                    waiting.append((found, ahead))
                    if len(waiting) > _AHEAD:
                        yield waiting.popleft()
                yield from waiting
            finally:
                for _, ahead in waiting:
                    if ahead is not None:
                        ahead.cancel()

    def _replaced(self, relative: str) -> list[str] | None:
        """The files of the table that a changed object takes the place of."""
        return taken.parts(self.site.core, self._tree, relative)

    def _noted(self, batch: _Batch, stored: Stored) -> dict[str, bytes]:
        found = {
            taken.taken_path(relative): taken.mark((one.size, one.version))
            for relative, one in batch.done.items()
            if relative not in batch.referred
        }
        for relative, labels in batch.labels.items():
            paths = [path for label in labels for path in stored.parts.get(label, ())]
            found[taken.parts_path(relative)] = taken.parts_data(paths)
        return found


_JOINED = (
    "changed after its rows were joined with others, so they cannot be replaced: they stay as "
    "they were"
)


def _store(chunks: Iterator[bytes], intake: Intake, path: str) -> bytes:
    try:
        return intake.add_stream(path, chunks)
    except FileNotFoundError:
        raise SourceChanged(
            f"{path} is gone since it was listed.", hint="It is left out."
        ) from None


def _objects(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names):,} objects"
