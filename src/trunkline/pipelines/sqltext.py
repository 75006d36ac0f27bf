"""SQL of a pipeline: steps, a result, and which inputs they read.

    CREATE TEMP VIEW paid AS SELECT * FROM orders WHERE paid;
    SELECT day, sum(amount) AS revenue FROM paid GROUP BY day

Statements are separated by `;`. Views are steps in between. The last SELECT is the result;
instead of it, `CREATE TABLE name AS SELECT …` makes one of several tables. Nothing else may be
here. Whether a query itself is right is for Spark to say: see `sql_reads`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from trunkline.errors import TrunklineError
from trunkline.model.folding import fold_spark
from trunkline.model.paths import validate_name
from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.sql_fill import check_params, fill
from trunkline.pipelines.sql_reads import reads
from trunkline.pipelines.sql_tokens import (
    INLINE,
    STRING,
    Token,
    caret,
    code,
    essence,
    position,
    refuse,
)

__all__ = [
    "INLINE", "Read", "Script", "Step", "caret", "check_params", "check_reads", "essence", "fill",
    "forbidden", "parse",
]  # fmt: skip

Kind = Literal["view", "table", "result"]

_QUERY = ("SELECT", "WITH", "VALUES", "FROM", "TABLE", "(")
_STATEMENTS = ("SELECT", "WITH", "VALUES", "FROM", "CREATE")
_OTHERS = {"CACHE", "DELETE", "MERGE", "RESET", "SET", "TRUNCATE", "UPDATE"}
_FORMS = (
    "Its statements are SELECT, CREATE TEMP VIEW name AS SELECT and CREATE TABLE name AS SELECT."
)
_FORBIDDEN = {
    "reflect": "calls Java",
    "try_reflect": "calls Java",
    "java_method": "calls Java",
    "read_files": "reads files that are no input",
    "identifier": "hides which table is read",
}


def forbidden(token: Token, after: Token) -> tuple[str, str] | None:
    """What is wrong with two tokens, and what to do, if they run what is no SQL."""
    # A function is called in lower case; words of SQL, as IDENTIFIER, are read in upper case.
    names = (fold_spark(token.name), token.upper.lower()) if after.text == "(" else ()
    for called in names if token.is_name else ():
        if called in _FORBIDDEN:
            return f"{called} is not possible in a pipeline: it {_FORBIDDEN[called]}.", ""
    if token.upper == "USING" and after.kind == STRING:
        return "USING a program is not possible in a pipeline.", "Write a pipeline with cmd."
    return None


@dataclass(frozen=True, slots=True)
class Step:
    """One query. A view's or table's name; '' for the result. Where `sql` begins, from 1."""

    name: str
    kind: Kind
    sql: str
    line: int
    column: int = 1


class Read(NamedTuple):
    """A table that a query reads, and where."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class Script:
    """What a text does. `found` has every read that is no step; `doubt` is the first place that
    we could not follow, or -1: then `found` may have too few names, or too many.
    """

    sql: str
    steps: tuple[Step, ...]
    found: tuple[Read, ...]
    doubt: int = -1

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of inputs it reads, each once, as they are written."""
        return tuple({fold_spark(read.name): read.name for read in self.found}.values())

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables it makes; none if it has one result."""
        return tuple(step.name for step in self.steps if step.kind == "table")


def parse(sql: str, *, where: str) -> Script:
    """The steps of a text whose parameters are filled in."""
    parser = _Parser(sql, where)
    for statement in parser.statements():
        parser.add(statement)
    return parser.script()


def check_reads(script: Script, inputs: Sequence[str], where: str) -> None:
    """Refuse reading what is no input, and steps that are called as one."""
    known = set(map(fold_spark, inputs))
    hint = f"Its inputs: {', '.join(inputs)}."
    for step in script.steps:
        if fold_spark(step.name) in known:
            at = _offset(script.sql, step.line, step.column)
            refuse(script.sql, at, where, f'"{step.name}" is an input already.',
                   f"Give the {step.kind} another name.")  # fmt: skip
    unknown = [read for read in script.found if fold_spark(read.name) not in known]
    if script.doubt >= 0:
        if len(unknown) == len(script.found):
            refuse(script.sql, script.doubt, where, "this cannot be read as SQL.")
        return
    for read in unknown:
        near = did_you_mean(read.name, [*inputs, *(step.name for step in script.steps)])
        refuse(script.sql, read.at, where, f"there is no input {shown(read.name)}.{near}", hint)


def _offset(sql: str, line: int, column: int) -> int:
    return sum(len(text) + 1 for text in sql.split("\n")[: line - 1]) + column - 1


class _Parser:
    """Goes through the statements of one text."""

    def __init__(self, sql: str, where: str) -> None:
        self.sql = sql
        self.where = where
        self.steps: list[Step] = []
        self.found: list[Read] = []
        self.doubt = -1
        self.result: Token | None = None

    def statements(self) -> Iterator[list[Token]]:
        statement: list[Token] = []
        for token in code(self.sql, self.where):
            if token.text == ";":
                if statement:
                    yield statement
                statement = []
            else:
                statement.append(token)
        if statement:
            yield statement

    def add(self, statement: list[Token]) -> None:
        if self.result is not None:
            self.refuse(self.result, "the result of this query is not used.",
                        "Only the last statement is a plain query; put CREATE TEMP VIEW name AS "
                        "before the others.")  # fmt: skip
        first = statement[0]
        if first.upper == "CREATE":
            name, kind, query = self.created(statement)
            self.step(name, kind, query)
        elif first.upper in _QUERY:
            self.result = first
            self.step("", "result", statement)
        else:
            word = first.upper or first.text
            near = "" if word in _OTHERS else did_you_mean(word, _STATEMENTS)
            self.refuse(first, f"{word} is not possible in a pipeline.{near}", _FORMS)

    def created(self, statement: list[Token]) -> tuple[str, Kind, list[Token]]:
        """Name, kind and query of a CREATE statement."""
        rest = _Cursor(statement[1:], statement[0])
        rest.take("OR", "REPLACE")
        if rest.take("GLOBAL"):
            self.refuse(rest.last, "there are no GLOBAL views here.", "Leave GLOBAL out.")
        temporary = rest.take("TEMP") or rest.take("TEMPORARY")
        kind: Kind = "view"
        if rest.take("TABLE"):
            kind = "table"
            if temporary:
                self.refuse(rest.last, "there are no temporary tables.", "Make it a TEMP VIEW.")
        elif not rest.take("VIEW"):
            word = rest.next.upper if rest.next else "nothing"
            self.refuse(rest.next or rest.last, f"CREATE {word} is not possible in a pipeline.",
                        _FORMS)  # fmt: skip
        rest.take("IF", "NOT", "EXISTS")
        name = self.name(rest, kind)
        if not rest.take("AS"):
            self.between(rest, kind, name)
        query = rest.tokens[rest.at :]
        if not query or query[0].upper not in _QUERY:
            self.refuse(query[0] if query else rest.last, "a SELECT is wanted after AS.")
        return name, kind, query

    def name(self, rest: _Cursor, kind: Kind) -> str:
        token = rest.next
        if token is None or not token.is_name or token.upper == "AS":
            self.refuse(token or rest.last, f"the {kind} has no name.")
        rest.at += 1
        if rest.take("."):
            self.refuse(token, f"the name of a {kind} has no dot.", "Leave out what is before it.")
        try:
            validate_name(kind, token.name)
        except TrunklineError as error:
            self.refuse(token, error.message, error.hint)
        if any(fold_spark(step.name) == fold_spark(token.name) for step in self.steps):
            self.refuse(token, f'"{token.name}" is made twice.', "Give one another name.")
        return token.name

    def between(self, rest: _Cursor, kind: Kind, name: str) -> NoReturn:
        token = rest.next
        hint = f"Write CREATE {'TABLE' if kind == 'table' else 'TEMP VIEW'} {name} AS SELECT."
        if token is None:
            self.refuse(rest.last, "AS and a SELECT are wanted after the name.", hint)
        if token.upper == "PARTITIONED":
            hint = "Name the columns in transform.partition_by."
        if token.text == "(":
            hint = "Name the columns in the SELECT."
        self.refuse(token, f"AS is wanted after the name, not {shown(token.text)}.", hint)

    def step(self, name: str, kind: Kind, query: list[Token]) -> None:
        self.check(query)
        start, end = query[0].start, query[-1].end
        text = self.sql[start:end]
        found = reads(text, query)
        steps = {fold_spark(step.name) for step in self.steps if step.name}
        for read in found.names:
            if read.is_file:
                refuse(self.sql, read.at, self.where, "a pipeline reads its inputs, not files.",
                       "Put the files into a repo and name it in input.")  # fmt: skip
            if read.folder:
                whole = f"{read.folder}.{read.name}"
                refuse(self.sql, read.at, self.where, f"{shown(whole)} is no input: it has a dot.",
                       "Inputs are read by their name alone.")  # fmt: skip
            if fold_spark(read.name) not in steps:
                self.found.append(Read(read.name, read.at))
        if found.doubt >= 0 and self.doubt < 0:
            self.doubt = found.doubt
        line, column = position(self.sql, start)
        self.steps.append(Step(name, kind, text, line, column))

    def check(self, query: list[Token]) -> None:
        """What no query may have, wherever it stands in it."""
        opened: list[Token] = []
        for i, token in enumerate(query):
            after = query[i + 1] if i + 1 < len(query) else None
            if token.text == "(":
                opened.append(token)
            elif token.text == ")":
                if not opened:
                    self.refuse(token, 'this ")" closes nothing.')
                opened.pop()
            if after is None:
                continue
            if why := forbidden(token, after):
                self.refuse(token, why[0], why[1])
            if token.upper == "INSERT" and after.upper in ("INTO", "OVERWRITE"):
                self.refuse(token, "INSERT is not possible in a pipeline.", _FORMS)
        if opened:
            self.refuse(opened[-1], 'this "(" is never closed.')

    def script(self) -> Script:
        tables = [step for step in self.steps if step.kind == "table"]
        if self.result is not None and tables:
            self.refuse(self.result, "there is a result beside tables.",
                        "Give it a name: CREATE TABLE name AS SELECT.")  # fmt: skip
        if self.result is None and not tables:
            refuse(self.sql, len(self.sql.rstrip()), self.where, "there is no result.",
                   "The last statement is a SELECT.")  # fmt: skip
        return Script(self.sql, tuple(self.steps), tuple(self.found), self.doubt)

    def refuse(self, token: Token, message: str, hint: str = "") -> NoReturn:
        refuse(self.sql, token.start, self.where, message, hint)


class _Cursor:
    """A place among tokens. `last` is the one before it."""

    def __init__(self, tokens: list[Token], last: Token) -> None:
        self.tokens = tokens
        self.at = 0
        self._first = last

    @property
    def next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def last(self) -> Token:
        return self.tokens[self.at - 1] if self.at else self._first

    def take(self, *words: str) -> bool:
        """Step over the words, if they come next."""
        come = [token.upper for token in self.tokens[self.at : self.at + len(words)]]
        if come != list(words):
            return False
        self.at += len(words)
        return True
