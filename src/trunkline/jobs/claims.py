"""Claims: which worker has which job, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trunkline.lake.core import Core
from trunkline.model.ids import new_id
from trunkline.model.jobs import Job
from trunkline.model.told import Told
from trunkline.storage.catalog import events, jobs, leases, workers
from trunkline.storage.crashpoints import crashpoint

LEASE_SECONDS = 30.0
RENEW_SECONDS = 5.0
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Claim:
    """A job in one worker's hands. `txn` names the objects that this attempt writes."""

    repo: int
    job: Job
    txn: str

    @property
    def parts(self) -> str:
        """Where the results of the job's datums are gathered, by all its attempts."""
        return parts_prefix(self.repo, self.job.id)


def parts_prefix(repo: int, job_id: str) -> str:
    return f"jobs/{job_id}-{repo}/"


def claim_next(
    core: Core, holder: str, seconds: float = LEASE_SECONDS, lane: str | None = None
) -> Claim | None:
    """The next job that can run, of all or of one lane, now ours."""
    with core.database.read() as session:
        if not jobs.count_unfinished(session):
            return None
    # A claim that a power cut forgets is a job that is still waiting.
    with core.database.write(durable=False) as session:
        found = jobs.claim(session, holder, int(seconds * _MICROS), lane)
        if found is None:
            return None
        txn = new_id()
        leases.take(session, txn, leases.JOB, holder)
        job = found[1]
        if not job.is_stream:  # a batch is over before anybody could look
            events.emit(session, "job", job.pipeline, {"id": job.id, "state": str(job.state)})
    crashpoint("job.claimed")
    return Claim(*found, txn)


def renew(core: Core, claims: Iterable[Claim], seconds: float = LEASE_SECONDS) -> dict[str, str]:
    """Go on holding the claims; those that are lost, with the reason, by their `txn`."""
    lost = {}
    with core.database.write(durable=False) as session:
        for claim in claims:
            job = claim.job
            if not jobs.renew(session, claim.repo, job.id, job.fence, int(seconds * _MICROS)):
                now = jobs.find(session, claim.repo, job.id)
                over = now is not None and now.state.is_over
                lost[claim.txn] = now.reason if over and now else "another worker took it over"
            elif not leases.renew(session, claim.txn):
                # gc may have taken what this attempt wrote.
                lost[claim.txn] = "its lease ran out"
    return lost


def give_up(core: Core, claim: Claim) -> None:
    """Forget what this attempt wrote: gc may take what no result names."""
    with core.database.write(durable=False) as session:
        leases.release(session, claim.txn)


def hand_back(
    core: Core, claim: Claim, reason: Told, wait_seconds: float, *, tried: bool = True
) -> None:
    """Let somebody try again later; without `tried` as if nobody had."""
    with core.database.write() as session:
        if jobs.holds(session, claim.repo, claim.job.id, claim.job.fence):
            moment = session.now() + int(wait_seconds * _MICROS)
            jobs.wait(session, claim.repo, claim.job.id, reason, moment, tried=tried)
        leases.release(session, claim.txn)


def hand_back_all(core: Core, holder: str) -> int:
    """Let others have at once what a worker that is dead for certain had in hand; how many jobs."""
    with core.database.write() as session:
        session.ring()
        return workers.buried(session, holder)


def still_ours(core: Core, claims: Iterable[Claim]) -> dict[str, str]:
    """As `renew`, without renewing: cheap enough to be asked often."""
    lost = {}
    with core.database.read() as session:
        for claim in claims:
            now = jobs.find(session, claim.repo, claim.job.id)
            if now is None:
                lost[claim.txn] = "it was removed"
            elif now.state.is_over:
                lost[claim.txn] = now.reason
            elif now.fence != claim.job.fence:
                lost[claim.txn] = "another worker took it over"
    return lost
