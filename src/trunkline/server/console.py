"""The console: one page for all of its addresses, and the files that were built beside it.

Where none was built into the package, a plain page says so.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse, HTMLResponse
from starlette.types import Receive, Scope, Send

from trunkline import __version__
from trunkline.errors import NotFound
from trunkline.server.auth.guards import policy
from trunkline.server.calls import PUBLIC, Routes

routes = Routes(tags=["console"], prefix="")

FOLDER = Path(str(files("trunkline"))) / "console"
NONCE = "__CSP_NONCE__"
"""Where the page wants its nonce. Scripts that add styles read it from there."""
_OURS = re.compile(r"/(?:api|assets|healthz|readyz|metrics)(?:/|\Z)").match
"""What is no page, whether it is there or not."""
# No slash, and no dot to begin with: there is no name that leads out of the folder.
_is_name = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}\Z").match
_IMMUTABLE = "public, max-age=31536000, immutable"
_FOR_AN_HOUR = "public, max-age=3600"
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
# Not the system's table, which may lack some of them: browsers are told not to guess.
_TYPES = {
    ".css": "text/css",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}

_WITHOUT = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Trunkline</title>
<h1>Trunkline {__version__}</h1>
<p>This server answers. The console is not part of this installation.
<p>To build it, run <code>make console</code> in Trunkline's sources. That needs Node.js 20.19
or newer.
<p><a href=/api/v1/docs>The API</a>
</html>
"""


def install(app: FastAPI) -> None:
    """Have addresses that no route knows answered with the console's page, for browsers."""
    unknown = app.router.default

    async def default(scope: Scope, receive: Receive, send: Send) -> None:
        answer = _beside_routes(Request(scope)) if scope["type"] == "http" else None
        await (answer or unknown)(scope, receive, send)

    app.router.default = default


@routes.GET("/", PUBLIC, include_in_schema=False)
async def console() -> Response:
    """The console's page."""
    return _page()


@routes.GET("/assets/{name}", PUBLIC, include_in_schema=False)
async def asset(name: str, request: Request) -> Response:
    """A script, style or font of the console. Its name changes with what is in it."""
    found = FOLDER / "assets" / name
    if not _is_name(name) or not found.is_file():
        raise NotFound(f'The console has no "{name[:100]}".')
    headers = {"Cache-Control": _IMMUTABLE, "Vary": "Accept-Encoding"}
    kind, sent = _type(found), found
    accepted = _accepted(request.headers.get("accept-encoding", ""))
    for encoding, suffix in _ENCODINGS.items():
        packed = found.with_name(name + suffix)
        if encoding in accepted and packed.is_file():
            headers["Content-Encoding"] = encoding
            sent = packed
            break
    return FileResponse(sent, media_type=kind, headers=headers)


def _beside_routes(request: Request) -> Response | None:
    """A file such as /favicon.svg, or the page itself at an address that its scripts know."""
    path: str = request.scope["path"]
    if request.method not in ("GET", "HEAD") or _OURS(path):
        return None
    name = path.removeprefix("/")
    if _is_name(name) and name != "index.html" and (found := FOLDER / name).is_file():
        return FileResponse(found, media_type=_type(found), headers={"Cache-Control": _FOR_AN_HOUR})
    if "text/html" in request.headers.get("accept", "").lower():
        return _page()
    return None


@dataclass(frozen=True, slots=True)
class _Template:
    """The page as it was built, parted where a nonce belongs."""

    file: Path
    stamp: tuple[int, int, int]
    parts: tuple[str, ...]


_template: _Template | None = None


def _page() -> Response:
    global _template
    file = FOLDER / "index.html"
    try:
        found = file.stat()
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if _template is None or (_template.file, _template.stamp) != (file, stamp):
            parts = tuple(file.read_text(encoding="utf-8").split(NONCE))
            _template = _Template(file, stamp, parts)
    except OSError:
        return HTMLResponse(_WITHOUT, headers={"Cache-Control": "no-cache"})
    nonce = secrets.token_urlsafe(18)
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": _policy(nonce)}
    return HTMLResponse(nonce.join(_template.parts), headers=headers)


def _policy(nonce: str) -> str:
    return policy(
        {
            "script-src": "'self'",
            "style-src": f"'self' 'nonce-{nonce}'",
            "worker-src": "'self'",
            "connect-src": "'self'",
            "font-src": "'self'",
            "media-src": "'self' blob:",
        }
    )


def _type(file: Path) -> str:
    return _TYPES.get(file.suffix.lower(), "application/octet-stream")


def _accepted(header: str) -> set[str]:
    """The encodings that a browser takes. `*` is nobody's browser."""
    found = set()
    for one in header.lower().split(","):
        name, _, quality = one.replace(" ", "").partition(";q=")
        if quality.strip("0.") or not quality:
            found.add(name)
    return found
