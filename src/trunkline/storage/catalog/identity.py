"""Which lake a catalog is that of, where it is at home, and whether it may act on the outside.

`lake` is the lake's id, `seat` where its catalog was last at home, `generation` what the mark in
its store must say too. A copy has another id, its `origin` is the id of the lake it was copied
from, and `held` says why it does nothing to the outside until a person says that it may.
"""

from __future__ import annotations

from collections.abc import Mapping

from trunkline.storage.catalog.database import Session

FORMAT, STORE, LAKE, SEAT = "format", "store", "lake", "seat"
GENERATION, ORIGIN, HELD = "generation", "origin", "held"


def facts(session: Session) -> dict[str, str]:
    """All that a catalog knows of its lake."""
    return {row["name"]: row["value"] for row in session.all("SELECT name, value FROM meta")}


def fact(session: Session, name: str) -> str | None:
    row = session.one("SELECT value FROM meta WHERE name = :name", {"name": name})
    return str(row["value"]) if row else None


def note(session: Session, known: Mapping[str, str | None]) -> None:
    """Write facts down in place of what was known; None takes one away."""
    for name, value in known.items():
        session.execute("DELETE FROM meta WHERE name = :name", {"name": name})
        if value is not None:
            session.execute(
                "INSERT INTO meta (name, value) VALUES (:name, :value)",
                {"name": name, "value": value},
            )


def lake_id(session: Session) -> str:
    return fact(session, LAKE) or ""


def is_held(session: Session) -> bool:
    """Whether nothing may be done to the outside: this lake is a copy that nobody has adopted."""
    return fact(session, HELD) is not None
