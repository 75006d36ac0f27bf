"""Rows of a table or a query, in blocks of bounded size, as the driver gives them.

What is read by a growing column comes in its order, from a value on. A query of the user's is
asked as it is, inside ours: it can have no parameters, and in PostgreSQL and SQLite it can change
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.connect.databases import Database, TableName
from trunkline.connect.sqltypes import arrow_of, arrow_of_postgres, plain
from trunkline.errors import NotFound, Usage
from trunkline.model.suggest import did_you_mean, shown

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection, TextClause

_ALIAS = "trunkline_source"


@dataclass(frozen=True, slots=True)
class SqlColumn:
    """A column; without a type only its values tell what it is."""

    name: str
    type: pa.DataType | None


@dataclass(frozen=True, slots=True)
class Origin:
    """What is read: `place` is what stands behind FROM."""

    name: str
    place: str
    columns: tuple[SqlColumn, ...]
    primary_key: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def require(self, column: str, what: str) -> None:
        if column not in self.names:
            raise NotFound(
                f"{self.name} has no column {shown(column)} for {what}."
                f"{did_you_mean(column, self.names)}",
                hint=f"It has: {', '.join(self.names[:20])}.",
            )


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows, by column."""

    columns: tuple[SqlColumn, ...]
    values: Sequence[Sequence[Any]]

    @property
    def rows(self) -> int:
        return len(self.values[0]) if self.values else 0

    def of(self, name: str) -> Sequence[Any]:
        return self.values[[column.name for column in self.columns].index(name)]

    def slice(self, start: int, stop: int | None = None) -> Block:
        return Block(self.columns, [values[start:stop] for values in self.values])

    def take(self, places: Sequence[int]) -> Block:
        return Block(self.columns, [[values[at] for at in places] for values in self.values])

    def plain(self) -> list[Sequence[Any]]:
        """The values as Arrow takes them for the columns' types."""
        pairs = zip(self.columns, self.values, strict=True)
        return [plain(values, column.type) for column, values in pairs]


def find_table(database: Database, connection: Connection, name: TableName) -> Origin:
    """A table or view, looked up."""
    from sqlalchemy import inspect
    from sqlalchemy.exc import NoSuchTableError

    inspector = inspect(connection)
    try:
        found = inspector.get_columns(name.table, schema=name.schema)
        key = inspector.get_pk_constraint(name.table, schema=name.schema)
    except NoSuchTableError:
        found = []
    if not found:
        there = tables_of(connection, name.schema)
        raise NotFound(
            f"{database.name} has no table {shown(str(name))}.{did_you_mean(name.table, there)}",
            hint=f"There are: {', '.join(there[:20])}." if there else "It has no tables there.",
        )
    columns = tuple(
        SqlColumn(str(one["name"]), arrow_of(one["type"], database.dialect)) for one in found
    )
    keys = tuple(key.get("constrained_columns") or ())
    return Origin(str(name), _literal(database.quoted_table(name)), columns, keys)


def tables_of(connection: Connection, schema: str | None) -> list[str]:
    from sqlalchemy import inspect
    from sqlalchemy.exc import SQLAlchemyError

    inspector = inspect(connection)
    try:
        return sorted(
            [*inspector.get_table_names(schema=schema), *inspector.get_view_names(schema=schema)]
        )
    except SQLAlchemyError:
        return []


def find_query(database: Database, connection: Connection, query: str) -> Origin:
    """The columns that a query has. It is asked for no rows."""
    place = f"({_literal(query.strip().rstrip(';'))}\n) {_ALIAS}"
    with connection.execute(_text(f"SELECT * FROM {place} WHERE 1 = 0")) as result:
        cursor: Any = result.cursor
        described = list(cursor.description)
        names = list(result.keys())
    for name in names:
        if names.count(name) > 1:
            raise Usage(f"The query has two columns {shown(name)}.", hint="Name one anew: AS.")
    columns = []
    for name, one in zip(names, described, strict=True):
        known = None
        if database.engine.driver == "psycopg":
            known = arrow_of_postgres(one.type_code, one.precision, one.scale)
        columns.append(SqlColumn(name, known))
    return Origin("the query", place, tuple(columns))


def read(
    database: Database,
    connection: Connection,
    origin: Origin,
    *,
    size: int,
    by: str = "",
    after: Any = None,
) -> Iterator[Block]:
    """All rows, or those of which `by` is not less than `after`, in its order."""
    asked = f"SELECT {', '.join(map(_safe(database), origin.names))} FROM {origin.place}"
    values: dict[str, Any] = {}
    if by:
        if after is not None:
            asked += f" WHERE {_safe(database)(by)} >= :after"
            values["after"] = after
        else:
            # Some databases have nulls first.
            asked += f" WHERE {_safe(database)(by)} IS NOT NULL"
        asked += f" ORDER BY {_safe(database)(by)}"
    streaming = connection.execution_options(stream_results=True, yield_per=size)
    with database.failing(), streaming.execute(_text(asked), values) as result:
        for rows in result.partitions(size):
            yield Block(origin.columns, list(zip(*rows, strict=True)))


def count(
    database: Database, connection: Connection, origin: Origin, by: str = "", after: Any = None
) -> int:
    asked = f"SELECT count(*) FROM {origin.place}"
    if after is not None:
        asked += f" WHERE {_safe(database)(by)} >= :after"
    values = {} if after is None else {"after": after}
    return int(connection.execute(_text(asked), values).scalar_one())


def has_nulls(database: Database, connection: Connection, origin: Origin, column: str) -> bool:
    asked = f"SELECT 1 FROM {origin.place} WHERE {_safe(database)(column)} IS NULL"
    with connection.execute(_text(asked)) as result:
        return result.first() is not None


def odd_times(database: Database, connection: Connection, origin: Origin) -> list[str]:
    """Columns of PostgreSQL with times that are none elsewhere: infinite, BC, or past 9999."""
    import pyarrow.types as kinds

    timed = [one.name for one in origin.columns if one.type and kinds.is_temporal(one.type)]
    if database.dialect != "postgresql" or not timed:
        return []
    asked = ", ".join(
        f"bool_or({name} < '0001-01-01' OR {name} >= '10000-01-01')"
        for name in map(_safe(database), timed)
    )
    found = connection.execute(_text(f"SELECT {asked} FROM {origin.place}")).one()
    return [name for name, odd in zip(timed, found, strict=True) if odd]


def is_odd(value: Any, type_: pa.DataType | None, dialect: str) -> bool:
    """Whether a value has no place in the order of others of its column, as Python has it."""
    import pyarrow.types as kinds

    timed = dialect != "sqlite" and type_ is not None and kinds.is_temporal(type_)
    return (timed and isinstance(value, str)) or value != value


def newest(database: Database, connection: Connection, origin: Origin, column: str) -> Any:
    """The largest value of a column; None if there are no rows."""
    asked = f"SELECT max({_safe(database)(column)}) FROM {origin.place}"
    return connection.execute(_text(asked)).scalar_one()


def bounds(
    database: Database, connection: Connection, origin: Origin, column: str
) -> tuple[Any, Any]:
    name = _safe(database)(column)
    asked = f"SELECT min({name}), max({name}) FROM {origin.place}"
    least, most = connection.execute(_text(asked)).one()
    return least, most


def spelt(database: Database, origin: Origin, by: str = "", before: Any = None) -> str:
    """The question as text alone, for those who take no parameters."""
    asked = f"SELECT {', '.join(map(_safe(database), origin.names))} FROM {origin.place}"
    values: dict[str, Any] = {}
    if by:
        asked += f" WHERE {_safe(database)(by)} < :before"
        values["before"] = before
    clause = _text(asked).bindparams(**values)
    made = clause.compile(database.engine, compile_kwargs={"literal_binds": True})
    # The compiler doubles what its driver would take for a parameter.
    text = str(made)
    doubled = database.engine.dialect.paramstyle in ("format", "pyformat")
    return text.replace("%%", "%") if doubled else text


def _safe(database: Database) -> Any:
    return lambda name: _literal(database.quoted(name))


def _literal(text: str) -> str:
    """SQLAlchemy takes a name behind a colon for a parameter; the user's SQL has none."""
    return text.replace(":", "\\:")


def _text(sql: str) -> TextClause:
    from sqlalchemy import text

    return text(sql)
