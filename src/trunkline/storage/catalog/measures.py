"""What a catalog can be measured by: a few indexed look-ups, whatever its size."""

from __future__ import annotations

from dataclasses import dataclass, field

from trunkline.storage.catalog.database import Database


@dataclass(frozen=True, slots=True)
class Measures:
    """Jobs that are not over, what is held, and how large the catalog is."""

    jobs: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    oldest_waiting_seconds: float = 0.0
    workers: int = 0
    leases: dict[str, int] = field(default_factory=dict)
    repos: int = 0
    pipelines: int = 0
    events: int = 0
    bytes: int = 0


_SIZE = {
    True: "SELECT page_count * page_size AS n FROM pragma_page_count(), pragma_page_size()",
    False: "SELECT pg_database_size(current_database()) AS n",
}


def measure(database: Database) -> Measures:
    is_file = database.url.startswith("sqlite")
    with database.read() as session:
        now = session.now()
        states = session.all(
            "SELECT state, count(*) AS n FROM jobs WHERE finished IS NULL GROUP BY state"
        )
        queue = session.one(
            """SELECT count(*) AS n, min(created) AS oldest FROM jobs
               WHERE finished IS NULL AND expires <= :now""",
            {"now": now},
        )
        rest = session.one(
            """SELECT (SELECT count(DISTINCT holder) FROM jobs
                       WHERE finished IS NULL AND expires > :now) AS workers,
                      (SELECT count(*) FROM repos) AS repos,
                      (SELECT count(*) FROM pipelines p JOIN repos r ON r.key = p.repo
                       WHERE p.version > 0) AS pipelines,
                      (SELECT max(position) FROM events) AS events""",
            {"now": now},
        )
        held = session.all(
            "SELECT kind, count(*) AS n FROM leases WHERE expires > :now GROUP BY kind",
            {"now": now},
        )
        size = session.one(_SIZE[is_file])
    assert queue is not None
    assert rest is not None
    assert size is not None
    oldest = (now - queue["oldest"]) / 1_000_000 if queue["oldest"] is not None else 0.0
    return Measures(
        {row["state"]: int(row["n"]) for row in states},
        int(queue["n"]),
        max(oldest, 0.0),
        int(rest["workers"]),
        {row["kind"]: int(row["n"]) for row in held},
        int(rest["repos"]),
        int(rest["pipelines"]),
        int(rest["events"] or 0),
        int(size["n"]),
    )
