"""What must not be done by hand to the output of streams and ingests, and what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from trunkline.errors import InUse, NotAllowed
from trunkline.lake.flowkinds import STREAM
from trunkline.lake.propagation import output_branch
from trunkline.model.commits import Commit, RepoName
from trunkline.storage.catalog import Session, flows, pipelines


def way_back(session: Session, repo: int, name: RepoName) -> str:
    """What to do instead of changing the output of a stream or an ingest; "" if it is neither."""
    flow = flows.find(session, repo)
    if flow is None:
        return ""
    if flow.kind == STREAM:
        return f"To undo what it did: trunkline stream rewind {name} --to REF."
    return f"What it brought in stays; work on a branch of your own: {name}@BRANCH."


def refuse_flow(session: Session, repo: int, name: RepoName, branch: str) -> None:
    """The branch that a stream or an ingest writes is where its offsets say, or rows are lost."""
    hint = way_back(session, repo, name)
    row = pipelines.find(session, repo) if hint else None
    if row is not None and output_branch(session, row) == branch:
        flow = flows.find(session, repo)
        kind = "a stream" if flow is not None and flow.kind == STREAM else "an ingest"
        raise NotAllowed(
            f"{name}@{branch} is the output of {kind}, and where that has read to belongs to it.",
            hint=hint,
        )


def refuse_position(session: Session, repo: int, commit: Commit) -> None:
    """A stream goes on from the commit up to which it has read: that must be there."""
    for edge in pipelines.readers(session, repo):
        flow = flows.find(session, edge.pipeline)
        if flow is not None and commit.id in str(flow.position.get(edge.name, "")):
            raise InUse(
                f"{commit.short_id} of {commit.repo} is where {{by}} has read to.",
                hint=f"Let it read on, or begin elsewhere: trunkline stream restart {flow.name}.",
                by=[flow.name],
            )


def absorb(session: Session, repo: int, gone: str, children: Sequence[str]) -> None:
    """What is known of a batch goes to who keeps its data: first of all to a child without any."""
    for child in sorted(children, key=lambda one: flows.batch_of(session, repo, one) is not None):
        flows.absorb(session, repo, gone, child)
