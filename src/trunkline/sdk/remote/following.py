"""Answers that are read line by line as they come; a log goes on where a connection broke."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import httpx2

from trunkline.errors import Unavailable
from trunkline.model.jobs import LogLine
from trunkline.sdk.remote.client import TRIES, Client
from trunkline.sdk.wire.values import decode, error_of

_AGAIN_SECONDS = 0.5


def lines_of(answer: httpx2.Response) -> Iterator[bytes]:
    """Lines that end with a newline: there are other ends of lines inside of JSON."""
    rest = b""
    for chunk in answer.iter_bytes():
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


class Event(NamedTuple):
    kind: str
    data: str
    id: str | None


def followed(client: Client, path: str, datum: str | None, follow: bool) -> Iterator[LogLine]:
    """Each line once, whatever becomes of the connection: those after the last `seen` are asked
    for again."""
    position: str | None = ""
    tries = 0
    while True:
        headers = {"Last-Event-ID": position} if position else {}
        told: list[LogLine] = []
        try:
            with client.stream("GET", path, headers=headers, datum=datum, follow=follow) as answer:
                for event in events(lines_of(answer)):
                    tries = 0
                    if event.kind == "line":
                        told.append(decode(LogLine, event.data.encode()))
                    elif event.kind == "seen":
                        # One that is too long to be sent back has no id.
                        position = event.id
                        yield from told
                        told = []
                    elif event.kind == "error":
                        raise error_of(500, {"error": json.loads(event.data)})
                    elif event.kind == "end":
                        return
            raise Unavailable("The server ended the log before the job did.")
        except Unavailable:
            tries += 1
            if position is None or tries >= TRIES:
                raise
        time.sleep(_AGAIN_SECONDS)


def events(lines: Iterable[bytes]) -> Iterator[Event]:
    """Server-sent events, of their lines."""
    kind, id_ = "message", None
    data: list[str] = []
    for raw in lines:
        line = raw.decode().rstrip("\r")
        if not line:
            if data or id_ is not None or kind != "message":
                yield Event(kind, "\n".join(data), id_)
            kind, data, id_ = "message", [], None
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            id_ = value
