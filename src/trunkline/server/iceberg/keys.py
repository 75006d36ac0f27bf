"""Where Iceberg's readers find things: keys of the S3 door.

    <commit>/day/1.parquet                   a data file
    _iceberg/<commit>/<folder>/snap.avro     a snapshot: what its manifests are
    _iceberg/<commit>/<folder>/files-0.avro  a manifest: some of its files
    _iceberg/<commit>/<folder>/table.metadata.json
                                             the metadata of the table by then
    _iceberg/<commit>/file/<path>.parquet    a data file whose own name readers mistake

No branch can be called `_iceberg`, so nothing that people put is in the way. Folders and paths
are written in base64 there, since readers do not agree on what else to escape.

A table's own address is there, too. Clients that would write put files below it before they ask
the catalog, and there nothing can be put.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass

from trunkline.errors import InvalidPath
from trunkline.model.ids import is_id
from trunkline.model.paths import normalize_path

PREFIX = "_iceberg/"
SNAPSHOT = "snap.avro"
METADATA = "table.metadata.json"
_FILE = "file"
_plain = re.compile(r"[A-Za-z0-9/_.=@,-]+").fullmatch
_manifest = re.compile(r"files-[0-9]{1,6}\.avro").fullmatch


@dataclass(frozen=True, slots=True)
class Virtual:
    """A key that stands for something which is made on demand, or for a file by another name.

    `name` is that of an object of ours about the table in the folder `path`, or empty where
    `path` is a data file.
    """

    commit: str
    path: str
    name: str


def table_key(path: str) -> str:
    return f"{PREFIX}{_encoded(path)}"


def object_key(commit: str, path: str, name: str) -> str:
    return f"{PREFIX}{commit}/{_encoded(path)}/{name}"


def file_key(commit: str, path: str) -> str:
    if _plain(path):
        return f"{commit}{path}"
    return f"{PREFIX}{commit}/{_FILE}/{_encoded(path)}.parquet"


def parse_virtual(key: str) -> Virtual | None:
    """What a key of the S3 door stands for, if it is one of these."""
    if not key.startswith(PREFIX):
        return None
    commit, folder, name, *more = (*key.removeprefix(PREFIX).split("/"), "", "")
    if any(more) or not is_id(commit):
        return None
    try:
        if folder == _FILE:
            return Virtual(commit, _decoded(name.removesuffix(".parquet")), "")
        if name in (SNAPSHOT, METADATA) or _manifest(name):
            return Virtual(commit, _decoded(folder), name)
    except (ValueError, InvalidPath):
        pass
    return None


def _encoded(path: str) -> str:
    return "-" + urlsafe_b64encode(path.encode()).decode().rstrip("=")


def _decoded(text: str) -> str:
    if not text.startswith("-"):
        raise ValueError(text)
    coded = text[1:]
    path = urlsafe_b64decode(coded + "=" * (-len(coded) % 4)).decode()
    return path if path == "/" else normalize_path(path)
