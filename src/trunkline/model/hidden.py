"""What the lake keeps beside people's files in a commit's tree, and who sees it.

Such names are hidden like dotfiles in a shell: no listing, glob or folder shows them unless it is
asked for by name. So a reader that takes a table's folder as it is finds the table's files alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from trunkline.model.streams import LATE, MALFORMED
from trunkline.model.tables import QUARANTINE, TABLE_FILE

INGEST_BOOKS = "_ingest"
"""The folder of what an ingest remembers with its data: it comes and goes with the commit."""

HIDDEN_NAMES = (TABLE_FILE, QUARANTINE, LATE, MALFORMED, INGEST_BOOKS)


def hidden(path: str, asked: str) -> bool:
    """Whether a path has a reserved name as a part that `asked` does not name itself.

    `asked` is what somebody listed: a path, the beginning of one, or a pattern.
    """
    return bool(_search(asked)(path.encode()))


def shown(lines: Iterable[bytes], asked: str) -> list[bytes]:
    """The lines of a manifest, or their paths, that are not hidden."""
    search = _search(asked)
    return [line for line in lines if not search(line)]


@lru_cache(maxsize=1024)
def _search(asked: str) -> Callable[[bytes], object]:
    """Finds a name that `asked` does not have, also as one of the choices of a pattern."""
    names = [
        re.escape(name)
        for name in HIDDEN_NAMES
        if not re.search(rf"(?<![^/{{(,|]){re.escape(name)}(?![^/}}),|])", asked)
    ]
    if not names:
        return lambda path: None
    # A tab ends the path of a manifest's line.
    return re.compile(rf"\A[^\t]*/(?:{'|'.join(names)})(?:/|\t|\Z)".encode()).search
