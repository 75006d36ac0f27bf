"""Streams and ingests without an engine: their commits and batches, as the catalog has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.served import home
from trunkline import Lake
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Origin, RepoKind, RepoName
from trunkline.model.refs import Ref
from trunkline.model.streams import Batch, Flow
from trunkline.storage.catalog import Session, flows, repos


def stream_of(repo: str) -> dict[str, Any]:
    return {
        "pipeline": {"name": "sessions"},
        "input": {"pfs": {"repo": repo, "glob": "/"}},
        "transform": {"stream": f"SELECT * FROM {repo}", "trigger": {"interval": "1s"}},
    }


STREAM = stream_of("clicks")
READER = {
    "pipeline": {"name": "report"},
    "input": {"pfs": {"repo": "sessions", "glob": "/"}},
    "transform": {"cmd": ["true"]},
}
INGEST = {"ingest": {"name": "feed"}, "source": {"rate": {"rows_per_second": 10}}}


def key_of(lake: Lake, name: str) -> int:
    with home(lake)._core.database.read() as session:
        key = repos.key_of(session, RepoName("default", name))
    assert key is not None
    return key


def flow_of(lake: Lake, name: str) -> Flow:
    key = key_of(lake, name)
    with home(lake)._core.database.read() as session:
        found = flows.find(session, key)
    assert found is not None
    return found


def commit(
    lake: Lake,
    name: str,
    text: str,
    branch: str = "main",
    also: Callable[[Session, str], None] | None = None,
) -> str:
    """A commit in the output of a flow, and with it what `also` does in its transaction."""
    with Transaction(home(lake)._core, "stream") as made:
        target = Ref(RepoName("default", name), branch)
        draft = made.draft(target, text, origin=Origin.PIPELINE, kind=RepoKind.OUTPUT)
        draft.changes.put_all([made.intake.add_bytes(f"/{made.id}.txt", text.encode())])
        if also is not None:
            made.create(lambda session: also(session, made.id))
        made.intake.close()
    return made.id


def batch(
    lake: Lake, name: str, end: Mapping[str, Any], facts: Mapping[str, Any] = {}, **known: Any
) -> str:
    """The next batch of a flow, up to `end`, with its commit; the id of that."""
    flow = flow_of(lake, name)

    def also(session: Session, commit_id: str) -> None:
        number = flow.number + 1
        made = Batch(commit_id, flow.epoch, number, number, flow.position, end, **known)
        flows.advance(session, flow.repo, made, end, facts)

    return commit(lake, name, f"batch {flow.number + 1}", also=also)


def empty_batch(lake: Lake, name: str, end: Mapping[str, Any]) -> None:
    """A batch that made no commit."""
    key = key_of(lake, name)
    with home(lake)._core.database.write() as session:
        flows.advance(session, key, None, end, {})


def batches(lake: Lake, name: str) -> Iterator[tuple[int, int]]:
    """The first and last number of each, oldest first."""
    for one in reversed(lake.stream_batches(name, None)):
        yield one.first, one.number
