"""All groups of cases."""

from __future__ import annotations

from tests.oracle.reading import Filters, Reads
from tests.oracle.running import Group

GROUPS: tuple[Group, ...] = (Reads(), Filters())
