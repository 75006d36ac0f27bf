"""Users, their roles and their tokens, and the audit log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trunkline.model.access import LAKE, AuditEntry, Grant, Grants, Role, TokenInfo, User
from trunkline.storage.catalog.database import Row, Session

# -- users ---------------------------------------------------------------------------------


def users(session: Session) -> list[User]:
    of: dict[str, list[Grant]] = {}
    for row in session.all("SELECT * FROM grants ORDER BY subject, scope"):
        of.setdefault(row["subject"], []).append(_grant(row))
    rows = session.all("SELECT * FROM users ORDER BY name")
    return [_user(row, tuple(of.get(row["name"], ()))) for row in rows]


def user(session: Session, name: str) -> User | None:
    row = session.one("SELECT * FROM users WHERE name = :name", {"name": name})
    return _user(row, grants(session, name)) if row else None


def user_of_identity(session: Session, identity: str) -> User | None:
    """Who logs in as this at the single sign-on."""
    row = session.one("SELECT * FROM users WHERE identity = :identity", {"identity": identity})
    return _user(row, grants(session, row["name"])) if row else None


def has_users(session: Session) -> bool:
    return session.one("SELECT 1 AS x FROM users LIMIT 1") is not None


def add_user(session: Session, name: str, password: str | None, email: str) -> None:
    session.execute(
        """INSERT INTO users (name, password, email, created)
           VALUES (:name, :password, :email, :now)""",
        {"name": name, "password": password, "email": email, "now": session.now()},
    )


def remove_user(session: Session, name: str) -> None:
    """Forget somebody, with all their roles and tokens."""
    session.execute("DELETE FROM tokens WHERE owner = :name", {"name": name})
    session.execute("DELETE FROM grants WHERE subject = :name", {"name": name})
    session.execute("DELETE FROM users WHERE name = :name", {"name": name})


def password_of(session: Session, name: str) -> str | None:
    """The hash of somebody's password."""
    row = session.one("SELECT password FROM users WHERE name = :name", {"name": name})
    return row["password"] if row else None


def set_password(session: Session, name: str, password: str) -> None:
    session.execute(
        "UPDATE users SET password = :password WHERE name = :name",
        {"name": name, "password": password},
    )


def identity_of(session: Session, name: str) -> str | None:
    row = session.one("SELECT identity FROM users WHERE name = :name", {"name": name})
    return row["identity"] if row else None


def set_identity(session: Session, name: str, identity: str) -> None:
    session.execute(
        "UPDATE users SET identity = :identity WHERE name = :name",
        {"name": name, "identity": identity},
    )


def set_disabled(session: Session, name: str, disabled: bool) -> None:
    session.execute(
        "UPDATE users SET disabled = :disabled WHERE name = :name",
        {"name": name, "disabled": int(disabled)},
    )


# -- roles ---------------------------------------------------------------------------------


def grants(session: Session, subject: str) -> Grants:
    rows = session.all(
        "SELECT * FROM grants WHERE subject = :subject ORDER BY scope", {"subject": subject}
    )
    return tuple(_grant(row) for row in rows)


def set_grant(session: Session, grant: Grant) -> None:
    session.execute(
        """INSERT INTO grants (subject, scope, role) VALUES (:subject, :scope, :role)
           ON CONFLICT (subject, scope) DO UPDATE SET role = excluded.role""",
        {"subject": grant.subject, "scope": grant.scope, "role": str(grant.role)},
    )


def remove_grant(session: Session, subject: str, scope: str) -> bool:
    """Whether there was one."""
    touched = session.execute(
        "DELETE FROM grants WHERE subject = :subject AND scope = :scope",
        {"subject": subject, "scope": scope},
    )
    return touched > 0


def take_grants(session: Session, scope: str) -> list[list[str]]:
    """Remove all grants on a scope: who had which role."""
    rows = session.all(
        "SELECT subject, role FROM grants WHERE scope = :scope ORDER BY subject", {"scope": scope}
    )
    session.execute("DELETE FROM grants WHERE scope = :scope", {"scope": scope})
    return [[row["subject"], row["role"]] for row in rows]


def admins(session: Session) -> list[str]:
    """Who can administer the lake now."""
    rows = session.all(
        """SELECT u.name FROM users u JOIN grants g ON g.subject = u.name
           WHERE g.scope = :lake AND g.role = :admin AND u.disabled = 0 ORDER BY u.name""",
        {"lake": LAKE, "admin": str(Role.ADMIN)},
    )
    return [row["name"] for row in rows]


# -- tokens --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TokenRow:
    """A token as it is kept, with the hash of its secret."""

    info: TokenInfo
    hash: str


def token(session: Session, token_id: str) -> TokenRow | None:
    row = session.one("SELECT * FROM tokens WHERE id = :id", {"id": token_id})
    return TokenRow(_token(row), row["hash"]) if row else None


def tokens(
    session: Session, *, owner: str | None = None, kind: str | None = None
) -> list[TokenInfo]:
    """Tokens, the newest first."""
    wheres = ["1 = 1"]
    wheres += ["owner = :owner"] * (owner is not None)
    wheres += ["kind = :kind"] * (kind is not None)
    rows = session.all(
        f"SELECT * FROM tokens WHERE {' AND '.join(wheres)} ORDER BY created DESC, id",
        {"owner": owner, "kind": kind},
    )
    return [_token(row) for row in rows]


def add_token(session: Session, info: TokenInfo, digest: str) -> None:
    limits = None
    if info.limits is not None:
        limits = json.dumps({one.scope: str(one.role) for one in info.limits})
    session.execute(
        """INSERT INTO tokens (id, owner, kind, hash, note, limits, created, expires)
           VALUES (:id, :owner, :kind, :hash, :note, :limits, :created, :expires)""",
        {
            "id": info.id,
            "owner": info.owner,
            "kind": info.kind,
            "hash": digest,
            "note": info.note,
            "limits": limits,
            "created": info.created,
            "expires": info.expires,
        },
    )


def revoke_token(session: Session, token_id: str) -> bool:
    """Whether it was still good."""
    touched = session.execute(
        "UPDATE tokens SET revoked = :now WHERE id = :id AND revoked IS NULL",
        {"id": token_id, "now": session.now()},
    )
    return touched > 0


def revoke_tokens(session: Session, *, kind: str, owner: str | None = None) -> int:
    """Revoke all of a kind, or somebody's; how many."""
    where = "AND owner = :owner" if owner is not None else ""
    return session.execute(
        f"UPDATE tokens SET revoked = :now WHERE kind = :kind AND revoked IS NULL {where}",
        {"kind": kind, "owner": owner, "now": session.now()},
    )


def touch_tokens(session: Session, used: Mapping[str, int]) -> None:
    """Remember when tokens were last used."""
    for token_id, at in used.items():
        session.execute(
            "UPDATE tokens SET last_used = :at WHERE id = :id", {"id": token_id, "at": at}
        )


def prune_tokens(session: Session, before: int) -> int:
    """Forget tokens that were over before a moment, but for those that people made."""
    return session.execute(
        """DELETE FROM tokens WHERE kind <> 'user' AND (expires < :before OR revoked < :before)""",
        {"before": before},
    )


# -- audit ---------------------------------------------------------------------------------


def add_audit(session: Session, entries: Iterable[AuditEntry]) -> None:
    """Add to the log; positions are given here."""
    for one in entries:
        session.execute(
            """INSERT INTO audit (at, who, action, target, outcome, address, request, detail)
               VALUES (:at, :who, :action, :target, :outcome, :address, :request, :detail)""",
            {
                "at": one.at,
                "who": one.who,
                "action": one.action,
                "target": one.target,
                "outcome": one.outcome,
                "address": one.address,
                "request": one.request,
                "detail": one.detail,
            },
        )


def audit(
    session: Session,
    *,
    before: int | None = None,
    since: int | None = None,
    who: str | None = None,
    action: str | None = None,
    outcome: str | None = None,
    limit: int = 100,
) -> list[AuditEntry]:
    """The newest first; those whose position is below `before`."""
    given: dict[str, Any] = {
        "position < :before": before,
        "at >= :since": since,
        "who = :who": who,
        "action = :action": action,
        "outcome = :outcome": outcome,
    }
    wheres = [text for text, value in given.items() if value is not None]
    rows = session.all(
        f"""SELECT * FROM audit WHERE {" AND ".join(wheres) or "1 = 1"}
            ORDER BY position DESC LIMIT :limit""",
        {
            "before": before,
            "since": since,
            "who": who,
            "action": action,
            "outcome": outcome,
            "limit": limit,
        },
    )
    return [_entry(row) for row in rows]


def prune_audit(session: Session, before: int) -> int:
    return session.execute("DELETE FROM audit WHERE at < :before", {"before": before})


# -- rows ----------------------------------------------------------------------------------


def _user(row: Row, held: Grants) -> User:
    return User(
        row["name"],
        row["created"],
        bool(row["disabled"]),
        row["password"] is not None,
        row["email"],
        held,
    )


def _grant(row: Row) -> Grant:
    return Grant(row["subject"], row["scope"], Role(row["role"]))


def _token(row: Row) -> TokenInfo:
    limits: Grants | None = None
    if row["limits"] is not None:
        kept: dict[str, str] = json.loads(row["limits"])
        limits = tuple(Grant(row["owner"], scope, Role(role)) for scope, role in kept.items())
    return TokenInfo(
        row["id"],
        row["owner"],
        row["kind"],
        row["note"],
        row["created"],
        row["expires"],
        row["last_used"],
        row["revoked"],
        limits,
    )


def _entry(row: Row) -> AuditEntry:
    return AuditEntry(
        row["position"],
        row["at"],
        row["who"],
        row["action"],
        row["target"],
        row["outcome"],
        row["address"],
        row["request"],
        row["detail"],
    )
