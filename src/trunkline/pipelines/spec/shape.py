"""The names of fields: known, misspelt, in protobuf's spelling, ignored or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from trunkline.model.suggest import did_you_mean, shown
from trunkline.pipelines.spec.fields import Fields, Ignored, OrOne, fields_of
from trunkline.pipelines.spec.ingestfields import IngestSpecField
from trunkline.pipelines.spec.model import SpecField
from trunkline.pipelines.spec.places import Flaw, Loc, path_text

_hump = re.compile(r"(?<=[a-z0-9])([A-Z])")


class Shape:
    """Walks a spec with its model. Afterwards every field is known and in our spelling.

    `typed` maps a place in our spelling to the one in the user's.
    """

    def __init__(self) -> None:
        self.ignored: dict[str, None] = {}
        self.typed: dict[Loc, Loc] = {}

    def spec(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return self._fields(model_of(raw), raw, (), ())

    def map(self, model: type[Fields], raw: Mapping[str, Any]) -> dict[str, Any]:
        """One map by itself."""
        return self._fields(model, raw, (), ())

    def original(self, loc: Loc) -> Loc:
        """The user's spelling of a place, as far as it was there."""
        for end in range(len(loc), 0, -1):
            if typed := self.typed.get(loc[:end]):
                return (*typed, *loc[end:])
        return loc

    def _fields(
        self, model: type[Fields], raw: Mapping[str, Any], loc: Loc, typed: Loc
    ) -> dict[str, Any]:
        found: dict[str, Any] = {}
        spelled: dict[str, str] = {}
        known = fields_of(model)
        for key, value in raw.items():
            here = (*typed, key)
            name = _known(model, key)
            if name is None:
                raise Flaw(here, f"{path_text(here)} is not a field{_near(model, key)}", _home(key))
            if name in spelled:
                raise Flaw(here, f"{shown(key)} and {shown(spelled[name])} are the same field.")
            spelled[name] = key
            self.typed[(*loc, name)] = here
            if name in model.refused:
                # Pachyderm's tools write `false` and `null` for what was not asked for; an empty
                # map was: `spout: {}` is a spout.
                if value or isinstance(value, dict):
                    raise Flaw(here, f"{path_text(here)} {model.refused[name]}.")
            elif value is None:
                continue
            elif _is_ignored(known[name]):
                if value not in ("", [], {}, False):
                    self.ignored[path_text(tuple(p for p in here if isinstance(p, str)))] = None
            else:
                found[name] = self._value(known[name], value, (*loc, name), here)
        return found

    def _value(self, field: FieldInfo, value: Any, loc: Loc, typed: Loc) -> Any:
        model = _model_in(field.annotation)
        if model is None:
            return value
        if isinstance(value, dict) and any(isinstance(mark, OrOne) for mark in field.metadata):
            self.typed[(*loc, 0)] = typed
            return [self._fields(model, value, (*loc, 0), typed)]
        if isinstance(value, dict) and get_origin(_bare(field.annotation)) is not list:
            return self._fields(model, value, loc, typed)
        if isinstance(value, list) and get_origin(_bare(field.annotation)) is list:
            members = []
            for i, member in enumerate(value):
                self.typed[(*loc, i)] = (*typed, i)
                if isinstance(member, dict):
                    member = self._fields(model, member, (*loc, i), (*typed, i))
                members.append(member)
            return members
        return value


def model_of(raw: Mapping[str, Any]) -> type[SpecField] | type[IngestSpecField]:
    """An ingest says so by its first field; all else is a pipeline."""
    return IngestSpecField if "ingest" in raw else SpecField


def _known(model: type[Fields], key: str) -> str | None:
    names = {*fields_of(model), *model.refused}
    if key in names:
        return key
    snake = _hump.sub(r"_\1", key).lower()
    return snake if snake in names and "_" not in key else None


def _near(model: type[Fields], key: str) -> str:
    near = did_you_mean(key, _meant(model))
    return f"; did{near.removeprefix(' Did')}" if near else "."


def _meant(model: type[Fields]) -> list[str]:
    return [name for name, field in fields_of(model).items() if not _is_ignored(field)]


def _home(key: str) -> str:
    """Where a field of that name would stand, if there is just one such place."""
    homes = [path for path, model in _PLACES.items() if key in _meant(model)]
    return f"It belongs into {homes[0]}." if len(homes) == 1 and homes[0] else ""


def _is_ignored(field: FieldInfo) -> bool:
    return any(isinstance(mark, Ignored) for mark in field.metadata)


def _bare(annotation: Any) -> Any:
    """The annotation without `| None` and without its validators."""
    if get_origin(annotation) is UnionType:
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    return annotation


def _model_in(annotation: Any) -> type[Fields] | None:
    if isinstance(annotation, type) and issubclass(annotation, Fields):
        return annotation
    for part in get_args(annotation):
        if found := _model_in(part):
            return found
    return None


# The maps of a spec by their path, to tell a misplaced field where it belongs.
_PLACES: dict[str, type[Fields]] = {"": SpecField} | {
    name: model
    for name, field in SpecField.model_fields.items()
    if (model := _model_in(field.annotation))
}
