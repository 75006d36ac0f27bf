"""What lies in the folder of a Spark checkpoint, and which of it a batch needs.

    metadata                                        the id of the query
    offsets/B  commits/B                            what batch B reads; that it is done
    state/OP/_metadata/metadata                     stores and partitions of an operator
    state/OP/_metadata/v2/B  _stateSchema/…/B_ID    the same, where its schemas may change
    state/OP/PART/[STORE/]V.changelog  V.zip        what version V changed; all of version V
    state/OP/PART/[STORE/]SSTs/…                    the tables that zips name (V.delta and
                                                    V.snapshot with Spark's other provider)

Batch B leaves version B + 1 of every store. To load it takes the newest whole version up to it
and what each version after that changed. Beside any file may lie a checksum: `.NAME.crc` of a
local folder, `NAME.crc` of Spark itself.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from trunkline.storage.objects.loose import LooseFiles

METADATA = "metadata"

LOGS = ("offsets", "commits")

_OPERATOR = re.compile(r"state/(\d+)/(_metadata|_stateSchema)/(.+)\Z")
_LOGGED = re.compile(r"(?:offsets|commits)/(\d+)\Z")
_NUMBERED = re.compile(r"(?:.*/)?(\d+)(?:_[^/]*)?\Z")
_STORE = re.compile(r"(state/\d+/\d+(?:/(?!SSTs/|logs/|_)[^/]+)?)/(.+)\Z")
_WHOLE = re.compile(r"(\d+)\.(?:zip|snapshot)\Z")
_CHANGE = re.compile(r"(\d+)\.(?:changelog|delta)\Z")


class Damaged(Exception):
    """A file that a batch needs is missing or cannot be read: its name, and what is wrong."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(f"{name} {what}")
        self.name, self.what = name, what


@dataclass
class Store:
    """The files of one state store, of one partition."""

    whole: dict[int, str] = field(default_factory=dict)
    changes: dict[int, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


class Checkpoint:
    """A checkpoint as it is listed. Names are relative to its folder."""

    def __init__(self, files: LooseFiles, folder: str) -> None:
        self.files = files
        self.folder = folder.rstrip("/") + "/"
        start = len(self.folder)
        self.sizes = {info.key[start:]: info.size for info in files.list(self.folder)}
        self._snapshots: dict[str, dict[str, int]] = {}
        self._stores: dict[str, list[tuple[str, int]]] = {}

    def read(self, name: str) -> bytes:
        return self.files.read(self.folder + name)

    @cached_property
    def stores(self) -> dict[str, Store]:
        found: dict[str, Store] = {}
        for name in self.sizes:
            if not (match := _STORE.match(name)) or name.endswith(".crc"):
                continue
            place, rest = match[1], match[2]
            store = found.setdefault(place, Store())
            if version := _WHOLE.match(rest):
                store.whole[int(version[1])] = name
            elif version := _CHANGE.match(rest):
                store.changes[int(version[1])] = name
            elif not rest.startswith(("SSTs/", "logs/")) and not is_hidden(rest):
                store.others.append(name)
        return found

    def needed(self, batch: int) -> set[str]:
        """The files without which the state after `batch` cannot be loaded; no checksums."""
        names = {METADATA}
        names |= {f"{log}/{n}" for log in LOGS for n in (batch, batch - 1) if n >= 0}
        if not self._descriptions:
            raise Damaged("state/0/_metadata", "is missing")
        for operator in range(max(self._descriptions) + 1):
            names |= self._described(operator, batch)
            for place in self._places(operator, batch):
                names |= self._loaded(place, batch + 1)
        for name in sorted(names - self.sizes.keys()):
            raise Damaged(name, "is missing")
        return names

    def with_checksums(self, names: set[str]) -> set[str]:
        """The files, and the checksums that lie beside them."""
        return names | {n for name in names for n in checksums(name)} & self.sizes.keys()

    def snapshot(self, name: str) -> dict[str, int]:
        """The files that a snapshot names, with their sizes. Only zips name any."""
        if name not in self._snapshots:
            self._snapshots[name] = self._read_zip(name) if name.endswith(".zip") else {}
        return self._snapshots[name]

    def logged(self, name: str) -> int | None:
        """The batch whose offsets or commit a file holds."""
        match = _LOGGED.match(name)
        return int(match[1]) if match else None

    def description(self, operator: int, batch: int) -> str:
        """The file that says what an operator keeps, as of a batch."""
        folder = f"state/{operator}/_metadata/"
        known = self._descriptions.get(operator, [])
        upto = [n for name, n in known if n <= batch and name.startswith(f"{folder}v2/")]
        return f"{folder}v2/{max(upto)}" if upto else f"{folder}metadata"

    @cached_property
    def _descriptions(self) -> dict[int, list[tuple[str, int]]]:
        """The files that describe each operator, and the batch each came with; -1 is any."""
        found: dict[int, list[tuple[str, int]]] = {}
        for name in self.sizes:
            match = _OPERATOR.match(name)
            if match and not is_hidden(name) and not name.endswith(".crc"):
                number = _NUMBERED.match(match[3])
                since = int(number[1]) if number else -1
                found.setdefault(int(match[1]), []).append((name, since))
        return found

    def _described(self, operator: int, batch: int) -> set[str]:
        """What describes an operator; nothing that came after the batch."""
        known = self._descriptions.get(operator, [])
        return {self.description(operator, batch), *(name for name, n in known if n <= batch)}

    def _places(self, operator: int, batch: int) -> list[str]:
        """The folders that the stores of an operator must have."""
        name = self.description(operator, batch)
        if name not in self._stores:
            self._stores[name] = self._read_stores(name)
        return [
            f"state/{operator}/{partition}" + ("" if store == "default" else f"/{store}")
            for store, partitions in self._stores[name]
            for partition in range(partitions)
        ]

    def _read_stores(self, name: str) -> list[tuple[str, int]]:
        """The stores of an operator, and how many partitions each has."""
        if name not in self.sizes:
            raise Damaged(name, "is missing")
        try:
            said = second_line(self.read(name))["stateStoreInfo"]
            return [(str(store["storeName"]), int(store["numPartitions"])) for store in said]
        except (ValueError, KeyError, TypeError):
            raise Damaged(name, "cannot be read") from None

    def _loaded(self, place: str, version: int) -> set[str]:
        """What is read to load a version of a store."""
        store = self.stores.get(place, Store())
        start = max((number for number in store.whole if number <= version), default=0)
        names = set(store.others)
        if start:
            whole = store.whole[start]
            names |= {whole, *self.snapshot(whole)}
        for number in range(start + 1, version + 1):
            if number not in store.changes:
                raise Damaged(f"{place}/{number}.changelog", "is missing")
            names.add(store.changes[number])
        return names

    def _read_zip(self, name: str) -> dict[str, int]:
        folder = name.rpartition("/")[0]
        try:
            with zipfile.ZipFile(io.BytesIO(self.read(name))) as zipped:
                if (bad := zipped.testzip()) is not None:
                    raise Damaged(name, f"has wrong bytes in its {bad}")
                said = second_line(zipped.read("metadata"))
            found = {
                f"{folder}/SSTs/{one['dfsSstFileName']}": int(one["sizeBytes"])
                for one in said["sstFiles"]
            }
            for one in said.get("logFiles") or ():
                found[f"{folder}/logs/{one['dfsLogFileName']}"] = int(one["sizeBytes"])
            return found
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError):
            raise Damaged(name, "cannot be read") from None


def second_line(data: bytes) -> dict[str, Any]:
    """The JSON in a file of Spark, below the line with the version of its format."""
    version, _, rest = data.partition(b"\n")
    if not re.fullmatch(rb"v\d+", version):
        raise ValueError("no version")
    found = json.loads(rest.partition(b"\n")[0])
    if not isinstance(found, dict):
        raise ValueError("no object")
    return found


def checksums(name: str) -> list[str]:
    """The names of the checksums of a file, and of their own."""
    folder, slash, last = name.rpartition("/")
    return [
        f"{folder}{slash}{beside}" for beside in (f".{last}.crc", f"{last}.crc", f".{last}.crc.crc")
    ]


def is_hidden(name: str) -> bool:
    return name.rpartition("/")[2].startswith(".")
