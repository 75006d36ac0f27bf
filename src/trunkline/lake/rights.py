"""What every change of rights does besides: it is recorded, and known at once in this process."""

from __future__ import annotations

from trunkline.lake.core import Core
from trunkline.model.access import AuditEntry
from trunkline.storage.catalog import Session, access
from trunkline.storage.catalog.bell import Bell, bell_of


def rights_bell(core: Core) -> Bell:
    """Rings when users, roles or tokens of this lake change in this process."""
    return bell_of(f"{core.database.url} rights")


def changed(core: Core) -> None:
    rights_bell(core).ring()


def record(session: Session, by: str, action: str, target: str, detail: str = "") -> None:
    """Put a change into the audit log, in the transaction that makes it."""
    entry = AuditEntry(0, session.now(), by, action, target, "ok", detail=detail)
    access.add_audit(session, (entry,))
