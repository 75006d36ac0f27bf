"""Rows that cannot be read: out of a stream's way, and into a table of their own.

Where looking through a file has shown that every row fits, nothing is done. The other files are
parsed once: rows that fit are written as Parquet, which is what the query reads, and the others
are counted on the way. Only if there are some, their files are read again for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trunkline.engine.transform import Source, TableResult
from trunkline.jobs.streaming.sources import Given
from trunkline.jobs.streaming.tornrows import mended
from trunkline.lake.core import Core
from trunkline.model.tables import Format, Scan, ScanFile, Schema
from trunkline.storage.objects.keys import KeyMaker
from trunkline.tables.writing.fingerprint import key_of

if TYPE_CHECKING:
    from trunkline.engine.session import Session


@dataclass(frozen=True, slots=True)
class Diverted:
    """The rows for the query, and those that are none: columns line, reason and path."""

    source: Source
    malformed: TableResult | None = None

    @property
    def rows(self) -> int:
        return self.malformed.report.rows if self.malformed else 0


def diverted(core: Core, session: Session, keys: KeyMaker, given: Given) -> Diverted:
    """The same rows, but of doubtful files only those that can be read.

    Files that are no tables at all, such as a Parquet file that was cut, are errors with the
    file's name: nobody knows which rows they had.
    """
    if not given.doubtful:
        return Diverted(given.source)
    from trunkline.engine import sqlerrors
    from trunkline.engine.malformed import divide

    fine, doubtful = _apart(given)
    entries = {one.path: one for one in given.entries}
    doubtful, torn = mended(core, keys, doubtful, entries)
    with sqlerrors.in_words({"": given.source}):
        divided = divide(
            session, doubtful, given.source.schema, _stem(core, keys), _stem(core, keys), torn
        )
    files = tuple(
        ScanFile(
            core.objects.uri(key_of(core, one.uri)), one.size, (), one.stats, one.rows, one.uri
        )
        for one in divided.good.files
    )
    schema = given.source.schema
    name = doubtful[0].name
    if files:
        fine.append(Scan(name, Format.PARQUET, schema, Schema(), files, (), schema))
    return Diverted(Source(tuple(fine), schema), divided.bad)


def _apart(given: Given) -> tuple[list[Scan], list[Scan]]:
    """The scans of files that are in order, and those of the others."""
    fine, doubtful = [], []
    for scan in given.source.scans:
        good = tuple(one for one in scan.files if one.path not in given.doubtful)
        bad = tuple(one for one in scan.files if one.path in given.doubtful)
        if good:
            fine.append(replace(scan, files=good))
        if bad:
            doubtful.append(replace(scan, files=bad))
    return fine, doubtful


def _stem(core: Core, keys: KeyMaker) -> str:
    return core.objects.uri(keys.branch().data("x")).replace("file:///", "file:/", 1)
