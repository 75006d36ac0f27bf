"""How a job's commands reach the server they are run for: its address, and a token of the job's."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from trunkline.errors import TrunklineError
from trunkline.lake.access import issue_job_token, revoke_job_tokens
from trunkline.lake.core import Core
from trunkline.model.commits import RepoName
from trunkline.model.jobs import Job

log = logging.getLogger("trunkline.worker")

LIFETIME_SECONDS = 86_400.0
"""Until then a token is good should nobody be left to end it."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What is added to the environment of commands. `secrets` are masked in what they print."""

    env: dict[str, str] = field(default_factory=dict)
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


@contextmanager
def admission(core: Core, job: Job, inputs: Iterable[RepoName], server: str) -> Iterator[Admission]:
    """For as long as the job computes: it may read its inputs and its own output, no more."""
    if not server:
        yield Admission()
        return
    token = issue_job_token(core, job, inputs, job.pipeline, LIFETIME_SECONDS)
    try:
        yield Admission({"TRUNKLINE_LAKE": server}, {"TRUNKLINE_TOKEN": token})
    finally:
        try:
            revoke_job_tokens(core, job)
        except TrunklineError as error:
            log.warning("the token of job %s@%s ends by itself: %s", job.pipeline, job.id, error)
