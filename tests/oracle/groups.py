"""All groups of cases."""

from __future__ import annotations

from tests.oracle.changes import Histories
from tests.oracle.exports import Exports
from tests.oracle.pipelines import Cuts, Published, SetAside
from tests.oracle.reading import Filters, Reads
from tests.oracle.running import Group

GROUPS: tuple[Group, ...] = (
    Reads(),
    Filters(),
    Histories(),
    Published(),
    Cuts(),
    SetAside(),
    Exports(),
)
