"""Zip archives as a stream of files, under the limits of `archives`."""

from __future__ import annotations

import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, NoReturn

from trunkline.errors import SourceUnreadable, UnsafeArchive
from trunkline.ingests.archives import (
    CHUNK,
    DEFAULT_LIMITS,
    ArchiveLimits,
    Member,
    safe_path,
)
from trunkline.model.suggest import shown

_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Others are unpacked all at once, before anything can be counted."""
_BROKEN = (zipfile.BadZipFile, EOFError, OSError, zlib.error, NotImplementedError, ValueError)


def iter_zip(
    file: IO[bytes], limits: ArchiveLimits = DEFAULT_LIMITS, *, name: str = "the archive"
) -> Iterator[Member]:
    """(path, chunks, size) of each file in turn. `file` can be read from anywhere in it."""
    meter = _Meter(file.seek(0, os.SEEK_END), limits, name)
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if len(members) > limits.members:
                _refuse(name, f"has more than {limits.members:,} members")
            for info in members:
                path = _checked(info, name)
                if not info.is_dir():
                    yield path, _chunks(archive, info, meter, name), info.file_size
    except _BROKEN as error:
        raise _broken(name, error) from None


def _checked(info: zipfile.ZipInfo, name: str) -> str:
    member = shown(info.filename)
    if info.flag_bits & _ENCRYPTED:
        _refuse(name, f"has a member that is encrypted: {member}")
    if info.compress_type not in _METHODS:
        _refuse(name, f"has a member that is neither stored nor deflated: {member}")
    mode = info.external_attr >> 16
    if stat.S_ISLNK(mode):
        _refuse(name, f"has a link: {member}")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        _refuse(name, f"has a member that is no file: {member}")
    # Some programs of Windows write its own slashes.
    return safe_path(info.filename.replace("\\", "/"), name, is_folder=info.is_dir())


class _Meter:
    """Counts the plain bytes of all members, and refuses more than the limits allow."""

    def __init__(self, packed: int, limits: ArchiveLimits, name: str) -> None:
        self._limits = limits
        self._allowed = max(limits.ratio_from, packed * limits.ratio)
        self._name = name
        self._count = 0

    def add(self, count: int) -> None:
        self._count += count
        if self._count > self._limits.bytes:
            _refuse(self._name, f"unpacks to more than {self._limits.bytes:,} bytes")
        if self._count > self._allowed:
            _refuse(self._name, f"unpacks to more than {self._limits.ratio} times its size")


def _chunks(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, meter: _Meter, name: str
) -> Iterator[bytes]:
    try:
        with archive.open(info) as data:
            while chunk := data.read(CHUNK):
                meter.add(len(chunk))
                yield chunk
    except _BROKEN as error:
        raise _broken(name, error) from None


def _broken(name: str, error: Exception) -> SourceUnreadable:
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return SourceUnreadable(
        f"{name[0].upper()}{name[1:]} cannot be read as a zip archive: {reason}.",
        hint="Check that it is whole and of the kind its name says.",
    )


def _refuse(name: str, flaw: str) -> NoReturn:
    raise UnsafeArchive(
        f"{name[0].upper()}{name[1:]} {flaw}.", hint="Unpack and check it, then put the files."
    )
