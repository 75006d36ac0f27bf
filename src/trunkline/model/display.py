"""Small HTML tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice

MOST_ROWS = 50


def table(title: str, rows: Iterable[Mapping[str, object]]) -> str:
    """The first rows as an HTML table, every value escaped."""
    from html import escape  # loads a table of all entities, which only notebooks need

    rows = iter(rows)
    shown = list(islice(rows, MOST_ROWS))
    more = next(rows, None) is not None
    parts = [f"<p><b>{escape(title)}</b></p>"]
    if not shown:
        return parts[0] + "<p>nothing</p>"
    heads = "".join(f"<th>{escape(name)}</th>" for name in shown[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row.values()) + "</tr>"
        for row in shown
    )
    parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
    if more:
        parts.append(f"<p>… only the first {MOST_ROWS} are shown</p>")
    return "".join(parts)


def fields(title: str, values: Mapping[str, object]) -> str:
    """One thing, a row for each of its fields."""
    return table(title, ({"": name, " ": value} for name, value in values.items()))


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        if value.keys() == {"project", "repo"}:
            return "/".join(map(_text, value.values()))
        return ", ".join(f"{name}: {_text(item)}" for name, item in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list | tuple) else str(value)
