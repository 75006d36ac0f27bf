"""Tar archives as a stream of files. Nothing is unpacked to disk."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, NoReturn, Self, cast

from trunkline.errors import InvalidPath, SourceUnreadable, UnsafeArchive
from trunkline.model.paths import normalize_path
from trunkline.model.suggest import shown

CHUNK = 1 << 20
LARGEST_HEADER = 1 << 20
_HEADERS_IN_MEMORY = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """How much an archive may hold. A bomb passes none of them."""

    members: int = 10_000_000
    bytes: int = 1 << 40
    # Real data reaches 20 or 50; a megabyte of zeros reaches 1,000.
    ratio: int = 200
    # Small archives of repetitive text are harmless and may exceed the ratio.
    ratio_from: int = 64 << 20


DEFAULT_LIMITS = ArchiveLimits()

Member = tuple[str, Iterator[bytes], int]


def iter_tar(
    stream: BinaryIO, limits: ArchiveLimits = DEFAULT_LIMITS, *, name: str = "the archive"
) -> Iterator[Member]:
    """(path, chunks, size) of each file in turn; read the chunks before asking for the next.

    The compression (none, gzip, bzip2, xz, zstd) is told by the first bytes.
    """
    counted = _Counted(stream)
    plain = _Bounded(_decompressed(counted), counted, limits, name)
    seen = 0
    try:
        with tarfile.open(
            fileobj=cast("IO[bytes]", plain),
            mode="r|",
            bufsize=CHUNK,
            tarinfo=_StrictInfo,
            encoding="utf-8",
            errors="surrogateescape",
            errorlevel=2,
        ) as tar:
            for info in tar:
                seen += 1
                if seen > limits.members:
                    _refuse(name, f"has more than {limits.members:,} members")
                path = _checked(info, name)
                if info.isdir():
                    continue
                data = tar.extractfile(info)
                assert data is not None
                yield path, _chunks(data, info.size, name), info.size
        _read_on(plain)
    except _BROKEN as error:
        raise _broken(name, error) from None


_BROKEN = (
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    lzma.LZMAError,
    ValueError,
    RecursionError,  # a hostile chain of headers, each of which announces the next
)


def _checked(info: tarfile.TarInfo, name: str) -> str:
    member = shown(info.name)
    if info.issym() or info.islnk():
        _refuse(name, f"has a link: {member} to {shown(info.linkname)}")
    if not (info.isreg() or info.isdir()):
        _refuse(name, f"has a member that is no file: {member}")
    if info.issparse():
        _refuse(name, f"has a sparse file: {member}")
    if info.size < 0:
        _refuse(name, f"has a member of negative size: {member}")
    return safe_path(info.name, name, is_folder=info.isdir())


def safe_path(member: str, name: str, *, is_folder: bool) -> str:
    """The path of a member of the archive `name` below it, which none may leave."""
    if member.startswith("/"):
        _refuse(name, f"has a member with an absolute path: {shown(member)}")
    # "./a" and "a//b" are what tar writes for `tar c .`; only ".." means harm.
    parts = [part for part in member.split("/") if part not in ("", ".")]
    if ".." in parts:
        _refuse(name, f'has a member with ".." in its path: {shown(member)}')
    if not parts and not is_folder:
        _refuse(name, f"has a file without a name: {shown(member)}")
    try:
        return normalize_path("/" + "/".join(parts))
    except InvalidPath as error:
        raise UnsafeArchive(f"A member of {name} has a bad name. {error.message}") from None


def _chunks(data: IO[bytes], size: int, name: str) -> Iterator[bytes]:
    left = size
    try:
        while left:
            chunk = data.read(min(CHUNK, left))
            if not chunk:
                raise EOFError("it ends too early")
            left -= len(chunk)
            yield chunk
    except _BROKEN as error:
        raise _broken(name, error) from None


def _read_on(plain: _Bounded) -> None:
    """Read what follows the last member: the checksum of the compression is there."""
    while plain.read(CHUNK):
        pass


class _Counted:
    """The compressed bytes, counted, with a look ahead."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead = b""
        self.count = 0

    def peek(self, size: int) -> bytes:
        while len(self._ahead) < size and (more := self._stream.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead

    def read(self, size: int = -1) -> bytes:
        if self._ahead:
            size = len(self._ahead) if size < 0 else size
            data, self._ahead = self._ahead[:size], self._ahead[size:]
        else:
            data = self._stream.read(size)
        self.count += len(data)
        return data


class _StrictInfo(tarfile.TarInfo):
    """`tarfile` takes a damaged header for the end of the archive, and believes any size."""

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.HeaderError as error:
            if str(error) == "end of file header":
                raise
            raise tarfile.ReadError(str(error)) from None

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.size < 0:
            raise tarfile.ReadError("a size is negative")
        if info.type in _HEADERS_IN_MEMORY and info.size > LARGEST_HEADER:
            raise tarfile.ReadError(f"a header is {info.size:,} bytes long")
        return info


class _Bounded:
    """The plain bytes, refused once they are more than `limits` allow."""

    def __init__(
        self, plain: IO[bytes], counted: _Counted, limits: ArchiveLimits, name: str
    ) -> None:
        self._plain = plain
        self._counted = counted
        self._limits = limits
        self._name = name
        self._count = 0

    def read(self, size: int) -> bytes:
        data = self._plain.read(size)
        self._count += len(data)
        if self._count > self._limits.bytes:
            _refuse(self._name, f"unpacks to more than {self._limits.bytes:,} bytes")
        allowed = max(self._limits.ratio_from, self._counted.count * self._limits.ratio)
        if self._count > allowed:
            _refuse(self._name, f"unpacks to more than {self._limits.ratio} times its size")
        return data


def _decompressed(counted: _Counted) -> IO[bytes]:
    start = counted.peek(6)
    source = cast("IO[bytes]", counted)
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=source))
    if start.startswith(b"BZh"):
        return bz2.BZ2File(source)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(source)
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        import zstandard  # only here, so that a put of plain files does not pay for it

        reader = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
        return cast("IO[bytes]", _Zstd(reader, zstandard.ZstdError))
    return source


class _Zstd:
    """Errors of zstd as those of the standard library."""

    def __init__(self, reader: Any, error: type[Exception]) -> None:
        self._reader = reader
        self._error = error

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._reader.read(size))
        except self._error as error:
            raise OSError(str(error)) from None


def _broken(name: str, error: Exception) -> SourceUnreadable:
    reason = " ".join(str(error).split()) or type(error).__name__
    return SourceUnreadable(
        f"{name[0].upper()}{name[1:]} cannot be read as a tar archive: {reason}.",
        hint="Check that it is whole and of the kind its name says.",
    )


def _refuse(name: str, flaw: str) -> NoReturn:
    raise UnsafeArchive(
        f"{name[0].upper()}{name[1:]} {flaw}.", hint="Unpack and check it, then put the files."
    )
