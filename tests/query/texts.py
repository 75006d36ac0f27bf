"""SQL-like texts in which two readers may see two things: one a comment or a string, one code.

`texts` makes them from well-formed queries with traps between their words, from traps around a
bait, and from traps alone; few are queries to anybody. `Queries` puts them together of what one
reader takes, and changes some in one place: most are queries to it. Of a text in which a reader
finds `BAIT` as a function or a table, every other reader has to find it too, or the text has to be
refused. `names` are well-formed, and have names that are nearly the bait's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

BAIT = "fishhook"

_QUOTES = ("'", '"', "`", "''", '""', "``", "'''", '"""')
_ESCAPES = ("\\", "\\\\", "\\'", '\\"', "\\`", "\\n", "\\\n", "\\\r\n", "\\\r", "\\u0027", "\\047")
_PREFIXES = (
    "r'", 'r"', "R'", "x'", "X'", "b'", "B'", "e'", "E'", "n'", "N'", "u&'", "U&'", "_utf8'",
    "date'", "interval'", "raw'", "q'[", "]'",
)  # fmt: skip
_COMMENTS = ("--", "-- ", "---", "//", "#", "/*", "*/", "/**", "/*/", "**/", "/*+", "/*!", "/* /* ")
_HINTS = ("/*+ x */", "/*+ x('/*') */", "/*+ x(", "/*+ BROADCAST(a), */", ") */", "/*+ '*/")
_DOLLARS = ("$", "$$", "$a$", "$1$", "$1x$", "$_$", "$é$", "$a", "$1", "$-1$", "$$a$$", "${a}")
_TEMPLATES = ("{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "{%- ", " -%}", "{{ a }}", "{'a': 1}")
_SPACES = (
    " ", "\n", "\r", "\r\n", "\t", "\v", "\f", "\x00", "\x1a", "\x85", "\xa0", "\u2028", "\u2029",
    "\u200b", "\u3000", "\ufeff", "\u180e",
)  # fmt: skip
_LETTERS = ("é", "ſ", "İ", "ı", "\u212a", "𝒜", "＇", "＂", "′", "‘", "’", "\u0301", "\ud7ff", "🦆")
_MARKS = (
    "@", "@@", "?", ":a", ":", "::", "|>", "|", "=>", "->", "%", "!", "~", ";", ",", "(", ")", "[",
    "]", ".", "..", "*", "+", "-", "<", ">", "=", "^", "&", "/", "1", "1e", "1.e1", "0x1f", "a",
    "A", "_", "1a", "a1", "1_0", ".1", "1.", "1L", "1BD", "!=", "<=>", "<>",
)  # fmt: skip
_WORDS = (
    "SELECT", "FROM", "WHERE", "AS", "AND", "NULL", "TABLE", "VALUES", "WITH", "USING", "AT",
    "LATERAL", "UNION ALL", "IN", "JOIN", "ON", "END", "BEGIN", "SET", "EXPLAIN", "ESCAPE '!'",
)  # fmt: skip
_KINDS = (
    _QUOTES, _QUOTES, _ESCAPES, _ESCAPES, _PREFIXES, _COMMENTS, _COMMENTS, _HINTS, _DOLLARS,
    _TEMPLATES, _SPACES, _SPACES, _LETTERS, _MARKS, _WORDS,
)  # fmt: skip
_PAIRS = (
    ("'", "'"), ('"', '"'), ("`", "`"), ("/*", "*/"), ("/*+", "*/"), ("/*/*", "*/*/"), ("--", "\n"),
    ("--\\\n", "\n"), ("#", "\n"), ("//", "\n"), ("$$", "$$"), ("$a$", "$a$"), ("$1x$", "$1x$"),
    ("{#", "#}"), ("{{", "}}"), ("{%", "%}"), ("r'", "'"), ("e'", "'"), ("'\\", "'"),
    ("'''", "'''"), ("r'\\", "'"), ('"\\', '"'), ("x'", "'"), ("q'[", "]'"), ("/*'", "'*/"),
    ("'/*", "*/'"),
)  # fmt: skip
_BAITS = (
    "fishhook(1)", "fishhook (1)", "`fishhook`(1)", '"fishhook"(1)', "fishhook\n(1)",
    "FISHHOOK(1)", "fishhook/**/(1)", "(SELECT 1 FROM fishhook)", "(SELECT 1 FROM `fishhook`)",
    '(SELECT 1 FROM "fishhook")', "(FROM fishhook)", "(TABLE fishhook)",
    "(WITH b AS (SELECT fishhook(1)) SELECT * FROM b)",
    "a.fishhook(1)", "exists(FROM fishhook)",
)  # fmt: skip
_QUERIES = (
    "SELECT 1 AS a , {} FROM t WHERE a = 'x'",
    "SELECT {}",
    "SELECT 'a' , {} , 'b'",
    "SELECT a , count(*) FROM t , {} s GROUP BY a",
    "WITH c AS ( SELECT {} ) SELECT * FROM c",
    "SELECT * FROM t WHERE a IN ( 1 , {} )",
    "SELECT * FROM t JOIN {} u ON t.a = u.a ORDER BY 1",
    "VALUES ( 1 , {} )",
    "SELECT 1 UNION ALL SELECT {}",
    "SELECT CASE WHEN {} THEN 'a' ELSE \"b\" END AS `c`",
    "SELECT 1 AS a -- {}",
    "SELECT 1 /* {} */ AS a",
    "SELECT '{}' AS a",
    'SELECT "{}" AS a',
    "SELECT * FROM `{}`",
)


# What may stand between two words, and what may stand for a value, if only to some readers.
_GAPS = (
    " ", "\n", "\t", "\r\n", "\r", "\f", "\xa0", "\u2028", "\ufeff", "/**/", "/* a */", "/* ' */",
    '/* " */', "/* ` */", "/* -- */", "/* \n */", "/* \\*/", "/***/", "/*/*/", "/*/**/*/",
    "/* /* */ */", "/* $$ */", "/* */ /* */", "--\n", "-- a\n", "-- '\n", '-- "\n', "-- `\n",
    "-- /*\n", "-- */\n", "-- \\\n", "--\\\r\n", "--\r", "--\r\n", "--\x85\n", "-- \u2028\n",
    "---\n", "--+ a\n", "-- $$\n", "#\n", "//\n", "/*+ x */", "/*! a */", "/* {{ */", "/*+ ' */",
)  # fmt: skip
_VALUES = (
    "1", "NULL", "a", "true", "1.5", "1e1", ".5", "x'41'", "X'00'", "DATE '2026-01-01'", "''",
    "'a'", "'a''b'", "'--'", "'/*'", "'*/'", "'\"'", "'`'", "'$$'", "'\\'", "'\\\\'", "'\\''",
    "'a\\'b'", "'\\'''", "'''\\'", "'\n'", "'\\\n'", "'\\u0027'", "'\\047'", "'{{'", "'''a'''",
    "'' ''", "'a' 'b'", "'a'\n'b'", "'a' /* ' */ 'b'", "'a' -- '\n'b'", '"a"', '"a""b"', '"\\"',
    '"\\""', "\"'\"", '"--"', '"/*"', '"`"', '"""a"""', "`a`", "`a``b`", "`'`", "`\\`", "`--`",
    "`/*`", "r'a'", "r'\\'", "R'\\''", "r'''\\'", 'r"\\"', "e'a'", "e'\\''", "E'\\\\'", "b'a'",
    "n'a'", "u&'a'", "$$a$$", "$$'$$", "$a$'$a$", "$1$a$1$", "$1x$'$1x$", "$a$$a$", "$_$--$_$",
    "$é$'$é$", ":a", "?", "[1]", "{'a': 1}", "(1)", "-1", "- -1", "--1\n1", "1--1\n", "1/**/+1",
    "a::int", "'a'::text", "CASE WHEN 'a' = '\\' THEN 1 END", "upper('a')", "concat('\\', 'b')",
    "'é'", "＇a", "a.a", "t.a", "(SELECT 1)", "a AS `'`", "a AS \"'\"", "1 AS é",
)  # fmt: skip
_CALLS = (
    "fishhook(1)", "fishhook (1)", "FISHHOOK(1)", "`fishhook`(1)", '"fishhook"(1)',
    "fishhook/**/(1)", "(SELECT 1 FROM fishhook)", "(SELECT a FROM `fishhook`)",
    "upper(fishhook(1))",
)  # fmt: skip
_WRAPPED = (
    "'{}'", '"{}"', "`{}`", "/* {} */1", "-- {}\n1", "1 -- {}\n", "$${}$$", "$a${}$a$",
    "$1x${}$1x$", "r'{}'", "e'{}'", "'''{}'''", "'\\' , {} --'\n", "/*+ {} */1",
    "'a' , {} , 'b'", "'a''{}''b'", "`a``{}`", "'\\', {}, '\\'", "--\\\n{}\n1",
    "/*/* {} */1 -- */\n", "/*/* */ {} */1", "'/*' , {} , '*/'", "# {}\n1", "'\\'' , {} , '\\''",
    "\"'\" , {} , \"'\"", "$1x$, {} --$1x$\n",
)  # fmt: skip
_FRAMES = (
    "SELECT {}", "SELECT {} FROM t", "SELECT a , {} FROM t ORDER BY 1", "VALUES ( {} )",
    "SELECT * FROM t WHERE a IN ( {} )", "WITH c AS ( SELECT {} ) SELECT * FROM c",
    "SELECT 1 UNION ALL SELECT {}", "SELECT ( SELECT max( a ) FROM t ) , {}",
    "SELECT DISTINCT {} FROM t u", "SELECT concat( {} ) FROM t", "SELECT * FROM ( SELECT {} ) s",
    "SELECT coalesce( {} ) AS c FROM t WHERE a = 'x' LIMIT 3", "EXPLAIN SELECT {}",
    "SELECT a , {} FROM t GROUP BY ALL HAVING a > '\\' ",
)  # fmt: skip

_ALIKE = {"f": "fF", "i": "iIİı", "s": "sSſ", "h": "hH", "o": "oO", "k": "kK\u212a"}
_NAMED = (
    "WITH {0} AS ( SELECT 'a' AS a ) SELECT * FROM {1}",
    "WITH {0} AS ( SELECT 'a' AS a ) SELECT a , ( SELECT max( a ) FROM {1} ) FROM {0}",
    "WITH b AS ( SELECT 1 AS a ) , {0} AS ( FROM b ) SELECT * FROM b , {1}",
    "WITH RECURSIVE {0} ( a ) AS ( SELECT 1 UNION ALL SELECT 2 FROM {1} ) SELECT a FROM {0}",
    "WITH b AS ( WITH {0} AS ( SELECT 1 AS a ) SELECT a FROM {0} ) SELECT * FROM b , {1}",
    "SELECT * FROM ( WITH {0} AS ( SELECT 1 AS a ) SELECT a FROM {1} ) s",
    "SELECT {0}(1) FROM ( SELECT 1 AS {1} ) s",
    "SELECT 1 AS {0} , {1} + 1 AS a",
)


class Queries:
    """Texts of parts that a reader takes by themselves, mostly."""

    def __init__(self, takes: Callable[[str], bool]) -> None:
        wrapped = [one.replace("{}", call) for one in _WRAPPED for call in _CALLS]
        self._values = [one for one in _VALUES if takes(f"SELECT {one}")]
        self._wrapped = [one for one in wrapped if takes(f"SELECT {one}")]
        self._calls = [one for one in _CALLS if takes(f"SELECT {one}")]
        self._gaps = [one for one in _GAPS if takes(f"SELECT{one}1")]

    def texts(self, chance: Random, count: int) -> Iterator[str]:
        for _ in range(count):
            parts = [self._part(chance) for _ in range(chance.randint(1, 4))]
            text = chance.choice(_FRAMES).replace("{}", " , ".join(parts))
            if chance.random() < 0.7:
                gaps = self._gaps if chance.random() < 0.9 else _GAPS
                words = text.split(" ")
                for _ in range(chance.randint(1, 3)):
                    at = chance.randrange(len(words))
                    words[at] = chance.choice(gaps) + words[at]
                text = " ".join(words)
            yield _changed(chance, text) if chance.random() < 0.25 else text

    def _part(self, chance: Random) -> str:
        drawn = chance.random()
        if drawn < 0.03:
            return chance.choice(_VALUES)
        if drawn < 0.55:
            return chance.choice(self._values)
        return chance.choice(self._wrapped if drawn < 0.9 else self._calls)


def _changed(chance: Random, text: str) -> str:
    """With one character less or more, mostly one of those that readers differ on."""
    places = [at for at, one in enumerate(text) if one in "'\"`\\/*-$\n"] or [0]
    at = chance.choice(places)
    way = chance.randrange(3)
    if way == 0:
        return text[:at] + text[at + 1 :]
    added = text[at] if way == 1 else chance.choice(chance.choice(_KINDS))
    return text[:at] + added + text[at:]


def names(chance: Random, count: int) -> Iterator[str]:
    """Texts with names that some take for one and others for two: a WITH may hide the bait."""
    for _ in range(count):
        mark = chance.choice(("", '"', "`"))
        first, second = (mark + _spelled(chance) + mark for _ in range(2))
        yield chance.choice(_NAMED).format(first, second)


def _spelled(chance: Random) -> str:
    """The bait, or what is like it by the rules of some language or other."""
    if chance.random() < 0.4:
        return BAIT
    spelled = "".join(chance.choice(_ALIKE.get(one, one)) for one in BAIT)
    return spelled.replace(spelled[:2], "\ufb01") if chance.random() < 0.2 else spelled


def texts(chance: Random, count: int) -> Iterator[str]:
    """So many texts, the same ones for the same `chance`."""
    ways = (_sprinkled, _sprinkled, _around, _around, _around, _hidden, _hidden, _soup)
    for _ in range(count):
        yield chance.choice(ways)(chance)


def _sprinkled(chance: Random) -> str:
    """A query with traps between some of its words."""
    words = chance.choice(_QUERIES).format(chance.choice(_BAITS)).split(" ")
    return "".join(
        word + (" " if chance.random() < 0.8 else f" {_traps(chance, 3)} ") for word in words
    )


def _around(chance: Random) -> str:
    """A bait with traps before and behind it."""
    bait = f"{_traps(chance, 5)} , {chance.choice(_BAITS)} {_traps(chance, 4)}"
    return chance.choice(("SELECT 1 {}", "SELECT 1 {}", *_QUERIES)).format(bait)


def _hidden(chance: Random) -> str:
    """A bait between what opens and closes strings or comments, twice, in any order."""
    opens, closes = chance.choice(_PAIRS)
    other, end = chance.choice(_PAIRS)
    parts = [opens, other, closes, end]
    if chance.random() < 0.5:
        chance.shuffle(parts)
    parts.insert(chance.randint(1, 3), f" , {chance.choice(_BAITS)} ")
    between = [_traps(chance, 1) if chance.random() < 0.3 else "" for _ in parts]
    inside = "".join(part + trap for part, trap in zip(parts, between, strict=True))
    return chance.choice(("SELECT 1 {}", "SELECT 1 {}", *_QUERIES)).format(inside)


def _soup(chance: Random) -> str:
    start = chance.choice(("SELECT ", "SELECT 1 ", "FROM t ", "WITH a AS (", ""))
    return start + _traps(chance, 12) + chance.choice(("", f" {chance.choice(_BAITS)} "))


def _traps(chance: Random, most: int) -> str:
    return "".join(chance.choice(chance.choice(_KINDS)) for _ in range(chance.randint(1, most)))
