"""The kinds of values a field may have, each with its spelling and its place in the schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.errors import TrunklineError
from trunkline.model.paths import NAME_PATTERN, validate_name
from trunkline.model.suggest import shown
from trunkline.pipelines.cron import parse_catch_up, parse_cron
from trunkline.pipelines.globs import Glob
from trunkline.pipelines.walltime import zone


class Unfit(ValueError):
    """A value that its field cannot have. Pydantic carries it; we say where it stood."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


def _by(check: Callable[[str], object]) -> AfterValidator:
    """A validator that keeps the text and lets `check` refuse it in its own words."""

    def checked(text: str) -> str:
        try:
            check(text)
        except TrunklineError as error:
            raise Unfit(error.message, error.hint) from None
        return text

    return AfterValidator(checked)


def _plain(text: str) -> str:
    for char in text:
        if char == "\0" or "\ud800" <= char <= "\udfff":
            raise Unfit(f"It has the character U+{ord(char):04X}, which no program can be given.")
    return text


Text = Annotated[str, AfterValidator(_plain)]


def _has_no_margin(text: str) -> str:
    if text != text.strip():
        raise Unfit("It begins or ends with a space.", "Leave that out.")
    return text


Address = Annotated[Text, AfterValidator(_has_no_margin)]
"""A place elsewhere. Libraries do not agree on what a space at its end means."""


def _named(kind: str) -> AfterValidator:
    return _by(lambda text: validate_name(kind, text))


def _or_empty(kind: str) -> AfterValidator:
    """A name, where '' is what Pachyderm writes for "not given"."""
    return _by(lambda text: text and validate_name(kind, text))


_NAME = WithJsonSchema({"type": "string", "pattern": f"^{NAME_PATTERN}$"})
_NAME_OR_NOT = WithJsonSchema({"type": "string", "pattern": f"^({NAME_PATTERN})?$"})

PipelineName = Annotated[str, _named("pipeline"), _NAME]
RepoText = Annotated[str, _named("repo"), _NAME]
InputName = Annotated[str, _or_empty("input"), _NAME_OR_NOT]
BranchText = Annotated[str, _or_empty("branch"), _NAME_OR_NOT]
PoolName = Annotated[str, _or_empty("pool"), _NAME_OR_NOT]
TargetName = Annotated[str, _or_empty("target"), _NAME_OR_NOT]
ProjectName = Annotated[
    str,
    _by(lambda text: text and validate_name("project", text)),
    BeforeValidator(lambda given: given["name"] if _only_name(given) else given),
    WithJsonSchema(
        {"anyOf": [{"type": "string"}, {"type": "object", "required": ["name"],
                   "properties": {"name": {"type": "string"}}, "additionalProperties": False}]}
    ),
]  # fmt: skip


def _only_name(given: object) -> bool:
    return isinstance(given, dict) and set(given) == {"name"}


GlobText = Annotated[str, _by(Glob)]
TimeZone = Annotated[str, _by(zone)]
CronText = Annotated[str, _by(parse_cron)]
CatchUp = Annotated[str, _by(parse_catch_up)]


def _digits(given: object) -> object:
    """Whole numbers may come as text: JSON made from protobuf has them so."""
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,18}", given):
        return int(given)
    return given


_DIGITS = BeforeValidator(_digits)


_MOST = 2**53


def _from(least: int) -> WithJsonSchema:
    either = [{"type": "integer", "minimum": least}, {"type": "string", "pattern": "^[0-9]+$"}]
    return WithJsonSchema({"anyOf": either})


Count = Annotated[int, _DIGITS, Field(ge=0, le=_MOST), _from(0)]
Positive = Annotated[int, _DIGITS, Field(ge=1, le=_MOST), _from(1)]
Integer = Annotated[
    int,
    _DIGITS,
    Field(ge=-(2**31), le=2**31),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^-?[0-9]+$"}]}),
]
ReturnCode = Annotated[
    int, _DIGITS, Field(ge=0, le=255), WithJsonSchema({"type": ["integer", "string"]})
]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400}
_duration_part = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(ns|us|µs|ms|s|m|h|d)")
_LONGEST = 100 * 366 * 86400


def _seconds(given: object) -> object:
    if not isinstance(given, str | int | float) or isinstance(given, bool):
        return given
    seconds = float(given) if isinstance(given, int | float) else _spelled_seconds(given)
    if not 0 <= seconds <= _LONGEST:
        raise Unfit(f"{given} is not between 0 and 100 years.")
    return seconds


def _spelled_seconds(text: str) -> float:
    parts = _duration_part.findall(text)
    if not parts or "".join(map("".join, parts)) != text:
        raise Unfit(f"{shown(text)} is not a duration.", 'Write "90s", "10m" or "1h30m".')
    return float(sum(float(number) * _UNITS[unit] for number, unit in parts))


def _some_time(seconds: float) -> float:
    if not seconds:
        raise Unfit("It must be longer than nothing.", "Leave it out for no limit.")
    return seconds


_DURATION_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string"}]}
Pause = Annotated[float, BeforeValidator(_seconds), WithJsonSchema(_DURATION_SCHEMA)]
Duration = Annotated[Pause, AfterValidator(_some_time)]

_size = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?([kmgtp]?)(i?)(b?)", re.IGNORECASE)


def _bytes(given: object) -> object:
    if not isinstance(given, str):
        return given
    found = _size.fullmatch(given)
    if found is None or (found[3] and not found[2]):
        raise Unfit(f"{shown(given)} is not a size.", 'Write "100MB", "512Mi" or "1GB".')
    power = " kmgtp".index(found[2].lower() or " ")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** power)


Size = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=1, le=2**60),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string"}]}),
]
SizeOrNone = Annotated[
    int,
    BeforeValidator(_bytes),
    Field(ge=0, le=2**60),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}),
]


def _is_moment(text: str) -> str:
    try:
        fits = 1970 <= datetime.fromisoformat(text).year < 9000
    except ValueError:
        fits = False
    if not fits:
        raise Unfit(
            f"{shown(text)} is not a time.", 'Write "2026-01-31T06:00:00Z" or "2026-01-31".'
        )
    return text


Moment = Annotated[str, AfterValidator(_is_moment)]


def moment(text: str, timezone: str) -> str:
    """A time in UTC, RFC 3339. One without an offset is meant in the time zone given."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        at = at.replace(tzinfo=ZoneInfo(timezone))
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _lines(given: object) -> object:
    return given.splitlines() if isinstance(given, str) else given


Lines = Annotated[
    list[Text],
    BeforeValidator(_lines),
    WithJsonSchema({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "string"}]}),
]


def _command(given: object) -> object:
    if isinstance(given, str):
        raise Unfit(
            f"A command is a list of arguments, not the text {shown(given, 40)}.",
            "Write [python3, a.py]; for a line of shell, cmd: [sh] and the line in stdin.",
        )
    return given


def _has_program(parts: list[str]) -> list[str]:
    if not parts or not parts[0]:
        raise Unfit("The command names no program.", "Its first member is the program.")
    return parts


Command = Annotated[
    list[Text],
    BeforeValidator(_command),
    AfterValidator(_has_program),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 1}),
]

_python = re.compile(r"(?!/)[^:\0]+\.py:[^\W\d]\w*").fullmatch


def _is_function(text: str) -> str:
    if not _python(text) or ".." in text.split(":")[0].split("/"):
        raise Unfit(f"{shown(text)} names no function.", "Write file.py:function.")
    return text


PythonFunction = Annotated[str, AfterValidator(_is_function)]


def _is_variable(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise Unfit(f"{shown(name)} cannot be the name of a variable.")
    return name


Variable = Annotated[Text, AfterValidator(_is_variable)]


def _is_setting(name: str) -> str:
    if not name.startswith("spark."):
        raise Unfit(f"{shown(name)} is not a Spark setting.", 'Their names start with "spark.".')
    return name


def _as_text(given: object) -> object:
    if isinstance(given, bool):
        return str(given).lower()
    return str(given) if isinstance(given, int | float) else given


SparkName = Annotated[Text, AfterValidator(_is_setting)]
SparkValue = Annotated[
    Text,
    BeforeValidator(_as_text),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),
]


def _is_secret(name: str) -> str:
    """A secret is named, never told: `token`, or `kafka/password`."""
    try:
        for part in name.split("/", 1):
            validate_name("secret", part)
    except TrunklineError as error:
        raise Unfit(error.message, "Set it with: trunkline secret set NAME") from None
    return name


SecretName = Annotated[str, AfterValidator(_is_secret), WithJsonSchema({"type": "string"})]
