"""Checkpoints laid out as Spark does, with files that are what they should be, without Spark."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from zlib import crc32

from trunkline.storage.objects.local import LocalStore
from trunkline.storage.objects.loose import loose
from trunkline.storage.objects.port import ObjectStore

STORES = ("default", "left")
PARTITIONS = 2
TABLE_END = bytes.fromhex("f7cff485b741e288")


def places(operator: int = 0) -> list[str]:
    return [
        f"state/{operator}/{part}" + ("" if store == "default" else f"/{store}")
        for store in STORES
        for part in range(PARTITIONS)
    ]


def table(place: str, number: int) -> str:
    """A table that the snapshots of some versions share."""
    return f"{place}/SSTs/{number:06}-a.sst"


def tables_of(place: str, version: int) -> list[str]:
    """The tables of a snapshot: one of its own, one shared with its neighbours."""
    return [table(place, version), table(place, 1000 + version // 4)]


def files_of(
    folder: str, batches: int, snapshots: Iterable[int], scheme: str = "file"
) -> dict[str, bytes]:
    """All files of a checkpoint after so many batches, with whole versions at `snapshots`."""
    files = {"metadata": b'{"id":"9aec592e-7adf-4fd4-8b5e-365efde573ec"}'}
    for batch in range(batches):
        files[f"offsets/{batch}"] = b'v1\n{"batchWatermarkMs":%d}\n%d' % (batch, batch + 1)
        files[f"commits/{batch}"] = b'v1\n{"nextBatchWatermarkMs":%d}' % batch
    for operator in (0, 1):
        stores = [
            {
                "storeName": name,
                "numPartitions": PARTITIONS,
                "stateSchemaFilePaths": [
                    f"{scheme}:/old/place/{folder}/state/{operator}/_stateSchema/{name}/{batch}_a"
                    for batch in (0, 3)
                ],
            }
            for name in STORES
        ]
        said = json.dumps({"stateStoreInfo": stores}).encode()
        above = f"state/{operator}"
        if operator == 0:
            files[f"{above}/_metadata/metadata"] = b"v1\n" + said
        else:
            for batch in (0, 3):
                files[f"{above}/_metadata/v2/{batch}"] = b"v2\n" + said
                for name in STORES:
                    files[f"{above}/_stateSchema/{name}/{batch}_a"] = b"schema %d" % batch
        for place in places(operator):
            files[f"{place}/_metadata/schema"] = b"\x00\x02v2schema"
            for version in range(1, batches + 1):
                files[f"{place}/{version}.changelog"] = compressed(b"%d" % version * 40)
                if version in snapshots:
                    files |= snapshot(place, version)
    return files


def snapshot(place: str, version: int) -> dict[str, bytes]:
    names = tables_of(place, version)
    files = {name: name.encode() * 30 + TABLE_END for name in names}
    said = [
        {"dfsSstFileName": name.rpartition("/")[2], "sizeBytes": len(files[name])} for name in names
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("CURRENT", "MANIFEST-000005\n")
        zipped.writestr("metadata", "v1\n" + json.dumps({"sstFiles": said}))
    return {**files, f"{place}/{version}.zip": packed.getvalue()}


def compressed(data: bytes) -> bytes:
    """A stream of LZ4 blocks: one that is stored as it is, and the end."""
    block = struct.pack("<8sBiii", b"LZ4Block", 0x15, len(data), len(data), 1)
    return block + data + struct.pack("<8sBiii", b"LZ4Block", 0x15, 0, 0, 0)


def hadoop_crc(data: bytes) -> bytes:
    pieces = (data[start : start + 512] for start in range(0, len(data), 512))
    return b"crc\x00\x00\x00\x02\x00" + b"".join(crc32(p).to_bytes(4, "big") for p in pieces)


def make(store: ObjectStore, folder: str, batches: int, snapshots: Iterable[int] = ()) -> None:
    files = files_of(folder, batches, set(snapshots))
    if isinstance(store, LocalStore):
        for name, data in list(files.items()):
            above, slash, last = name.rpartition("/")
            files[f"{above}{slash}.{last}.crc"] = hadoop_crc(data)
        for name, data in files.items():
            path = Path(store.root, folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return
    loose(store).write({f"{folder}/{name}": data for name, data in files.items()})


def content(store: ObjectStore, folder: str) -> dict[str, bytes]:
    files = loose(store)
    return {
        info.key.removeprefix(folder + "/"): files.read(info.key)
        for info in files.list(folder + "/")
    }


def loaded(files: dict[str, bytes], place: str, version: int) -> set[str]:
    """What Spark reads to load a version, told from the names alone; KeyError if it cannot."""
    whole = [n for n in range(1, version + 1) if f"{place}/{n}.zip" in files]
    start = max(whole, default=0)
    names = {f"{place}/{n}.changelog" for n in range(start + 1, version + 1)}
    if start:
        names |= {f"{place}/{start}.zip", *tables_of(place, start)}
    for name in names:
        files[name]
    return names
