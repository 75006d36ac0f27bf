"""Lines of JSON as values, and rows that are set apart as text again."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from trunkline.ingests.columns import as_text

if TYPE_CHECKING:
    import pyarrow as pa

_MARK = int.from_bytes(os.urandom(7), "big")
_BETWEEN = b",%d," % _MARK


def parsed(lines: Sequence[bytes]) -> tuple[Sequence[Any], dict[int, str]]:
    """Each line's value, and why it has none. All at once first, as nearly all are well-formed."""
    from pydantic_core import from_json

    if not lines:
        return [], {}
    try:
        # A number that nobody can know tells lines apart: two values in one, or half of one, show.
        found = from_json(b"[" + _BETWEEN.join(lines) + b"]", allow_inf_nan=False)
        if len(found) == 2 * len(lines) - 1 and all(one == _MARK for one in found[1::2]):
            return found[::2], {}
    except ValueError:
        pass
    rows, bad = [], {}
    for place, line in enumerate(lines):
        try:
            rows.append(from_json(line, allow_inf_nan=False))
        except ValueError as error:
            rows.append({})
            bad[place] = f"not JSON: {str(error).partition(' at line')[0]}"
    return rows, bad


class AsText(Sequence[str]):
    """Lines as text, made when they are asked for."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, at: Any) -> Any:
        return self._lines[at].decode(errors="backslashreplace")


class AsJson(Sequence[str]):
    """Values as text, made when they are asked for."""

    def __init__(self, rows: Sequence[Any]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, at: Any) -> Any:
        return as_text(self._rows[at])


class AsCsv:
    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __getitem__(self, at: int) -> str:
        out = io.StringIO()
        (row,) = self._table.slice(at, 1).to_pylist()
        csv.writer(out, lineterminator="").writerow(row.values())
        return out.getvalue()
