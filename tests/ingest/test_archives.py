from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import tarfile
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from trunkline.errors import SourceUnreadable, TrunklineError, UnsafeArchive
from trunkline.ingests.archives import ArchiveLimits, iter_tar

FILES = {"/a.txt": b"a" * 10, "/d/b.bin": random.Random(1).randbytes(2_200_000), "/d/empty": b""}
COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def archive(*members: tuple[tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def sample() -> bytes:
    folder = member("./d", type=tarfile.DIRTYPE)
    return archive(folder, *(member("." + name, data) for name, data in FILES.items()))


def unpack(data: bytes, limits: ArchiveLimits | None = None) -> dict[str, bytes]:
    found = iter_tar(io.BytesIO(data), limits or ArchiveLimits())
    return {path: b"".join(chunks) for path, chunks, _ in found}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_compression(compression: str) -> None:
    assert unpack(COMPRESSIONS[compression](sample())) == FILES


def test_members_may_be_skipped() -> None:
    assert [(path, size) for path, _, size in iter_tar(io.BytesIO(sample()))] == [
        (path, len(data)) for path, data in FILES.items()
    ]


def test_long_and_foreign_names() -> None:
    name = "ü" * 100 + "/" + "x" * 200
    for format in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT):
        assert unpack(archive(member(name, b"1"), format=format)) == {"/" + name: b"1"}


HOSTILE = {
    "absolute": member("/etc/passwd", b"x"),
    "parent": member("../x", b"x"),
    "parent inside": member("a/../../x", b"x"),
    "parent folder": member("..", type=tarfile.DIRTYPE),
    "symbolic link": member("x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "harmless link": member("x", type=tarfile.SYMTYPE, linkname="a.txt"),
    "hard link": member("x", type=tarfile.LNKTYPE, linkname="a.txt"),
    "character device": member("x", type=tarfile.CHRTYPE),
    "block device": member("x", type=tarfile.BLKTYPE),
    "pipe": member("x", type=tarfile.FIFOTYPE),
    "backslash": member("..\\x", b"x"),
    "control character": member("a\x1b[2J", b"x"),
    "line end": member("a\nb", b"x"),
    "not UTF-8": member("caf\udce9", b"x"),
    "too long": member("x/" * 600 + "x", b"x"),
    "no name": member(".", b"x"),
    "sparse": member("x", b"x", pax_headers={"GNU.sparse.map": "0,1", "GNU.sparse.size": "1"}),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_members_are_refused(kind: str) -> None:
    format = tarfile.GNU_FORMAT if kind == "not UTF-8" else tarfile.PAX_FORMAT
    with pytest.raises(UnsafeArchive) as caught:
        unpack(archive(member("fine", b"1"), HOSTILE[kind], format=format))
    assert caught.value.message.isprintable()


def test_a_bad_member_is_named() -> None:
    with pytest.raises(UnsafeArchive, match=r'"a/\.\./\.\./x"'):
        unpack(archive(HOSTILE["parent inside"]))


@pytest.mark.parametrize("compression", ["gzip", "bzip2", "xz", "zstd"])
def test_bombs_are_refused(compression: str) -> None:
    bomb = COMPRESSIONS[compression](archive(member("zeros", bytes(8 << 20))))
    with pytest.raises(UnsafeArchive, match="times its size"):
        unpack(bomb, ArchiveLimits(ratio_from=1 << 20))


def test_caps() -> None:
    with pytest.raises(UnsafeArchive, match="more than 1,000,000 bytes"):
        unpack(sample(), ArchiveLimits(bytes=1_000_000))
    with pytest.raises(UnsafeArchive, match="more than 3 members"):
        unpack(sample(), ArchiveLimits(members=3))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_cut_archives_are_unreadable(compression: str) -> None:
    data = COMPRESSIONS[compression](sample().rstrip(b"\0") + bytes(1024))
    for part in (0, 0.1, 0.5, 0.99):
        with pytest.raises(SourceUnreadable):
            unpack(data[: int(len(data) * part)])


def test_a_cut_between_members_is_noticed() -> None:
    one = archive(member("a", b"1"))[:1024]
    with pytest.raises(SourceUnreadable):
        unpack(one)


def test_a_damaged_header_is_not_the_end() -> None:
    data = bytearray(archive(member("a", b"1"), member("b", b"2")))
    data[1024 + 10] ^= 0xFF
    with pytest.raises(SourceUnreadable, match="checksum"):
        unpack(bytes(data))


def test_a_damaged_compression_is_noticed() -> None:
    data = bytearray(gzip.compress(sample()))
    data[-6] ^= 0xFF
    with pytest.raises(SourceUnreadable):
        unpack(bytes(data))


def test_a_header_that_asks_for_memory_is_refused() -> None:
    info, _ = member("x", type=tarfile.GNUTYPE_LONGNAME)
    info.size = 8 << 30
    with pytest.raises(SourceUnreadable, match="header"):
        unpack(info.tobuf(tarfile.GNU_FORMAT) + bytes(4096))


def test_a_chain_of_headers_is_refused() -> None:
    info, _ = member("x", type=tarfile.GNUTYPE_LONGNAME)
    info.size = 1
    link = info.tobuf(tarfile.GNU_FORMAT) + b"y".ljust(512, b"\0")
    with pytest.raises(SourceUnreadable):
        unpack(link * 3000 + bytes(1024))


@settings(max_examples=150)
@given(
    st.binary(max_size=3000),
    st.sampled_from([b"", b"\x1f\x8b\x08", b"BZh9", b"\x28\xb5\x2f\xfd"]),
)
def test_noise_is_refused_in_our_own_words(noise: bytes, magic: bytes) -> None:
    with pytest.raises(TrunklineError):
        unpack(magic + noise + b"!")
