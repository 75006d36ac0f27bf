"""SQL files of Spark Declarative Pipelines, and queries that read streams.

    CREATE MATERIALIZED VIEW name … AS query        CREATE STREAMING TABLE name … [AS query]
    CREATE TEMPORARY VIEW name AS query             CREATE FLOW name AS INSERT INTO name query
    SET name = value

What stands before a query is read word by word: no parser but Spark's own knows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trunkline.errors import InvalidSpec
from trunkline.pipelines.declarative import Kind, Output, Project, Read, input_name

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope
    from sqlglot.tokenizer_core import Token

    Tokens = Sequence[Token]

Span = tuple[int, int, str]
"""From where to where another text goes."""

_TOKEN = re.compile(r"<Token token_type: .*?, text: (.*?), line: .*>")
_KNOWN = "CREATE MATERIALIZED VIEW, STREAMING TABLE, TEMPORARY VIEW and FLOW"
_BEFORE_TABLES = ("FROM", "JOIN", "COMMA")


@dataclass(frozen=True, slots=True)
class Query:
    """A query that our engines read: tables by the names of inputs, streams as plain tables.

    `stateful` is what it does to a stream that needs to remember earlier rows.
    """

    sql: str
    reads: tuple[Read, ...]
    stateful: str = ""


@dataclass(frozen=True, slots=True)
class Flow:
    """Rows into an output, by a query or by a function of a Python file.

    `reads` are the tables and views that it names, once that is known.
    """

    name: str
    target: str
    file: str
    line: int = 0
    query: Query | None = None
    conf: tuple[tuple[str, str], ...] = ()
    reads: tuple[Read, ...] = ()

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class SqlFile:
    outputs: tuple[Output, ...]
    flows: tuple[Flow, ...]


def read_file(text: str, file: str, project: Project) -> SqlFile:
    """What a SQL file defines."""
    text = project.filled(text)
    outputs: list[Output] = []
    flows: list[Flow] = []
    conf: dict[str, str] = {}
    for tokens in _statements(_tokens(text, file)):
        reader = _Reader(text, tokens, file, project)
        match reader.words(1):
            case ["SET"]:
                name, _, value = text[tokens[1].start : tokens[-1].end + 1].partition("=")
                conf[name.strip()] = value.strip()
                continue
            case ["USE"]:
                continue  # names are looked up in the lake
        output, flow = reader.statement()
        if output is not None:
            outputs.append(output)
        if flow is not None:
            name, target, query = flow
            pairs = tuple(sorted(conf.items()))
            flows.append(Flow(name, target, file, tokens[0].line, query, pairs, query.reads))
    return SqlFile(tuple(outputs), tuple(flows))


def read_query(sql: str, where: str, project: Project, line: int = 1) -> Query:
    """The query as our engines read it, and what it reads. `line` is where it starts."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import ParseError
    from sqlglot.optimizer.scope import traverse_scope

    text, streams, spans = _without_stream(sql, _tokens(sql, where))
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except ParseError as error:
        first = error.errors[0]
        place = line + int(first.get("line") or 1) - 1
        said = _TOKEN.sub(r"\1", str(first.get("description"))).rstrip(".")
        raise InvalidSpec(f"{where}:{place}: {said}.") from None
    if not isinstance(tree, exp.Query):
        raise InvalidSpec(f"{where}:{line}: this is not a query.", hint="Such as SELECT … FROM ….")
    reads: dict[str, bool] = {}
    scopes = list(traverse_scope(tree))
    flowing: dict[int, bool] = {}
    for scope in scopes:
        for source in scope.sources.values():
            if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
                continue
            start, end = _span(source)
            name = project.name_of(text[start:end])
            stream = start in streams
            if reads.setdefault(name, stream) is not stream:
                raise InvalidSpec(f"{where}:{line}: it reads {name} both as a stream and whole.")
            flowing[id(source)] = stream
            if name != source.name or source.db:
                spans.append((start, end, f"`{input_name(name)}`"))
    for start, end, name in sorted(set(spans), reverse=True):
        text = f"{text[:start]}{name}{text[end:]}"
    found = tuple(Read(name, stream) for name, stream in reads.items())
    return Query(text, found, _stateful(scopes, flowing))


def _stateful(scopes: Sequence[Scope], flowing: dict[int, bool]) -> str:
    """Why a query over streams needs memory, if it does. Inner scopes come first."""
    from sqlglot import exp

    for scope in scopes:
        query = scope.expression
        found = [source for _, source in scope.selected_sources.values()]
        below = [one if isinstance(one, exp.Table) else one.expression for one in found]
        if isinstance(query, exp.SetOperation):
            below = [query.left.unnest(), query.right.unnest()]
        streams = sum(flowing.get(id(one), False) for one in below)
        flowing[id(query)] = bool(streams)
        if not streams or not isinstance(query, exp.Query):
            continue
        if streams > 1 and not isinstance(query, exp.SetOperation):
            return "a join of two streams"
        if isinstance(query, exp.SetOperation) and query.args.get("distinct"):
            return "UNION without ALL"
        for key, said in (("group", "GROUP BY"), ("distinct", "DISTINCT"), ("limit", "LIMIT"),
                          ("order", "ORDER BY")):  # fmt: skip
            if query.args.get(key):
                return said
        if any(_aggregates(one) for one in query.selects):
            return "an aggregate function"
    return ""


def _aggregates(select: exp.Expr) -> bool:
    from sqlglot import exp

    return any(
        isinstance(node, exp.AggFunc | exp.Window)
        for node in select.walk(prune=lambda node: isinstance(node, exp.Query))
        if not isinstance(node, exp.Query)
    )


def _span(table: exp.Table) -> tuple[int, int]:
    """Where the whole name of a table stands in the text."""
    first = table.args.get("catalog") or table.args.get("db") or table.this
    return int(first.meta["start"]), int(table.this.meta["end"]) + 1


def _without_stream(sql: str, tokens: Tokens) -> tuple[str, set[int], list[Span]]:
    """The text with spaces for STREAM and its parentheses; where such names start; the spaces."""
    letters, streams, spans = list(sql), set(), []
    for number, token in enumerate(tokens[:-1]):
        before = tokens[number - 1].token_type.name if number else ""
        if token.text.upper() != "STREAM" or before not in _BEFORE_TABLES:
            continue
        after = tokens[number + 1]
        gone = [token]
        if after.text == "(":
            end = next((t for t in tokens[number + 2 :] if t.text == ")"), after)
            gone += [after, end]
            after = tokens[number + 2] if number + 2 < len(tokens) else after
        elif after.token_type.name not in ("VAR", "IDENTIFIER"):
            continue  # a table of that name
        streams.add(after.start)
        for one in gone:
            letters[one.start : one.end + 1] = " " * (one.end + 1 - one.start)
        spans += [(one.start, one.end + 1, "") for one in gone[1:]]
        spans.append((token.start, after.start if len(gone) == 1 else token.end + 1, ""))
    return "".join(letters), streams, spans


def _tokens(text: str, where: str) -> Tokens:
    import sqlglot
    from sqlglot.errors import TokenError

    try:
        return sqlglot.tokenize(text, dialect="spark")
    except TokenError as error:
        raise InvalidSpec(f"{where}: {' '.join(str(error).split())}") from None


def _statements(tokens: Tokens) -> Iterator[Tokens]:
    start = 0
    for number, token in enumerate(tokens):
        if token.text == ";" and token.token_type.name == "SEMICOLON":
            if number > start:
                yield tokens[start:number]
            start = number + 1
    if start < len(tokens):
        yield tokens[start:]


class _Reader:
    """One statement, word by word."""

    def __init__(self, text: str, tokens: Tokens, file: str, project: Project) -> None:
        self.text = text
        self.tokens = tokens
        self.file = file
        self.project = project
        self.at = 0
        self.where = f"{file}:{tokens[0].line}"

    def words(self, count: int) -> list[str]:
        return [one.text.upper() for one in self.tokens[self.at : self.at + count]]

    def take(self, *words: str) -> bool:
        """Go past these words if they come next."""
        if self.words(len(words)) != list(words):
            return False
        self.at += len(words)
        return True

    def statement(self) -> tuple[Output | None, tuple[str, str, Query] | None]:
        self.expect("CREATE")
        self.take("OR", "REPLACE") or self.take("OR", "REFRESH")
        if self.take("FLOW"):
            return None, self.flow()
        kind = self.kind()
        self.take("IF", "NOT", "EXISTS")
        name = self.name()
        schema = self.columns()
        options = self.options()
        output = Output(name, kind, self.file, self.tokens[0].line, schema=schema, **options)
        if self.take("AS"):
            return output, (name, name, self.query())
        if kind is not Kind.STREAMING_TABLE:
            raise InvalidSpec(f"{self.where}: the {kind} {name} has no query.")
        return output, None

    def kind(self) -> Kind:
        if self.take("MATERIALIZED", "VIEW"):
            return Kind.MATERIALIZED_VIEW
        if self.take("STREAMING", "TABLE"):
            return Kind.STREAMING_TABLE
        if self.take("TEMPORARY", "VIEW") or self.take("TEMP", "VIEW") or self.take("VIEW"):
            return Kind.VIEW
        raise self.unknown()

    def flow(self) -> tuple[str, str, Query]:
        name = self.name()
        self.options()
        self.expect("AS")
        if self.words(1) != ["INSERT"]:
            raise InvalidSpec(
                f"{self.where}: the flow {name} is an AUTO CDC flow, which is not supported.",
                hint="Merge rows by key with a pipeline of its own.",
            )
        self.expect("INSERT")
        self.expect("INTO")
        if self.take("ONCE"):
            raise InvalidSpec(
                f"{self.where}: the flow {name} runs once, which is not supported.",
                hint="Put those rows into a repo, and read them as a stream.",
            )
        target = self.name()
        self.take("BY", "NAME")
        return name, target, self.query()

    def query(self) -> Query:
        if self.at >= len(self.tokens):
            raise InvalidSpec(f"{self.where}: a query is missing.")
        first = self.tokens[self.at]
        sql = self.text[first.start : self.tokens[-1].end + 1]
        return read_query(sql, self.file, self.project, first.line)

    def name(self) -> str:
        if self.at >= len(self.tokens):
            raise InvalidSpec(f"{self.where}: a name is missing.")
        first = last = self.tokens[self.at]
        self.at += 1
        while self.words(1) == ["."] and self.at + 1 < len(self.tokens):
            last = self.tokens[self.at + 1]
            self.at += 2
        return self.project.name_of(self.text[first.start : last.end + 1])

    def columns(self) -> str:
        return self.parentheses() if self.words(1) == ["("] else ""

    def parentheses(self) -> str:
        """What is between these parentheses."""
        start, depth = self.tokens[self.at].end + 1, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            self.at += 1
            if not depth:
                return self.text[start : token.start].strip()
        raise InvalidSpec(f"{self.where}: a parenthesis is not closed.")

    def options(self) -> dict[str, Any]:
        """Everything between the name and AS."""
        found: dict[str, Any] = {}
        unused: list[str] = []
        while self.at < len(self.tokens) and self.words(1) != ["AS"]:
            if self.take("COMMENT"):
                found["comment"] = self.string()
            elif self.take("PARTITIONED BY") or self.take("PARTITIONED", "BY"):
                names = self.parentheses().split(",")
                found["partition_by"] = tuple(name.strip().strip("`") for name in names)
            elif self.words(1) == ["("]:
                self.parentheses()
            else:
                unused.append(self.words(1)[0].lower().replace("cluster by", "cluster_by"))
                self.at += 1
        known = ("cluster_by", "tblproperties", "using")
        return {**found, "unused": tuple(one for one in unused if one in known)}

    def string(self) -> str:
        """A text; several in a row are one, as in 'it''s'."""
        parts = []
        while self.at < len(self.tokens) and self.tokens[self.at].token_type.name == "STRING":
            parts.append(self.tokens[self.at].text)
            self.at += 1
        return "".join(parts)

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.unknown()

    def unknown(self) -> InvalidSpec:
        start = " ".join(one.text for one in self.tokens[: self.at + 1])
        return InvalidSpec(
            f"{self.where}: {start!r} does not start a statement of a pipeline.",
            hint=f"There are {_KNOWN}.",
        )
