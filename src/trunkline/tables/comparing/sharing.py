"""Files that two versions of a table share: their rows are equal, so no diff need read them.

What differs between two bags of rows stays the same when equal rows are taken from both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trunkline.lake.core import Core
from trunkline.model.entries import Entry
from trunkline.model.tables import Format
from trunkline.tables.describe import Table, describe_lines
from trunkline.tables.layout import is_hive
from trunkline.tables.writing.fingerprint import content

Identity = tuple[str, tuple[str, ...]]


def leave_out_shared(
    core: Core, old: Table, new: Table, one_sided: bool
) -> tuple[Table, Table, int]:
    """Both tables without the files they share, and how many those are."""
    if not _read_alike(old, new, one_sided):
        return old, new, 0
    shared = Counter(map(identity, old.entries)) & Counter(map(identity, new.entries))
    left_out = shared.total()
    if not left_out:
        return old, new, 0
    return _without(core, old, shared), _without(core, new, shared), left_out


def identity(entry: Entry) -> Identity:
    """What decides on the rows of a file: its content, and what its folders say."""
    return content(entry), tuple(filter(is_hive, entry.path.split("/")[:-1]))


def _read_alike(old: Table, new: Table, one_sided: bool) -> bool:
    """Whether a file gives the same cells as a part of either table."""
    if (old.spec.format, old.spec.options) != (new.spec.format, new.spec.options):
        return False
    if _types(old.schema.columns) == _types(new.schema.columns):
        return True
    if old.spec.format not in (Format.PARQUET, Format.ORC):
        return False  # what the text 007 is depends on the type that the other files gave it
    if _types(_from_paths(old)) != _types(_from_paths(new)):
        return False
    return not one_sided or (_lacks_truly(old, new) and _lacks_truly(new, old))


def _lacks_truly(table: Table, other: Table) -> bool:
    """Whether the files of `table` do not have the columns that only the other's schema has.

    They might where somebody recorded a schema that leaves columns out.
    """
    if all(table.schema.find(one.name) for one in other.schema):
        return True
    return not table.recorded or other.spec.evolved


def _from_paths(table: Table) -> Sequence[object]:
    found = {one.name.casefold(): one for scan in table.scans for one in scan.path_columns}
    return [found[name] for name in sorted(found)]


def _types(columns: Sequence[object]) -> list[str]:
    return [str(one).casefold() for one in columns]


def _without(core: Core, table: Table, shared: Counter[Identity]) -> Table:
    left = Counter(shared)
    lines = []
    for entry in table.entries:
        one = identity(entry)
        if left[one]:
            left[one] -= 1
        else:
            lines.append(entry.encode())
    folder = table.path
    if any(entry.path == folder for entry in table.entries):  # a single file
        folder = folder.rpartition("/")[0] or "/"
    return describe_lines(core, lines, folder, table.name, table.spec)
