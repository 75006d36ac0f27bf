"""Paths of the files that we write: hive folders, and names that follow from what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.model.paths import join
from trunkline.tables.layout import NULL_VALUE

# As Spark escapes them, and whatever no path may have.
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^") | {chr(code) for code in (*range(32), *range(127, 160))}


def escape(value: str) -> str:
    """A value as part of a folder's name."""
    return "".join(f"%{ord(one):02X}" if one in _ESCAPED else one for one in value)


def hive_folder(columns: Sequence[str], values: Sequence[str | None]) -> str:
    """`day=2026-01-01/shop=3`, or nothing for a table without partitions."""
    return "/".join(
        # An empty text has no name of its own: as in Spark it shares that of null.
        f"{escape(name)}={escape(value) if value else NULL_VALUE}"
        for name, value in zip(columns, values, strict=True)
    )


class Namer:
    """Names for the files of one write, none twice in a folder."""

    def __init__(self, suffix: str = "") -> None:
        self._suffix = f"-{suffix}" if suffix else ""
        self._taken: dict[str, int] = {}

    def path(self, folder: str, below: str, digest: str) -> str:
        """A new path in `folder`/`below` for a file with that hash.

        The middle of a fingerprint tells more than its start, which counts the rows.
        """
        name = join(folder, *([below] if below else []), f"part-{digest[16:28]}{self._suffix}")
        count = self._taken[name] = self._taken.get(name, 0) + 1
        return f"{name}.parquet" if count == 1 else f"{name}-{count}.parquet"
