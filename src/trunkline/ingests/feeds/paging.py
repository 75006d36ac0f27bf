"""How an API hands out a long list in pages.

A place says which page comes next, as JSON: it is kept in the position. Each kind of paging makes
a request of a place, and of an answer the place of the next page, or None behind the last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trunkline.connect.web import Answer
from trunkline.errors import SourceUnreadable
from trunkline.model.suggest import shown

Place = dict[str, Any]


class Paging:
    """One page: all there is."""

    by_number = False
    """Whether a server that does not know the parameter would give the first page for ever."""

    def first(self) -> Place:
        return {}

    def asked(self, place: Place) -> tuple[str | None, dict[str, Any]]:
        """The address, where it is another than the API's, and further parameters."""
        return None, {}

    def next(self, place: Place, answer: Answer, count: int) -> Place | None:
        return None


class ByPage(Paging):
    by_number = True

    def __init__(
        self, param: str = "page", size_param: str = "", size: int = 0, start: int = 1
    ) -> None:
        self._param, self._size_param, self._size, self._start = param, size_param, size, start

    def first(self) -> Place:
        return {"page": self._start}

    def asked(self, place: Place) -> tuple[str | None, dict[str, Any]]:
        size = {self._size_param: self._size} if self._size_param and self._size else {}
        return None, {self._param: place["page"], **size}

    def next(self, place: Place, answer: Answer, count: int) -> Place | None:
        if not count or (self._size and count < self._size):
            return None
        return {"page": place["page"] + 1}


class ByOffset(Paging):
    by_number = True

    def __init__(self, param: str = "offset", limit_param: str = "", limit: int = 0) -> None:
        self._param, self._limit_param, self._limit = param, limit_param, limit

    def first(self) -> Place:
        return {"offset": 0}

    def asked(self, place: Place) -> tuple[str | None, dict[str, Any]]:
        limit = {self._limit_param: self._limit} if self._limit_param and self._limit else {}
        return None, {self._param: place["offset"], **limit}

    def next(self, place: Place, answer: Answer, count: int) -> Place | None:
        if not count or (self._limit and count < self._limit):
            return None
        return {"offset": place["offset"] + count}


class ByCursor(Paging):
    def __init__(self, param: str, origin: str) -> None:
        self._param, self._origin = param, origin

    def asked(self, place: Place) -> tuple[str | None, dict[str, Any]]:
        return None, {self._param: place["cursor"]} if place else {}

    def next(self, place: Place, answer: Answer, count: int) -> Place | None:
        found = at(answer.body, self._origin)
        if found in (None, "", False):
            return None
        if not isinstance(found, str | int | float):
            raise SourceUnreadable(f"The cursor at {self._origin} is no text: {_kind(found)}.")
        return {"cursor": found}


class ByNext(Paging):
    """The address of the next page: in the body, or in the Link header."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin

    def asked(self, place: Place) -> tuple[str | None, dict[str, Any]]:
        return place.get("url"), {}

    def next(self, place: Place, answer: Answer, count: int) -> Place | None:
        if not self._origin:
            return {"url": answer.next_link} if answer.next_link else None
        found = at(answer.body, self._origin)
        if found in (None, "", False):
            return None
        if not isinstance(found, str):
            raise SourceUnreadable(f"What is at {self._origin} is no address: {_kind(found)}.")
        from urllib.parse import urljoin

        return {"url": urljoin(answer.url, found)}


def paging_of(given: Mapping[str, Any] | None) -> Paging:
    """The paging of a source, as its spec has it."""
    if not given:
        return Paging()
    ((kind, body),) = given.items()
    match kind:
        case "page":
            return ByPage(**body)
        case "offset":
            return ByOffset(**body)
        case "cursor":
            return ByCursor(body["param"], body["from"])
        case "next":
            return ByNext(body)
        case _:
            return ByNext()


def at(body: Any, path: str) -> Any:
    """What is at a path of names and numbers parted by dots; None if there is nothing."""
    for part in _parts(path):
        if isinstance(body, Mapping):
            body = body.get(part)
        elif isinstance(body, list) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        else:
            return None
    return body


def records_at(body: Any, path: str, url: str) -> list[Any]:
    """The list of records. If there is none, the error says where there are some."""
    found = at(body, path)
    if isinstance(found, list):
        return found
    if isinstance(found, Mapping) and path == ".":
        return [found]
    where = url.partition("?")[0]
    what = f"there is no list at {shown(path)}" if path else f"it is {_kind(body)}, and no list"
    lists = [f"{name} has {size:,}" for name, size in _lists(body)][:5]
    hint = f"Set records: {'; '.join(lists)}." if lists else _contents(body)
    raise SourceUnreadable(f"{where}: {what}.", hint=hint)


def _parts(path: str) -> list[str]:
    return [part for part in path.replace("[", ".").replace("]", "").split(".") if part]


def _lists(body: Any, prefix: str = "", depth: int = 0) -> list[tuple[str, int]]:
    if isinstance(body, list):
        return [(prefix or ".", len(body))]
    if not isinstance(body, Mapping) or depth > 3:
        return []
    found = []
    for name, value in body.items():
        found += _lists(value, f"{prefix}.{name}" if prefix else str(name), depth + 1)
    return found


def _contents(body: Any) -> str:
    if isinstance(body, Mapping):
        return f"The answer has: {', '.join(list(map(str, body))[:20]) or 'nothing'}."
    return f"The answer is {_kind(body)}."


def _kind(value: Any) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return "null" if value is None else f"{shown(str(value)[:40])}"
