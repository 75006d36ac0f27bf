"""Write the table of routes into docs/api.md: `python -m tests.docs.generate_api`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import trunkline as tl
from tests.docs.console import ROOT
from trunkline.server.app import create_app
from trunkline.server.service import Service

PAGE = ROOT / "docs" / "api.md"
BEGIN = "<!-- routes: made by python -m tests.docs.generate_api -->"
END = "<!-- end of routes -->"


def page(text: str) -> str:
    """The page with the routes that the application has."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n{END}{after}"


def table() -> str:
    lines: list[str] = []
    noun = None
    for tag, method, path, route in _routes():
        if tag != noun:
            noun = tag
            title = "SQL" if noun == "sql" else noun.capitalize()
            lines += ["", f"### {title}", ""]
            lines += ["| method | path | needs | does |", "|---|---|---|---|"]
        needs = route["x-needs"]
        lines.append(f"| {method} | `{path}` | {needs} | {_sentence(route)} |")
    return "\n".join(lines).strip() + "\n"


def _routes() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """The routes of each noun together, in the order of their first."""
    found: dict[str, list[tuple[str, str, str, dict[str, Any]]]] = {}
    for path, methods in document()["paths"].items():
        for method, route in methods.items():
            one = (route["tags"][0], method.upper(), path.removeprefix("/api/v1"), route)
            found.setdefault(one[0], []).append(one)
    for routes in found.values():
        yield from routes


def document() -> dict[str, Any]:
    """The server's OpenAPI document."""
    with tempfile.TemporaryDirectory() as folder, tl.init(folder) as lake:
        return create_app(Service(lake, lake._settings, authenticated=True)).openapi()


def _sentence(route: dict[str, Any]) -> str:
    """The first paragraph of what a route says of itself, else its name."""
    told = route.get("description", "").partition("\n\n")[0] or f"{route['summary'].capitalize()}."
    return " ".join(told.split()).replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
