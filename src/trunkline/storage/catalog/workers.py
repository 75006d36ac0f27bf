"""Workers: who runs jobs here, by a lease that each renews, and what one that died had in hand."""

from __future__ import annotations

from trunkline.model.jobs import JobState
from trunkline.model.told import Kind, Told
from trunkline.model.workers import WorkerInfo
from trunkline.storage.catalog import identity, leases
from trunkline.storage.catalog.database import Session

_CLOCK = "clock"
_SET_BACK_MICROS = 60 * 1_000_000
_UNTIL = (
    *((table, "expires") for table in ("jobs", "flows", "deliveries", "leases")),
    *((table, "not_before") for table in ("jobs", "deliveries")),
)


def beat(session: Session, name: str, lease_micros: int) -> None:
    """A worker says that it is alive, and will be for a while."""
    now = session.now()
    values = {"id": _id(name), "kind": leases.WORKER, "name": name, "now": now,
              "expires": now + lease_micros}  # fmt: skip
    if not session.execute("UPDATE leases SET expires = :expires WHERE id = :id", values):
        session.execute(
            """INSERT INTO leases (id, kind, holder, started, expires)
               VALUES (:id, :kind, :name, :now, :expires)""",
            values,
        )


def follow_clock(session: Session) -> None:
    """Where the clock was set back, move along what was to end or begin by it.

    Whoever died with a job in hand would else keep it until the clock is there again.
    """
    now, seen = session.now(), int(identity.fact(session, _CLOCK) or 0)
    if seen - now > _SET_BACK_MICROS:
        for table, column in _UNTIL:
            # A lease that was renewed since then has its whole term, and needs it.
            after = max(seen, now + leases.LEASE_MICROS) if table == "leases" else seen
            session.execute(
                f"UPDATE {table} SET {column} = {column} - :back WHERE {column} > :after",
                {"after": after, "back": seen - now},
            )
    identity.note(session, {_CLOCK: str(now)})


def alive(session: Session) -> list[WorkerInfo]:
    """Those that were heard of lately, oldest first, with the number of jobs that each has."""
    rows = session.all(
        """SELECT l.holder, l.started, (SELECT count(*) FROM jobs j
               WHERE j.holder = l.holder AND j.finished IS NULL AND j.expires > :now) AS jobs
           FROM leases l WHERE l.kind = :kind AND l.expires > :now
           ORDER BY l.started, l.holder""",
        {"kind": leases.WORKER, "now": session.now()},
    )
    return [WorkerInfo(row["holder"], row["started"], row["jobs"]) for row in rows]


def leave(session: Session, name: str) -> None:
    session.execute("DELETE FROM leases WHERE id = :id", {"id": _id(name)})


def buried(session: Session, name: str) -> int:
    """A worker is dead for certain: others may have its jobs and ingests now; how many jobs.

    Each counts as tried, since the job may be what killed it.
    """
    reason = Told(Kind.WORKER_LOST).to_text()
    values = {"name": name, "now": session.now(), "state": str(JobState.WAITING), "reason": reason}
    handed = session.execute(
        """UPDATE jobs SET state = :state, reason = :reason, not_before = :now, expires = 0,
               holder = NULL
           WHERE holder = :name AND finished IS NULL AND expires > :now""",
        values,
    )
    session.execute("UPDATE flows SET expires = 0, holder = NULL WHERE holder = :name", values)
    session.execute("UPDATE deliveries SET expires = 0, holder = NULL WHERE holder = :name", values)
    # Also that of its heart: gc may take what no result names.
    session.execute("DELETE FROM leases WHERE holder = :name", values)
    return handed


def _id(name: str) -> str:
    return f"{leases.WORKER} {name}"
