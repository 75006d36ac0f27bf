"""The console's files, where they were built into the package; else a plain page that says so."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from fastapi import Response
from fastapi.responses import FileResponse, HTMLResponse

from trunkline import __version__
from trunkline.errors import NotFound
from trunkline.server.calls import PUBLIC, Routes

routes = Routes(tags=["console"], prefix="")

FOLDER = Path(str(files("trunkline"))) / "console"
LONGEST = 100
_IMMUTABLE = "public, max-age=31536000, immutable"

_WITHOUT = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Trunkline</title>
<h1>Trunkline {__version__}</h1>
<p>This server answers. The console is not part of this installation.
<p><a href=/api/v1/docs>The API</a>
</html>
"""


@routes.GET("/", PUBLIC, include_in_schema=False)
def console() -> Response:
    """The console's page."""
    page = FOLDER / "index.html"
    if page.is_file():
        return FileResponse(page, headers={"Cache-Control": "no-cache"})
    return HTMLResponse(_WITHOUT)


@routes.GET("/assets/{name}", PUBLIC, include_in_schema=False)
def asset(name: str) -> Response:
    """A script, style or picture of the console. Its name changes with what is in it."""
    found = FOLDER / "assets" / name
    # A name has no slash, so the only way out of the folder would be its own parent.
    if name in (".", "..") or len(name) > LONGEST or not found.is_file():
        raise NotFound(f'The console has no "{name}".')
    return FileResponse(found, headers={"Cache-Control": _IMMUTABLE})
