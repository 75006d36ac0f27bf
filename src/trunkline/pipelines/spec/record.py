"""Dataclasses as JSON and back, by their fields: what a codec need not say, it cannot forget.

A field is written under its name, and left out while it has its default. A `Record` says only
what is otherwise: another name, another form, or several fields that are written as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import UnionType
from typing import Any, Generic, TypeVar, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Value:
    """How a field's value is written, and read."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Whole:
    """A field that is more than one key: written from the whole record, as a map that is put
    beside the others, and read from the whole map. `view` reads it for a view.
    """

    write: Callable[[Any], Mapping[str, Any]]
    read: Callable[[Any], Any]
    view: Callable[[Any], Any] | None = None


class Record(Generic[T]):
    """The codec of a dataclass. `first` are fields that are always written, before all others;
    `only` are the ones that there are at all, in their order. Names with dots are of inner maps.
    """

    def __init__(
        self,
        kind: type[T],
        /,
        *,
        names: Mapping[str, str] | None = None,
        first: tuple[str, ...] = (),
        only: tuple[str, ...] = (),
        **codecs: Value | Whole,
    ) -> None:
        self._kind, self._codecs = kind, codecs
        self._names, self._first, self._only = names or {}, first, only

    def write(self, record: T) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for field in self._fields.values():
            field.write(record, shown)
        return shown

    def read(self, raw: Mapping[str, Any]) -> T:
        return self._kind(**self.values(raw))

    def values(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        return {name: field.read(raw) for name, field in self._fields.items()}

    def view(self, raw: Mapping[str, Any]) -> T:
        """The same record, but each field is read when it is asked for. Equal to no other."""
        view = object.__new__(self._view)
        object.__setattr__(view, "_raw", raw)
        return view

    @cached_property
    def _view(self) -> type[T]:
        known, others = self._fields, {one.name: one for one in fields(cast("Any", self._kind))}

        def read(view: Any, name: str) -> Any:
            if name not in others:
                raise AttributeError(name)
            value = known[name].view(view._raw) if name in known else _default_of(others[name])
            object.__setattr__(view, name, value)
            return value

        # A slot without a value is looked for by __getattr__.
        body = {"__slots__": ("_raw",), "__getattr__": read, "__module__": __name__}
        return cast("type[T]", type(self._kind.__name__, (self._kind,), body))

    @cached_property
    def _fields(self) -> dict[str, _Field]:
        hints = get_type_hints(self._kind)
        known = {field.name: field for field in fields(cast("Any", self._kind))}
        order = self._only or tuple(dict.fromkeys((*self._first, *known)))
        return {
            name: _Field(
                name,
                tuple(self._names.get(name, name).split(".")),
                self._codecs.get(name) or _codec_of(hints[name]),
                MISSING if name in self._first else _default_of(known[name]),
                _default_of(known[name]),
            )
            for name in order
        }


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    keys: tuple[str, ...]
    codec: Value | Whole
    unsaid: Any
    """The value that is not written."""
    default: Any

    def write(self, record: object, shown: dict[str, Any]) -> None:
        if isinstance(self.codec, Whole):
            shown.update(self.codec.write(record))
        elif (value := getattr(record, self.name)) != self.unsaid:
            for key in self.keys[:-1]:
                shown = shown.setdefault(key, {})
            shown[self.keys[-1]] = self.codec.write(value)

    def read(self, raw: Mapping[str, Any]) -> Any:
        if isinstance(self.codec, Whole):
            return self.codec.read(raw)
        inner: Any = raw
        for key in self.keys:
            if key not in inner:
                if self.default is MISSING:
                    raise KeyError(key)
                return self.default
            inner = inner[key]
        return self.codec.read(inner)

    def view(self, raw: Mapping[str, Any]) -> Any:
        whole = self.codec.view if isinstance(self.codec, Whole) else None
        return (whole or self.read)(raw)


def _default_of(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def number(value: float) -> float:
    """As a whole number where it is one: 60, not 60.0."""
    return int(value) if value == int(value) else value


def same(value: Any) -> Any:
    return value


def list_of(write: Callable[[Any], Any], read: Callable[[Any], Any]) -> Value:
    return Value(
        lambda members: [write(member) for member in members], lambda raw: tuple(map(read, raw))
    )


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _codec_of(hint: Any) -> Value:
    """How values of a type are written."""
    inner = get_args(hint)
    if get_origin(hint) is UnionType:
        some = [part for part in inner if part is not type(None)]
        return _codec_of(some[0]) if len(some) == 1 else Value(_listed, _frozen)
    if get_origin(hint) is tuple:
        if get_origin(inner[0]) is tuple:
            return _pairs(_codec_of(get_args(inner[0])[1]))
        member = _codec_of(inner[0])
        return list_of(member.write, member.read)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Value(str, hint)
    if hint is float:
        return Value(number, float)
    if is_dataclass(hint):
        record = Record(cast("type[Any]", hint))
        return Value(record.write, record.read)
    return Value(same, same)


def _pairs(member: Value) -> Value:
    def write(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        return {name: member.write(value) for name, value in pairs}

    def read(raw: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        return tuple(sorted((name, member.read(value)) for name, value in raw.items()))

    return Value(write, read)
