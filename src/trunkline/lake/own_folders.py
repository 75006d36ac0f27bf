"""Folders that are a lake's own: its catalog, its keys, its objects.

Nothing is put from there, written to there, or taken in from there: a lake that is copied into
itself has the keys of its server in a repo, and one that a file is written into is lost.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from trunkline.errors import Precondition
from trunkline.settings import LAKE_FILE

MARK = "lake.json"
"""What the store of a lake holds to say whose it is."""
SIGNS = frozenset((LAKE_FILE, MARK))
"""Names that only a lake's own folder has at its top; what is in them decides."""


def is_own(folder: str | os.PathLike[str]) -> bool:
    """Whether the folder is that of a lake, or the store of one."""
    return _says(folder, LAKE_FILE, tomllib.loads, "catalog", "store") or _says(
        folder, MARK, json.loads, "lake", "generation"
    )


def own_folder(path: str | os.PathLike[str]) -> Path | None:
    """The lake's own folder that a path is or lies in, wherever links lead."""
    real = Path(os.path.realpath(path))
    return next((one for one in (real, *real.parents) if is_own(one)), None)


def refuse_own(path: str | os.PathLike[str]) -> None:
    found = own_folder(path)
    if found is not None:
        raise Precondition(
            f"{os.fspath(path)} is in {found}, where a lake keeps its own files.",
            hint="Name another folder.",
        )


def _says(
    folder: str | os.PathLike[str],
    name: str,
    read: Callable[[str], Any],
    *keys: str,
) -> bool:
    try:
        told = read(Path(folder, name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(told, Mapping) and all(key in told for key in keys)
