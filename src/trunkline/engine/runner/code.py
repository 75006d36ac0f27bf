"""The files that travel with a pipeline, on the disk of this worker."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from blake3 import blake3

from trunkline import errors
from trunkline.engine.runner.failure import disk_error
from trunkline.engine.runner.inputs import InputReader
from trunkline.engine.runner.workspace import Workspace, remove_tree
from trunkline.model.entries import FileBytes

_FILE_MODE = 0o555


@dataclass(slots=True)
class Code:
    """A version of a pipeline's code. `folder` is "" if it has none."""

    folder: str = ""
    links: dict[str, str] = field(default_factory=dict)


_codes: dict[tuple[str, str], Code] = {}


def code_folder(
    space: Workspace, reader: InputReader, lines: tuple[str, ...], code_hash: str
) -> Code:
    """The code on disk, written once in a process for each version."""
    if not lines:
        return Code()
    name = blake3("\n".join((code_hash, *lines)).encode()).hexdigest()[:32]
    found = _codes.get((space.path, name))
    if found is None or not os.path.isdir(found.folder):
        try:
            found = _write(f"{space.path}/code-{name}", reader, lines)
        except OSError as error:
            raise disk_error(error, space.path) from None
        _codes[space.path, name] = found
    return found


def _write(folder: str, reader: InputReader, lines: tuple[str, ...]) -> Code:
    code = Code(folder)
    if os.path.isdir(folder):
        remove_tree(folder)
    os.mkdir(folder)
    for line in lines:
        fields = FileBytes.decode(line)
        parts = fields.path.split("/")[1:]
        if any(part in ("", ".", "..") for part in parts):
            raise errors.InvalidPath(f"{fields.path!r} would be written outside of its folder.")
        target = folder + fields.path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        data = reader.read(fields)
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _FILE_MODE)
        with open(fd, "wb") as stream:
            stream.write(data)
        code.links[parts[0]] = f"{folder}/{parts[0]}"
    return code
