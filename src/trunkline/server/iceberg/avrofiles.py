"""A snapshot in Iceberg's own files: a list of manifests, and manifests that list data files.

They are made in memory from our manifest of the commit, and the same commit makes the same bytes:
readers fetch them piece by piece, and not all pieces need come from one server.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from itertools import islice
from typing import TYPE_CHECKING, Any

from trunkline.lake.core import Core
from trunkline.model.commits import Commit
from trunkline.model.entries import line_path
from trunkline.model.tables import ScanFile
from trunkline.server.iceberg.bounds import Bounds, Metrics
from trunkline.server.iceberg.keys import SNAPSHOT
from trunkline.server.iceberg.locations import file_location, object_location
from trunkline.server.iceberg.metadata import FORMAT_VERSION, spec_of
from trunkline.server.iceberg.names import Place
from trunkline.server.iceberg.shapes import Shape, path_columns
from trunkline.server.iceberg.types import fields_of
from trunkline.server.iceberg.versions import own_differences, snapshot_id
from trunkline.tables.describe import Table, describe

if TYPE_CHECKING:
    from pyiceberg.manifest import (
        ManifestEntry,
        ManifestFile,
        ManifestListWriter,
        ManifestWriter,
    )

FILES_IN_A_MANIFEST = 4000


def avro_files(core: Core, place: Place, commit: Commit, before: Commit | None) -> dict[str, bytes]:
    """All files of a snapshot, by name. `before` is the commit's first parent."""
    table = describe(core, core.tree(commit), place.path, f"{place.repo}@{commit.short_id}")
    fresh = {
        line_path(new).decode()
        for _, new in own_differences(core, before, commit, place.path)
        if new is not None
    }
    return _Snapshot(place, commit, table, fresh).files()


class _Snapshot:
    def __init__(self, place: Place, commit: Commit, table: Table, fresh: set[str]) -> None:
        from pyiceberg.partitioning import PartitionSpec
        from pyiceberg.schema import Schema

        self._place, self._commit, self._table, self._fresh = place, commit, table, fresh
        self._id = snapshot_id(commit.id)
        self._path_columns = path_columns(table)
        shape = Shape(table.schema, self._path_columns, 0, 0, 0)
        self._schema = Schema.model_validate({"type": "struct", "fields": fields_of(table.schema)})
        self._spec = PartitionSpec.model_validate(spec_of(shape))
        self._bounds = Bounds(table.schema, self._schema)

    def files(self) -> dict[str, bytes]:
        made: dict[str, bytes] = {}
        listed: list[ManifestFile] = []
        entries = self._entries()
        while some := list(islice(entries, FILES_IN_A_MANIFEST)):
            name = f"files-{len(listed)}.avro"
            described, made[name] = self._manifest(name, some)
            listed.append(described)
        made[SNAPSHOT] = self._list(listed)
        return made

    def _entries(self) -> Iterator[ManifestEntry]:
        from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus

        for scan in self._table.scans:
            for file in scan.files:
                is_fresh = file.path in self._fresh
                yield ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED if is_fresh else ManifestEntryStatus.EXISTING,
                    snapshot_id=self._id,
                    sequence_number=self._commit.generation,
                    file_sequence_number=self._commit.generation,
                    data_file=self._data_file(file),
                )

    def _data_file(self, file: ScanFile) -> Any:
        from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
        from pyiceberg.typedef import Record

        metrics: Metrics = self._bounds.of(file)
        return DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=file_location(self._place.repo, self._commit.id, file.path),
            file_format=FileFormat.PARQUET,
            partition=Record(*self._bounds.values(self._path_columns, self._place.path, file)),
            record_count=file.rows or 0,
            file_size_in_bytes=file.size,
            value_counts=metrics.values,
            null_value_counts=metrics.nulls,
            lower_bounds=metrics.lower,
            upper_bounds=metrics.upper,
            sort_order_id=0,
        )

    def _manifest(self, name: str, entries: list[ManifestEntry]) -> tuple[ManifestFile, bytes]:
        from pyiceberg.manifest import write_manifest

        output = _in_memory(self._location(name))
        writer = write_manifest(FORMAT_VERSION, self._spec, self._schema, output, self._id, "null")
        with writer:
            for entry in entries:
                writer.add_entry(entry)
        return writer.to_manifest_file(), self._repeatable(output, writer)

    def _list(self, manifests: list[ManifestFile]) -> bytes:
        from pyiceberg.manifest import write_manifest_list

        output = _in_memory(self._location(SNAPSHOT))
        writer = write_manifest_list(
            FORMAT_VERSION, output, self._id, None, self._commit.generation, "null"
        )
        with writer:
            if manifests:
                writer.add_manifests(manifests)
        return self._repeatable(output, writer)

    def _repeatable(self, output: Any, writer: ManifestWriter | ManifestListWriter) -> bytes:
        """The file, with marks between its blocks that are not made of chance."""
        random = writer._writer.sync_bytes
        mark = sha256(f"{self._commit.id}:{self._place.path}".encode()).digest()[: len(random)]
        data: bytes = output.data
        return data.replace(random, mark)

    def _location(self, name: str) -> str:
        return object_location(self._place.repo, self._commit.id, self._place.path, name)


def _in_memory(location: str) -> Any:
    """A file to write to that is nowhere but here: its bytes are `data`."""
    from pyiceberg.io import InputFile, OutputFile

    class Memory(OutputFile):
        data = b""

        def __len__(self) -> int:
            return len(self.data)

        def exists(self) -> bool:
            return bool(self.data)

        def to_input_file(self) -> InputFile:
            raise NotImplementedError("nobody reads it from here")

        def create(self, overwrite: bool = False) -> Stream:
            return Stream(self)

    class Stream(BytesIO):
        def __init__(self, file: Memory) -> None:
            super().__init__()
            self._file = file

        def close(self) -> None:
            if not self.closed:
                self._file.data = self.getvalue()
            super().close()

    return Memory(location)
