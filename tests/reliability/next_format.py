"""A format after the current one, so that a migration can be watched before there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import alembic.config

from trunkline.storage import catalog
from trunkline.storage.catalog import open as opening

MIGRATIONS = Path(__file__).parent / "migrations"
NEXT = catalog.FORMAT + 1


def install(set_attribute: Callable[[Any, str, Any], None]) -> None:
    """Make this process one of the next version of Trunkline."""

    class Config(alembic.config.Config):
        def set_main_option(self, name: str, value: str) -> None:
            super().set_main_option(name, value)
            super().set_main_option("path_separator", "newline")
            super().set_main_option("version_locations", f"{value}/versions\n{MIGRATIONS}")

    set_attribute(alembic.config, "Config", Config)
    set_attribute(catalog, "FORMAT", NEXT)
    set_attribute(opening, "FORMAT", NEXT)
