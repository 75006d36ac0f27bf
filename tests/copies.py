"""Copies of a lake that was made once: each is taken for the lake itself, not for a copy of it."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path


def copy_lake(
    lake: Path | str, folder: Path, *, symlinks: bool = False, dirs_exist_ok: bool = False
) -> Path:
    """The folder with a lake, or with several below it."""
    shutil.copytree(lake, folder, symlinks=symlinks, dirs_exist_ok=dirs_exist_ok)
    for catalog in folder.glob("**/.trunkline/catalog.db"):
        with closing(sqlite3.connect(catalog)) as connection, connection:
            connection.execute("DELETE FROM meta WHERE name = 'seat'")
    return folder
