"""Where in the lake is this patient? Every version of every file is opened, and every object read.

    python find_patient.py incoming/patients/subject=S0007/patient.json

The file says whom to look for: the name, the number of the record, and the subject's id by the
name of its folder.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as parquet
import zstandard

import trunkline as tl
from trunkline.errors import Erased


def main() -> None:
    parser = argparse.ArgumentParser(description="Where in the lake is this patient?")
    parser.add_argument("card", type=Path, help="the file with name and number of the patient")
    card = parser.parse_args().card
    about = json.loads(card.read_text(encoding="utf-8"))
    subject = card.parent.name.removeprefix("subject=")
    words = {"name": about["name"], "number": about["mrn"], "id": subject}
    with tl.open() as lake:
        look_into_files(lake, words)
    look_into_store(Path(".trunkline"), words)


def look_into_files(lake: tl.Lake, words: dict[str, str]) -> None:
    """All versions of all files, as anybody could read them."""
    found: Counter[str] = Counter()
    read: set[str] = set()
    erased: set[tuple[str, str, str]] = set()
    for repo in lake.repos(system=True):
        for commit in lake.history(str(repo.name)):
            for file in lake.ls(f"{repo.name}@{commit.id}", recursive=True, hidden=True):
                if file.path.endswith("/") or file.hash in read:
                    continue
                try:
                    content = text_of(lake.read(f"{repo.name}@{commit.id}:{file.path}"), file.path)
                except Erased:
                    erased.add((str(repo.name), file.path, file.hash))
                    continue
                read.add(file.hash)
                says = f"subject={words['id']}/" in file.path
                if says or any(word in content for word in words.values()):
                    found[str(repo.name)] += 1
    print(f"Read {len(read)} versions of files; {len(erased)} more were erased.")
    for name, count in sorted(found.items()):
        print(f"  {name}: {count} of {words['id']}")
    print("  none is of the patient" if not found else f"  {found.total()} are of the patient")


def text_of(data: bytes, path: str) -> str:
    """What is in a file, packed or not."""
    if path.endswith(".parquet"):
        return str(parquet.read_table(io.BytesIO(data)).to_pylist())
    return data.decode("utf-8", errors="replace")


def look_into_store(folder: Path, words: dict[str, str]) -> None:
    """The bytes on the disk, as a thief would read them: packed, and unpacked where they can be.

    Lists of old commits still have the paths, and so the subject's id, but neither name nor number.
    """
    files = [Path(top, name) for top, _, names in os.walk(folder) for name in names]
    named = {words["name"].encode(), words["number"].encode()}
    hits = [file for file in files if any(word in every_form(file) for word in named)]
    where = "in " + ", ".join(sorted({f.relative_to(folder).parts[0] for f in hits}))
    where = where if hits else "nowhere"
    print(f"On disk, unpacked: name and number are found {where}.")
    rows = [file for file in files if file.suffix == ".parquet"]
    count = sum(words["id"].encode() in every_form(file) for file in rows)
    print(f"  {words['id']} is in {count} files of tables")
    value = f'"{words["id"]}"'.encode()
    lists = sum(value in every_form(file) for file in files if file.suffix in (".tlm", ".part"))
    print(f"  and a least or greatest value of a column in {lists} lists of files")


def every_form(file: Path) -> bytes:
    data = file.read_bytes()
    if file.suffix == ".parquet":
        return data + text_of(data, file.name).encode()
    if data[:4] == zstandard.FRAME_HEADER:
        return data + zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data


if __name__ == "__main__":
    main()
