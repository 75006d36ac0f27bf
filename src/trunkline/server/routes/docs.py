"""What the API is: the OpenAPI document, and the same as a page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse

from trunkline.server.calls import PUBLIC, Routes

routes = Routes(tags=["docs"])

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
details { margin: .3rem 0; }
summary { cursor: pointer; }
code, b { font: 14px ui-monospace, monospace; }
b { display: inline-block; width: 4.5rem; }
i { color: #777; float: right; font-style: normal; }
table { border-collapse: collapse; margin: .5rem 0 .5rem 4.8rem; }
td { padding: .1rem 1rem .1rem 0; vertical-align: top; }
p { margin: .3rem 0 .3rem 4.8rem; white-space: pre-line; }
:root { color-scheme: light dark; }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_CSP = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; frame-ancestors 'none'"


@routes.GET("/openapi.json", PUBLIC, include_in_schema=False)
def openapi(request: Request) -> JSONResponse:
    """The API as programs read it."""
    return JSONResponse(request.app.openapi())


@routes.GET("/docs", PUBLIC, include_in_schema=False, response_class=HTMLResponse)
def docs(request: Request) -> HTMLResponse:
    """The API as people read it."""
    page = "".join(_page(request.app.openapi()))
    return HTMLResponse(page, headers={"Content-Security-Policy": _CSP})


def _page(document: dict[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield "<!doctype html><html lang=en><meta charset=utf-8>"
    yield "<meta name=viewport content='width=device-width'>"
    yield f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style>"
    yield f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
    yield "<p>Send a token: <code>Authorization: Bearer tl_…</code> Errors are "
    yield "<code>{'error': {'code', 'message', 'hint', 'request_id'}}</code>; lists are "
    yield "<code>{'items', 'next'}</code>, and <code>next</code> is the <code>cursor</code> of "
    yield "the next page. For programs: <a href=openapi.json>openapi.json</a>.</p>"
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            shown = "".join(_operation(method, path, operation))
            by_tag.setdefault(operation["tags"][0], []).append(shown)
    for tag, operations in by_tag.items():
        yield f"<h2>{escape(tag)}</h2>"
        yield from operations
    yield "</html>"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    yield f"<details><summary><b>{escape(method.upper())}</b> <code>{escape(path)}</code>"
    yield f"<i>{escape(operation.get('x-needs', ''))}</i></summary>"
    if told := operation.get("description", ""):
        yield f"<p>{escape(told)}</p>"
    yield "<table>"
    for one in operation.get("parameters", ()):
        kind = _kind(one.get("schema", {})) + (", required" if one.get("required") else "")
        yield f"<tr><td><code>{escape(one['name'])}</code><td>{escape(one['in'])}"
        yield f"<td>{escape(kind)}<td>{escape(one.get('description', ''))}"
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"<tr><td>body<td>{escape(media)}<td>{escape(_kind(content.get('schema', {})))}<td>"
    yield "</table></details>"


def _kind(schema: dict[str, Any]) -> str:
    """A type in a word or two."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_kind(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "anything")
