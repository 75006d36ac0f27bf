"""Profiles kept on this computer, by the content of the table. Only a memory: it may be deleted."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from blake3 import blake3

from trunkline.tables.comparing.sharing import identity
from trunkline.tables.describe import Table
from trunkline.tables.discovery.facts import cache_file

VERSION = 1
"""Part of every key: to be raised when profiles say something else."""

MOST_FILES = 200
MOST_BYTES = 64 * 1024 * 1024

Found = dict[str, dict[str, Any]]


def key_of(table: Table) -> str:
    """The same rows read in the same way have the same key, whatever commit they are of."""
    state = blake3(f"{VERSION}\n".encode())
    state.update(table.spec.encode())
    for entry in table.entries:
        state.update(repr(identity(entry)).encode())
    return state.hexdigest()[:32]


class ProfileCache:
    """What is known of columns, a file for each table. Nothing here raises."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or cache_file().parent / "profiles"

    def find(self, key: str) -> Found:
        path = self._folder / f"{key}.json"
        try:
            found = json.loads(path.read_bytes())
            os.utime(path)
        except (OSError, ValueError):
            return {}
        columns = found.get("columns") if isinstance(found, dict) else None
        if not isinstance(columns, dict) or found.get("key") != key:
            return {}
        return {name: one for name, one in columns.items() if isinstance(one, dict)}

    def keep(self, key: str, columns: Found) -> None:
        data = json.dumps({"key": key, "columns": columns}, ensure_ascii=False).encode()
        if len(data) > MOST_BYTES // 4:
            return
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(data)
                os.replace(name, self._folder / f"{key}.json")
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name)
            self._forget()

    def _forget(self) -> None:
        """Those not looked at for longest go first; also what a stopped process left behind."""
        held = [
            (one.stat().st_mtime, one.stat().st_size, one.path) for one in os.scandir(self._folder)
        ]
        size = 0
        for number, (_, bytes_, path) in enumerate(sorted(held, reverse=True), start=1):
            size += bytes_
            if number > MOST_FILES or size > MOST_BYTES:
                with contextlib.suppress(OSError):
                    os.unlink(path)
