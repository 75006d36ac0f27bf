"""Secrets of pipelines: set by name, given to their commands, never shown.

They are kept in a file of the lake's folder that only its owner can read. The environment of
the worker wins: TRUNKLINE_SECRET_NAME.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from trunkline.errors import Failed, NotFound, Usage
from trunkline.model.paths import validate_name
from trunkline.sdk.base import LakeBase

FILE = "secrets.json"


def secret_reader(folder: Path) -> Callable[[str], str | None]:
    """Looks a secret up by its name."""

    def read(name: str) -> str | None:
        variable = "TRUNKLINE_SECRET_" + name.upper().replace("-", "_").replace("/", "_")
        return os.environ.get(variable, _load(folder).get(name))

    return read


class Secrets(LakeBase):
    """What pipelines may know and nobody may read."""

    def secrets(self) -> list[str]:
        """The names of the secrets that are set."""
        return sorted(_load(self._folder))

    def set_secret(self, name: str, value: str) -> None:
        """Set a secret, in place of what it was."""
        check_secret(name, value)
        _store(self._folder, {**_load(self._folder), name: value})

    def delete_secret(self, name: str) -> None:
        found = _load(self._folder)
        if name not in found:
            raise NotFound(f'There is no secret "{name}".')
        del found[name]
        _store(self._folder, found)


def check_secret(name: str, value: str) -> None:
    """Whether a secret may be called and be this; `Usage` if not."""
    for part in name.split("/", 1):
        validate_name("secret", part)
    if not value:
        raise Usage(f"The secret {name} would be empty.", hint="Delete it instead.")


def _load(folder: Path) -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise Failed(f"The secrets in {folder / FILE} cannot be read.") from None
    return found


def _store(folder: Path, secrets: dict[str, str]) -> None:
    fresh = folder / f"{FILE}.{os.getpid()}"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(secrets, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, folder / FILE)
