"""A DuckDB that people's SQL may run in: it sees the tables it was given, and no other file.

Whole Parquet files on this computer are read by DuckDB itself, with nothing in between; of small
ones in packs or elsewhere it gets copies. What is left comes through Arrow.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from trunkline.lake.core import Core
from trunkline.model.tables import Format, Scan, ScanFile, Schema
from trunkline.storage.disk import spare
from trunkline.tables.physical import check_references
from trunkline.tables.reading import duck_links
from trunkline.tables.reading.duck_errors import broken_file
from trunkline.tables.types import to_duckdb_type

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from trunkline.tables.describe import Table
    from trunkline.tables.reading.duck_arrow import ArrowSource

# More than half of the memory, since a Spark beside it takes a quarter.
MEMORY = "60%"
# Up to so many bytes of a table are copied rather than read through Arrow.
COPIED = 64 << 20

_MAIN = "main"

# Above so many columns an optimizer of DuckDB's takes longer to plan a sort than the sort itself.
WIDE = 500

# A cast of DuckDB's rounds to microseconds, where Spark and Arrow cut off.
_FROM_NS = {"TIMESTAMP_NS": "make_timestamp", "TIMESTAMPTZ_NS": "make_timestamptz"}

# What a struct holds besides plain values, and floats.
_DEEP = re.compile(r"\[|\b(?:STRUCT|MAP)\(|\b(?:FLOAT|DOUBLE)\b").search

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY,
    "python_enable_replacements": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "errors_as_json": True,
}


Files = dict[str, tuple["Table", ScanFile]]


class View(NamedTuple):
    """A table, and the name it has in DuckDB."""

    schema: str
    name: str
    table: Table


@dataclass(slots=True)
class _Reads:
    """What a view reads: files by path, and sources of Arrow by name. `width` is its columns."""

    width: int = 0
    files: Files = field(default_factory=dict)
    sources: dict[str, ArrowSource] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Duck:
    """A locked DuckDB with a view for each of its tables, by schema and name."""

    connection: DuckDBPyConnection
    views: Mapping[tuple[str, str], _Reads]
    spill: str
    """The folder for what memory does not hold."""

    @property
    def files(self) -> Files:
        return {path: file for view in self.views.values() for path, file in view.files.items()}

    @property
    def sources(self) -> dict[str, ArrowSource]:
        return {name: one for view in self.views.values() for name, one in view.sources.items()}

    def only(self, names: Collection[tuple[str, str]]) -> Duck:
        """The same DuckDB for one query: what fails in it is no other query's error."""
        views = {}
        for name in names:
            reads = self.views[name]
            fresh = {source: one.again() for source, one in reads.sources.items()}
            views[name] = _Reads(reads.width, reads.files, fresh)
        return Duck(self.connection, views, self.spill)

    def cursor(self) -> DuckDBPyConnection:
        """One more way in: a result that is left half read blocks the way it came."""
        cursor = self.connection.cursor()
        for name, source in self.sources.items():
            cursor.register(name, source)
        return cursor


def connect(core: Core, tables: Mapping[str, Table], *, memory: str = MEMORY) -> Duck:
    """A DuckDB in memory with a view for each table, under the name it is given, then locked."""
    views = [View(_MAIN, name, table) for name, table in tables.items()]
    return connect_views(core, views, memory=memory)


def connect_views(
    core: Core, views: Sequence[View], *, memory: str = MEMORY, reserve: int | None = None
) -> Duck:
    """The same with names in several schemas. It leaves a reserve of the disk free."""
    import duckdb

    folder = tempfile.mkdtemp(prefix="trunkline-sql-")
    try:
        spill = {
            "temp_directory": os.path.join(folder, "spill"),
            "max_temp_directory_size": f"{max(0, spare(folder, reserve)) >> 10}KiB",
            "memory_limit": memory,
        }
        connection = duckdb.connect(":memory:", config={**_CONFIG, **spill})
        weakref.finalize(connection, shutil.rmtree, folder, ignore_errors=True)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    # What is a moment is shown in UTC, wherever the query runs.
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    if any(len(view.table.schema) > WIDE for view in views):
        connection.execute("SET disabled_optimizers = 'compressed_materialization'")
    reader = _Reader(core, connection, folder)
    try:
        for schema in {view.schema for view in views} - {_MAIN}:
            connection.execute(f"CREATE SCHEMA {quoted(schema)}")
        for view in views:
            reader.attach(view)
    except duckdb.Error as error:
        if (broken := broken_file(core, reader.duck.files, error)) is not None:
            raise broken from None
        raise
    # Only now: DuckDB takes no further names of files once its doors are shut.
    connection.execute(f"SET allowed_paths = {_list(list(reader.duck.files))}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return reader.duck


class _Reader:
    """Makes views, and remembers the files they read."""

    def __init__(self, core: Core, connection: DuckDBPyConnection, folder: str) -> None:
        self._views: dict[tuple[str, str], _Reads] = {}
        self.duck = Duck(connection, self._views, os.path.join(folder, "spill"))
        self._core = core
        self._connection = connection
        self._folder = folder
        self._links = self._sources = 0
        self._reads = _Reads()

    def attach(self, view: View) -> None:
        table = view.table
        check_references(self._core, table.entries)
        self._reads = self._views[view.schema, view.name] = _Reads(len(table.schema))
        if table.spec.format is Format.PARQUET:
            parts = [part for scan in table.scans for part in self._parts(table, scan)]
        else:
            parts = [self._arrow(table)] if table.scans else []
        body = "\nUNION ALL\n".join(parts) or _nothing(table.schema)
        self._connection.execute(f"CREATE VIEW {quoted(view.schema)}.{quoted(view.name)} AS {body}")

    def _parts(self, table: Table, scan: Scan) -> list[str]:
        """SELECTs over the files of a scan, each in the columns of the table."""
        near = tuple(file for file in scan.files if duck_links.is_near(file))
        far = tuple(file for file in scan.files if not duck_links.is_near(file))
        if sum(file.size for file in far) <= COPIED:
            near, far = scan.files, ()
        parts = []
        if near:
            parts.append(self._parquet(table, scan, near))
        if far:
            parts.append(self._arrow(replace(table, scans=(replace(scan, files=far),))))
        return parts

    def _parquet(self, table: Table, scan: Scan, files: Sequence[ScanFile]) -> str:
        if not duck_links.can_say(scan.path_columns, files):
            return self._arrow(replace(table, scans=(replace(scan, files=tuple(files)),)))
        paths = [duck_links.path_of(file) for file in files if duck_links.is_near(file)]
        in_place = len(paths) == len(files) and not any(map(duck_links.is_pattern, paths))
        if scan.path_columns or not in_place:
            # DuckDB follows links, and then asks whether it may read what they lead to.
            near = [file for file in files if duck_links.is_near(file)]
            found = zip(paths, near, strict=True)
            self._reads.files.update({path: (table, one) for path, one in found})
            self._links += 1
            folder = os.path.join(self._folder, f"files{self._links}")
            paths = duck_links.place(self._core, folder, scan.path_columns, files)
        placed = zip(paths, files, strict=True)
        self._reads.files.update({path: (table, file) for path, file in placed})
        options = "hive_partitioning = false"
        if scan.path_columns:
            types = ", ".join(
                f"{quoted(one.name)}: {text(to_duckdb_type(one.type))}" for one in scan.path_columns
            )
            options = f"hive_partitioning = true, hive_types = {{{types}}}"
        differ = not _alike(table, scan, files)
        if differ:
            options += ", union_by_name = true"
        source = f"read_parquet({_list(paths)}, {options})"
        # One file tells for all of them, unless they may differ.
        sample = source if differ else f"read_parquet({_list(paths[:1])}, {options})"
        if any(_is_arrows(type_) for _, type_ in self._columns(f"FROM {sample}")):
            return self._arrow(replace(table, scans=(replace(scan, files=tuple(files)),)))
        kept = replace(scan, files=tuple(files)).may_be_nan
        return self._brought_to(table.schema, source, sample, kept)

    def _arrow(self, table: Table) -> str:
        from trunkline.tables.reading.duck_arrow import ArrowSource

        self._sources += 1
        name = f"__tl_source_{self._sources}"
        source = self._reads.sources[name] = ArrowSource(self._core, table)
        self._connection.register(name, source)
        return self._brought_to(table.schema, name, name)

    def _brought_to(
        self, schema: Schema, source: str, sample: str, kept: Collection[str] = ()
    ) -> str:
        """The plain source if it has the table's columns already, so that nothing is in the way.

        Comparisons with columns that are `kept` do not reach the files: their own bounds leave NaN
        out, by which DuckDB would leave out its rows.
        """
        found = self._columns(f"FROM {sample}")
        wanted = [(one.name, to_duckdb_type(one.type)) for one in schema]
        hidden = {name for name, type_ in found if _is_hidden(name, type_, kept)}
        if not hidden and (found == wanted or found == self._columns(_nothing(schema))):
            return f"SELECT * FROM {source}"
        has = {name.casefold(): (name, type_) for name, type_ in found}
        columns = []
        for name, type_ in wanted:
            there, its_type = has.get(name.casefold(), ("", ""))
            value = quoted(there)
            if there in hidden:
                # Not a CASE: DuckDB 2.0 takes fields of one that may be null for ones that are not.
                value = f"TRY({value})"
            if not there:
                value = f"CAST(NULL AS {type_})"
            elif its_type in _FROM_NS:
                value = f"CAST({_FROM_NS[its_type]}(epoch_ns({value}) // 1000) AS {type_})"
            elif its_type != type_:
                value = f"CAST({value} AS {type_})"
            columns.append(f"{value} AS {quoted(name)}")
        return f"SELECT {', '.join(columns)} FROM {source}"

    def _columns(self, query: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns, as DuckDB writes them."""
        rows = self._connection.execute(f"DESCRIBE {query}").fetchall()
        return [(str(row[0]), str(row[1])) for row in rows]


def _is_arrows(type_: str) -> bool:
    """Whether DuckDB would cast in another way than Spark: it rounds nested nanoseconds, and finds
    fields of structs by name, but knows upper and lower case of the letters of English only.
    """
    if "_NS" in type_ and type_ not in _FROM_NS:
        return True
    return "STRUCT(" in type_ and not type_.isascii()


def _is_hidden(name: str, type_: str, kept: Collection[str]) -> bool:
    """Whether conditions must not reach a column in the files.

    Bounds of floats there leave NaN out. And DuckDB 2.0 takes those of a struct for those of a
    field, and reads a field alone: with lists, maps or structs in it, either may end in an internal
    error.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return name.casefold() in kept
    return type_.startswith("STRUCT(") and _DEEP(type_.removeprefix("STRUCT(")) is not None


def _alike(table: Table, scan: Scan, files: Sequence[ScanFile]) -> bool:
    """Whether all files are known to have all columns: then none but the first is opened to bind.

    A file's statistics name its columns.
    """
    if len(files) == 1 or (table.recorded and not table.spec.evolved):
        return True
    names = {name.casefold() for name in scan.schema.names}
    known = {stats: _columns_in(stats) for stats in {file.stats for file in files}}
    return all(names <= found for found in known.values())


def _columns_in(stats: str) -> set[str]:
    return {name.casefold() for name in json.loads(stats)} if stats else set()


def _nothing(schema: Schema) -> str:
    columns = (f"CAST(NULL AS {to_duckdb_type(one.type)}) AS {quoted(one.name)}" for one in schema)
    return f"SELECT {', '.join(columns)} WHERE false"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(text, values))}]"
