"""The fields of SQL databases, as a source of an ingest and as a target of egress."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, Field

from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.kinds import SOURCES, TARGETS
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.tablevalues import Columns
from trunkline.pipelines.spec.values import Address, Pause, Positive, SecretName, Text, Unfit

_SOURCE, _TARGET = SOURCES["sql"], TARGETS["sql"]
_scheme = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\+[A-Za-z0-9_]+)?://").match
_hidden = re.compile(r"pass|pwd|secret|token", re.IGNORECASE).search
_coordinates = re.compile(r"[\w.-]+:[\w.-]+:[\w.-]+").fullmatch


def _is_database(url: str) -> str:
    if not _scheme(url):
        raise Unfit("It is no URL of a database.",
                    "Write it as postgresql+psycopg://user@host:5432/database.")  # fmt: skip
    _refuse_credentials(url)
    return url


def _refuse_credentials(url: str) -> None:
    try:
        parts = urlsplit(url)
        told = bool(parts.password) or any(
            _hidden(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True)
        )
    except ValueError:
        raise Unfit("It is no URL of a database.") from None
    if told:
        # The URL itself is not shown: it would be in logs.
        raise Unfit("A URL holds no password.",
                    "Leave it out, and name a secret: password: NAME.")  # fmt: skip


def _is_jdbc(url: str) -> str:
    if not url.startswith("jdbc:"):
        raise Unfit("It is no URL of JDBC.", "Write it as jdbc:postgresql://host:5432/database.")
    _refuse_credentials(url.removeprefix("jdbc:"))
    return url


def _is_package(text: str) -> str:
    if not _coordinates(text):
        raise Unfit("It is no package of Maven.", "Write it as org.postgresql:postgresql:42.7.4.")
    return text


DatabaseUrl = Annotated[Address, AfterValidator(_is_database)]


class ParallelField(Fields):
    by: Text = Field(description="The column to split the table by: numbers, dates or times.")
    parts: Annotated[Positive, Field(ge=1, le=1000)] = Field(
        description="How many parts are read side by side."
    )


class JdbcField(Fields):
    url: Annotated[Text, AfterValidator(_is_jdbc)] | None = about(
        "Where JDBC finds the database, if that does not follow from url."
    )
    driver: Text | None = about("The class of the driver, if that does not follow from url.")
    package: Annotated[Text, AfterValidator(_is_package)] | None = about(
        "The driver's package of Maven, which is fetched then: group:name:version."
    )


class SqlSourceField(Fields):
    url: DatabaseUrl = Field(
        description="Where the database is, as SQLAlchemy writes it, without a password."
    )
    password: SecretName | None = about("The secret that is the user's password.")
    table: Text = about("The table or view to read.", _SOURCE["table"])
    query: Text = about("Or what to ask: a SELECT.", _SOURCE["query"])
    by: Text = about(
        "A column that grows: only rows beyond its last value are read. Without it all rows are, "
        "and take the place of those before.",
        _SOURCE["by"],
    )
    key: Columns = about(
        "With by: rows with the same values here take the place of older ones.", _SOURCE["key"]
    )
    lag: Pause = about(
        "With by: rows so far behind the newest may still come, and are looked for again.",
        _SOURCE["lag"],
    )
    every: Pause = about("How often the database is asked.", _SOURCE["every"])
    parallel: ParallelField | None = about("Read it in parts side by side, through Spark.")
    jdbc: JdbcField | None = about("How Spark reaches it.")


def sql_options(fields: SqlSourceField, loc: Loc) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The options of a source, and its secrets; or the `Flaw` in them."""
    if bool(fields.table) == bool(fields.query):
        what = "both a table and a query" if fields.table else "neither a table nor a query"
        raise Flaw(loc, f"{path_text(loc)} has {what}.", "Write table: NAME or query: SELECT …")
    for name in ("key", "lag"):
        if getattr(fields, name) and not fields.by:
            place: Loc = (*loc, name)
            raise Flaw(place, f"{path_text(place)} goes with by.", "Name a column that grows: by.")
    if fields.jdbc is not None and fields.parallel is None:
        place = (*loc, "jdbc")
        raise Flaw(place, f"{path_text(place)} goes with parallel.",
                   "Write parallel: {by: COLUMN, parts: 8}.")  # fmt: skip
    options: dict[str, Any] = {
        name: getattr(fields, name)
        for name in ("url", "table", "query", "by", "key", "lag", "every")
    }
    options["parallel"] = fields.parallel.model_dump() if fields.parallel else {}
    options["jdbc"] = fields.jdbc.model_dump(exclude_none=True) if fields.jdbc else {}
    secrets = {"password": fields.password} if fields.password else {}
    return options, secrets


class SqlTargetField(Fields):
    url: DatabaseUrl = Field(
        description="Where the database is, as SQLAlchemy writes it, without a password."
    )
    password: SecretName | None = about("The secret that is the user's password.")
    table: Text = Field(description="The table to write.")
    mode: Literal["append", "replace", "merge"] = about(
        "append: rows that are new are added. replace: the table has the rows of the newest "
        "version. merge: rows take the place of those with the same key.",
        _TARGET["mode"],
    )
    key: Columns = about("With merge: the columns that tell rows apart.", _TARGET["key"])
    delete: bool = about("With merge: rows whose key is gone are deleted.", _TARGET["delete"])
    create: bool = about("Make the table if there is none.", _TARGET["create"])


def check_target(options: Mapping[str, Any], loc: Loc) -> None:
    """The `Flaw` in the options of a target."""
    merge = options.get("mode") == "merge"
    if merge and not options.get("key"):
        raise Flaw(loc, f"{path_text(loc)}: mode: merge needs a key.",
                   "Name the columns that tell rows apart: key: [id].")  # fmt: skip
    for name in ("key", "delete"):
        if options.get(name) and not merge:
            place: Loc = (*loc, name)
            raise Flaw(place, f"{path_text(place)} goes with mode: merge.")
