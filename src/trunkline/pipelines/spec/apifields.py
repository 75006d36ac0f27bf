"""The fields of HTTP APIs, as a source of an ingest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from trunkline.model.suggest import shown
from trunkline.pipelines.spec.fields import Fields, about
from trunkline.pipelines.spec.kinds import SOURCES
from trunkline.pipelines.spec.places import Flaw, Loc, path_text
from trunkline.pipelines.spec.tablevalues import Columns
from trunkline.pipelines.spec.values import (
    Pause,
    SecretName,
    Size,
    SparkValue,
    Text,
    Unfit,
)

_API = SOURCES["api"]
_hidden = re.compile(
    r"authori[sz]ation|cookie|secret|password|token|api.?key|credential", re.IGNORECASE
).search
_rate = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*/\s*(s|m|h)").fullmatch
_SECONDS = {"s": 1, "m": 60, "h": 3600}
_path = re.compile(r"\.|[^.\[\]\s]+(\.[^.\[\]\s]+|\[[0-9]+\])*").fullmatch


def _is_api(url: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise Unfit("It is no address of a web server.", 'Write "https://host/path".')
    told = any(_hidden(name) for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    if "@" in parts.netloc or told:
        # The address itself is not shown: it would be in logs.
        raise Unfit("An address holds no credentials.", "Name a secret: token: NAME.")
    return url


def _holds_no_secret(given: dict[str, Any]) -> dict[str, Any]:
    for name in given:
        if _hidden(name):
            raise Unfit(f"{name} does not belong into a spec.",
                        f"Write token: NAME, or secrets: {{{name}: NAME}}.")  # fmt: skip
    return given


def _is_path(text: str) -> str:
    if text and not _path(text):
        raise Unfit(f"{shown(text)} is no path.", 'Write names with dots: "data.items".')
    return text


def _per_second(given: Any) -> Any:
    if isinstance(given, str):
        found = _rate(given.strip())
        if found is None or not float(found[1]):
            raise Unfit(f"{shown(given)} is no rate.", 'Write it as "5/s", "100/m" or "1000/h".')
        return float(found[1]) / _SECONDS[found[2]]
    if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
        return float(given)  # so many in a second
    raise Unfit("It is how often to ask.", 'Write it as "5/s".')


Path = Annotated[Text, AfterValidator(_is_path)]
Plain = Annotated[dict[Text, SparkValue], AfterValidator(_holds_no_secret)]
Rate = Annotated[
    float,
    BeforeValidator(_per_second),
    WithJsonSchema({"type": ["string", "number"]}),
]


class PageField(Fields):
    param: Text = about("The parameter that has the number of the page.", "page")
    size_param: Text = about("The parameter that has how many records a page has.", "")
    size: Annotated[int, Field(ge=0)] = about("How many records a page has; 0 is unknown.", 0)
    start: Annotated[int, Field(ge=0)] = about("The number of the first page.", 1)


class OffsetField(Fields):
    param: Text = about("The parameter that has how many records to skip.", "offset")
    limit_param: Text = about("The parameter that has how many records to give.", "")
    limit: Annotated[int, Field(ge=0)] = about("How many records to ask for; 0 is unknown.", 0)


class CursorField(Fields):
    param: Text = Field(description="The parameter that has the cursor.")
    origin: Path = Field(alias="from", description="Where an answer has the next cursor.")


class PagingField(Fields):
    page: PageField | None = about("Pages have numbers.")
    offset: OffsetField | None = about("A page begins behind so many records.")
    cursor: CursorField | None = about("An answer has the cursor of the next page.")
    link: Literal[True] | None = about("The Link header has the address of the next page.")
    next: Path | None = about("Where an answer has the address of the next page.")


class SinceField(Fields):
    param: Text = Field(description="The parameter that asks for what is newer.")
    origin: Path = Field(alias="from", description="The field of a record that grows.")
    start: SparkValue | None = about("The value to begin with; without it, all is asked for.")


class ApiField(Fields):
    url: Annotated[Text, AfterValidator(_is_api)] = Field(description="The address to ask.")
    method: Literal["GET", "POST"] = about(
        "How to ask. With POST, parameters of paging go into the body.", _API["method"]
    )
    headers: Plain = about("Headers to send.", {})
    params: Plain = about("Parameters of the address.", {})
    body: dict[Text, Any] | None = about("With POST, what to send as JSON.")
    token: SecretName | None = about("The secret that is sent as a bearer token.")
    secrets: dict[Text, SecretName] = about("Headers that are secrets, and the secrets' names.", {})
    records: Path = about(
        'Where an answer has its records: "data.items"; without it, it is a list itself.',
        _API["records"],
    )
    paging: PagingField | None = about("How the next page is asked for; without it, there is one.")
    since: SinceField | None = about("Asks only for what is new.")
    key: Columns = about("The columns by which records take the place of older ones.", _API["key"])
    changes: Literal["replace", "append", "upsert"] | None = about(
        "Without it: upsert with a key, append with since, else replace."
    )
    every: Pause = about("How often it asks.", _API["every"])
    rate: Rate | None = about('Not more requests than this: "5/s".')
    timeout: Pause = about("How long an answer may take.", _API["timeout"])
    most: Size = about("The largest answer that is taken.", _API["most"])


def api_options(fields: ApiField, loc: Loc) -> tuple[dict[str, Any], Mapping[str, str]]:
    """The options of a source and its secrets, or the `Flaw` that keeps them from making sense."""
    names = type(fields).model_fields
    options = {name: value for name in names if (value := getattr(fields, name)) is not None}
    secrets = dict(options.pop("secrets"))
    for name in secrets:
        if name in names:
            raise Flaw((*loc, "secrets", name), f"{path_text(loc)}: {name} is no header.")
    if fields.token is not None:
        secrets["token"] = options.pop("token")
    if fields.paging is not None:
        options["paging"] = _paging(fields.paging, loc)
    if fields.since is not None:
        options["since"] = fields.since.model_dump(by_alias=True, exclude_none=True)
    _check(fields, loc)
    return options, secrets


def _paging(fields: PagingField, loc: Loc) -> dict[str, Any]:
    given = fields.model_dump(by_alias=True, exclude_none=True)
    if len(given) != 1:
        place: Loc = (*loc, "paging")
        what = f"has {' and '.join(given)}" if given else "is empty"
        raise Flaw(place, f"{path_text(place)} {what}, but takes exactly one of page, offset, "
                   "cursor, link and next.")  # fmt: skip
    return given


def _check(fields: ApiField, loc: Loc) -> None:
    if fields.body is not None and fields.method != "POST":
        raise Flaw((*loc, "body"), f"{path_text((*loc, 'body'))} goes with method: POST.")
    if (fields.changes == "upsert" and not fields.key) or (
        fields.key and fields.changes not in (None, "upsert")
    ):
        raise Flaw((*loc, "key"), f"{path_text(loc)}: key goes with changes: upsert, which needs "
                   "it.")  # fmt: skip
    if fields.since is not None and fields.changes == "replace":
        raise Flaw((*loc, "changes"), f"{path_text(loc)}: since brings only what is new, which "
                   "cannot replace all.", "Write changes: append, or a key.")  # fmt: skip
