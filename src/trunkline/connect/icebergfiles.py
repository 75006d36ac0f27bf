"""The files that a catalog of Iceberg leads to.

Where they are is told by the catalog and by what tables say of themselves: by others. So each
place is looked at before it is opened, and no class is called because somebody names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, OutputFile, load_file_io
from pyiceberg.io.pyarrow import PyArrowFileIO

from trunkline.errors import NotAllowed, Precondition
from trunkline.model.clients import ICEBERG, LOCATION_PROVIDER

CHECK = "trunkline.check-file"
_SCHEMES = ("s3", "s3a", "s3n", "gs", "gcs", "oss", "abfs", "abfss", "wasb", "wasbs")

CheckFile = Callable[[str], None]
"""Raises if a place is not to be touched: a path from the root, or an object's address."""


class CheckedFiles(FileIO):
    """The library's own ways to files, asked only for places that may be touched."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        super().__init__(dict(properties))
        self._check: CheckFile = properties[CHECK]
        self._ways: dict[str, FileIO] = {}

    def new_input(self, location: str) -> InputFile:
        return self._way(location).new_input(location)

    def new_output(self, location: str) -> OutputFile:
        return self._way(location).new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        place = location if isinstance(location, str) else location.location
        self._way(place).delete(place)

    def _way(self, location: str) -> FileIO:
        scheme, _, path = PyArrowFileIO.parse_location(location)
        if scheme == "file":
            self._check(os.path.abspath(path))
        elif scheme in _SCHEMES:
            self._check(location)
        else:
            raise NotAllowed(
                f"The catalog leads to {scheme}://, which is no store of tables.",
                hint="Have its files in s3://, gs:// or abfss://.",
            )
        if scheme not in self._ways:
            hidden = (PY_IO_IMPL, CHECK)
            known = {name: one for name, one in self.properties.items() if name not in hidden}
            self._ways[scheme] = load_file_io(known, location)
        return self._ways[scheme]


def checked(kind: type[Catalog], own: Mapping[str, Any], check: CheckFile) -> type[Catalog]:
    """The same kind of catalog, which takes of what it is answered only what others may set.

    `own` is what its user said, who was asked before.
    """
    base: Any = kind
    ours = {PY_IO_IMPL: f"{__name__}.{CheckedFiles.__name__}", CHECK: check}

    class Checked(base):  # type: ignore[misc]
        @property
        def properties(self) -> dict[str, Any]:
            return self._known

        @properties.setter
        def properties(self, given: Mapping[str, Any]) -> None:
            mine = {name: one for name, one in own.items() if name not in ICEBERG.plain}
            self._known = {**ICEBERG.kept(given), **mine, **ours}

        def _load_file_io(
            self, properties: Mapping[str, Any] | None = None, location: str | None = None
        ) -> FileIO:
            told = properties or {}
            if LOCATION_PROVIDER in told:
                raise Precondition(
                    f"The table has {LOCATION_PROVIDER}, which is code that is not called here.",
                    hint="Remove the property from the table.",
                )
            found: FileIO = super()._load_file_io(ICEBERG.kept(told), location)
            return found

    return Checked
