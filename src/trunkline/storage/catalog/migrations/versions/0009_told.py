"""Causes and reasons of jobs are values: the sentences of before become values that hold them.

A sentence may name any repo, and nobody can tell which: it is of kind "text". Only what a job said
of its own failure or success is free text as ever ("said"), and who was too late still was.
"""

import json

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

LATE = "timed out after "
SOME = 1000


def upgrade() -> None:
    jobs = sa.table("jobs", *map(sa.column, ("repo", "id", "state", "reason", "cause")))
    found = op.get_bind().execute(sa.select(jobs).order_by(jobs.c.repo, jobs.c.id)).all()
    change = (
        jobs.update()
        .where(jobs.c.repo == sa.bindparam("of"), jobs.c.id == sa.bindparam("job"))
        .values(reason=sa.bindparam("why"), cause=sa.bindparam("because"))
    )
    for start in range(0, len(found), SOME):
        values = [
            {"of": repo, "job": job, "why": _reason(state, reason), "because": _text(cause)}
            for repo, job, state, reason, cause in found[start : start + SOME]
        ]
        op.get_bind().execute(change, values)


def _reason(state: str, reason: str) -> str:
    if state == "killed" and reason.startswith(LATE):
        return json.dumps({"kind": "timed out", "what": reason.removeprefix(LATE)})
    return _text(reason, "said" if state in ("success", "failure") else "text")


def _text(sentence: str, kind: str = "text") -> str:
    return json.dumps({"kind": kind, "text": sentence}, ensure_ascii=False) if sentence else ""
