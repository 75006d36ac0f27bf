"""A query from text to rows: read, looked up, handed to an engine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from trunkline.errors import Conflict, NotAllowed, NotFound, Precondition, TrunklineError, Usage
from trunkline.lake.core import Core
from trunkline.model.folding import FOLDS
from trunkline.query.ducks import Version, schema, views_of
from trunkline.query.kept import Kept
from trunkline.query.listing import Listing, described
from trunkline.query.lookup import Lookup, Source
from trunkline.query.names import Query, parse
from trunkline.query.result import Answer, Result, Stop
from trunkline.query.rights import Allowed
from trunkline.tables.describe import Table

if TYPE_CHECKING:
    from trunkline.engine.session import Session


_SHOW_TABLES = re.compile(r"\s*SHOW\s+(ALL\s+)?TABLES\s*;?\s*", re.IGNORECASE)


class Engine(StrEnum):
    """Who runs a query."""

    DUCKDB = "duckdb"
    SPARK = "spark"


def query(
    core: Core,
    kept: Kept,
    text: str,
    *,
    engine: str = "duckdb",
    project: str,
    at: str | None = None,
    params: Mapping[str, Any] | None = None,
    session: Callable[[], Session] | None = None,
    write: Callable[[Result, str, str], Any] | None = None,
    allowed: Allowed | None = None,
    places: bool = True,
    stop: Stop | None = None,
) -> Result:
    """The rows of a query. Errors in its text come now; those in the data when it is read.

    Of repos that are not `allowed` nothing is found, and nothing is said. Without `places` no plan
    is shown that tells where files are.
    """
    try:
        chosen = Engine(engine)
    except ValueError:
        raise Usage(f'There is no engine "{engine}".', hint="Use duckdb or spark.") from None
    lookup = Lookup(core, kept, project, at, allowed)
    if _SHOW_TABLES.fullmatch(text):
        return Result(Listing(("name", "ref"), list(lookup.every_table())), text, write=write)
    asked = parse(text, chosen.value)
    if not places and _tells_places(asked):
        raise NotAllowed(
            "This plan tells where files are, which only an admin of the lake may know.",
            hint="EXPLAIN on DuckDB, without ANALYZE, shows the plan alone.",
        )
    sources = _sources(asked, lookup)
    tables, versions = _tables(asked, lookup, sources)
    if (columns := described(asked, tables)) is not None:
        return Result(columns, text, sources, write)
    answer: Answer
    if chosen is Engine.DUCKDB:
        from trunkline.query.duckdb_engine import Asked, ask

        named = [(schema(*version(source)), source.view) for source in sources]
        views = views_of(tables, versions)
        whole = Asked(asked.with_views(named), asked.explain, params)
        answer = ask(core, kept, views, whole, stop or Stop())
    else:
        from trunkline.query.spark_engine import SparkAnswer

        if session is None:
            raise Precondition("There is no Spark to ask.")
        edited = asked.with_views([("", source.view) for source in sources])
        explains = bool(asked.explain)
        answer = SparkAnswer(kept.desk(session), tables, versions, edited, params, explains)
    return Result(answer, text, sources, write)


def _tells_places(asked: Query) -> bool:
    return bool(asked.explain) and (
        asked.dialect == Engine.SPARK or "ANALYZE" in asked.typed.upper()
    )


def version(source: Source) -> Version:
    return source.commit.root_hash or "", source.path


def _sources(asked: Query, lookup: Lookup) -> tuple[Source, ...]:
    sources: list[Source] = []
    for named in asked.tables:
        try:
            sources.append(lookup.find(named))
        except TrunklineError as error:
            raise _marked(asked, named, error) from None
    return tuple(sources)


def _marked(asked: Query, named: Any, error: TrunklineError) -> TrunklineError:
    """With several tables or lines in a query, its place says which one is meant."""
    if isinstance(error, NotFound):
        shown = asked.wrong(named, error.message, error.hint)
        found = NotFound(shown.message, hint=shown.hint)
        found.add_note(shown.excerpt)
        return found
    return error


def _tables(
    asked: Query, lookup: Lookup, sources: tuple[Source, ...]
) -> tuple[dict[str, Table], dict[str, Version]]:
    """Each view with its table; views that differ only in case would be one to an engine."""
    fold = FOLDS[asked.dialect]
    views: dict[str, Source] = {}
    tables: dict[str, Table] = {}
    versions: dict[str, Version] = {}
    for source in sources:
        held = views.setdefault(fold(source.view), source)
        if (held.repo, held.path, held.commit.id) != (source.repo, source.path, source.commit.id):
            raise Conflict(
                f'"{held.view}" and "{source.view}" differ only in case.',
                hint=f'Write "{source.repo}@{source.commit.short_id}" for one of them.',
            )
        if held is source:
            tables[source.view] = lookup.table(source)
            lookup.check(tables[source.view])
            versions[source.view] = version(source)
    return tables, versions
