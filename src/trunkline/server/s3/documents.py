"""XML, out and in. What comes in may name no entities and no document type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from trunkline.server.s3.failures import S3Error

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MOST_ELEMENTS = 100_000
"""10,000 parts of an upload, each with its number, its tag and checksums, have fewer."""
_impossible = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
# Nearly all text needs nothing done to it: one match decides.
_plain = re.compile("[ -%'-;=?-~]*").fullmatch
Node = tuple[str, "str | Iterable[Node] | None"]
"""A name, and its text or what is inside. Nodes without any are left out."""


def document(name: str, inside: Iterable[Node]) -> bytes:
    return f'{HEAD}<{name} xmlns="{NAMESPACE}">{_written(inside)}</{name}>'.encode()


def error_document(code: str, message: str, resource: str, request_id: str) -> bytes:
    inside: list[Node] = [
        ("Code", code),
        ("Message", message),
        ("Resource", resource),
        ("RequestId", request_id),
        ("HostId", "trunkline"),
    ]
    return f"{HEAD}<Error>{_written(inside)}</Error>".encode()


@lru_cache(maxsize=256)
def moment(micros: int) -> str:
    """A time as S3 writes it in XML, to the millisecond.

    Cut to the second, a file would be older here than where it was just copied from, and `aws s3
    sync` would copy it again.
    """
    at = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{micros // 1000 % 1000:03}Z"


def http_date(micros: int) -> str:
    at = datetime.fromtimestamp(micros // 1_000_000, UTC)
    return at.strftime("%a, %d %b %Y %H:%M:%S GMT")


def read_document(data: bytes, root: str) -> ElementTree.Element:
    """The root element of a body, which must have this name; names are without namespaces."""
    parser = ElementTree.XMLParser(target=_Plain())
    try:
        parser.feed(data)
        found = parser.close()
    except (ElementTree.ParseError, ValueError, LookupError):
        found = None
    if not isinstance(found, ElementTree.Element) or found.tag != root:
        raise S3Error("MalformedXML", f"The body is no well-formed <{root}>.")
    return found


class _Plain(ElementTree.TreeBuilder):
    """Builds elements by their local names. A document type, and so any entity, is refused, and
    so are more elements and attributes than any request needs.
    """

    left = MOST_ELEMENTS

    def doctype(self, name: str, public: str | None, system: str | None) -> None:
        raise ValueError("a document type")

    def start(self, tag: str, attrs: dict[str, str]) -> ElementTree.Element:
        self.left -= 1 + len(attrs)
        if self.left < 0:
            raise ValueError("too many elements")
        return super().start(_local(tag), {})

    def end(self, tag: str) -> ElementTree.Element:
        return super().end(_local(tag))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _written(nodes: Iterable[Node]) -> str:
    parts = []
    for name, inside in nodes:
        if inside is None:
            continue
        text = _text(inside) if isinstance(inside, str) else _written(inside)
        parts.append(f"<{name}>{text}</{name}>")
    return "".join(parts)


def _text(text: str) -> str:
    if _plain(text):
        return text
    # XML 1.0 has no place for these, escaped or not. Clients that may meet them ask for names
    # that are encoded as in addresses.
    return escape(_impossible.sub("\ufffd", text), {"\r": "&#13;"})
