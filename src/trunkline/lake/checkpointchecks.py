"""Whether the files of a checkpoint are what Spark wrote, as far as they tell by themselves."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from zlib import crc32

from trunkline.lake.checkpointfiles import LOGS, METADATA, Checkpoint, Damaged, second_line

_LZ4 = b"LZ4Block"
_LZ4_HEAD = struct.Struct("<8sBiii")
# LZ4, Zstandard, Snappy and LZF: what Spark can compress state with.
_CODECS = (_LZ4, b"\x28\xb5\x2f\xfd", b"\x82SNAPPY\x00", b"ZV")
_TABLE_END = bytes.fromhex("f7cff485b741e288")
_CRC = b"crc\x00"


def verify(checkpoint: Checkpoint, names: set[str]) -> None:
    """Raise `Damaged` for the first file that is empty or not what it should be."""
    for name in sorted(names):
        if checkpoint.sizes[name] == 0:
            raise Damaged(name, "is empty")
        try:
            _verify(checkpoint, name)
        except FileNotFoundError:
            raise Damaged(name, "is missing") from None
        except (ValueError, KeyError, TypeError):
            raise Damaged(name, "cannot be read") from None
    for name in sorted(names):
        folder, slash, last = name.rpartition("/")
        beside = f"{folder}{slash}.{last}.crc"
        if beside in checkpoint.sizes:
            _compare(checkpoint, name, checkpoint.read(beside))


def _verify(checkpoint: Checkpoint, name: str) -> None:
    if name == METADATA:
        str(json.loads(checkpoint.read(name))["id"])
    elif name.startswith(LOGS) or "/_metadata/v2/" in name or name.endswith("/_metadata/metadata"):
        second_line(checkpoint.read(name))
    elif name.endswith((".changelog", ".delta", ".snapshot")):
        _compressed(checkpoint.read(name))
    elif name.endswith(".zip"):
        for part, size in checkpoint.snapshot(name).items():
            if (found := checkpoint.sizes[part]) != size:
                raise Damaged(part, f"has {found} of {size} bytes")
    elif name.endswith(".sst"):
        path, size = checkpoint.folder + name, checkpoint.sizes[name]
        if checkpoint.files.tail(path, size, len(_TABLE_END)) != _TABLE_END:
            raise ValueError("no end of a table")


def _compressed(data: bytes) -> None:
    if not data.startswith(_CODECS):
        raise ValueError("no compressed stream")
    if not data.startswith(_LZ4):
        return
    at, length = 0, 1
    while at < len(data):
        try:
            magic, _, length, _, _ = _LZ4_HEAD.unpack_from(data, at)
        except struct.error:
            raise ValueError("half a block") from None
        if magic != _LZ4 or length < 0:
            raise ValueError("no block")
        at += _LZ4_HEAD.size + length
    # A stream that was closed ends with a block of nothing, and with that alone.
    if at != len(data) or length != 0:
        raise ValueError("no end")


def _compare(checkpoint: Checkpoint, name: str, said: bytes) -> None:
    """Against the checksums that Hadoop keeps of each piece of a file on a disk."""
    piece = int.from_bytes(said[4:8], "big")
    if not said.startswith(_CRC) or not 0 < piece <= 1 << 26 or len(said) % 4:
        raise Damaged(name, "has a checksum that cannot be read")
    expected = memoryview(said)[8:]
    found = b"".join(
        crc32(part).to_bytes(4, "big")
        for part in _pieces(checkpoint.files.stream(checkpoint.folder + name), piece)
    )
    if found != expected:
        raise Damaged(name, "has other bytes than Spark wrote")


def _pieces(stream: Iterator[bytes], length: int) -> Iterator[memoryview]:
    rest = b""
    for data in stream:
        whole = rest + data
        end = len(whole) - len(whole) % length
        view = memoryview(whole)
        for start in range(0, end, length):
            yield view[start : start + length]
        rest = whole[end:]
    if rest:
        yield memoryview(rest)
