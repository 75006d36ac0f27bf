"""Savepoints: the state of a stream as a commit, for as long as somebody wants it.

They lie on the branch `checkpoint` of the stream's output, which no pipeline reads, and are kept,
copied, checked and erased like any data. `/savepoint.json` says which batch it is, and below
`/checkpoint/` is what Spark needs to go on from there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from trunkline.errors import AlreadyExists, BranchMoved, CheckpointDamaged, NotFound
from trunkline.lake import checkpoints
from trunkline.lake.checkpointchecks import verify
from trunkline.lake.checkpointfiles import METADATA, Checkpoint, Damaged
from trunkline.lake.core import Core, repo_key
from trunkline.lake.files import find as find_file
from trunkline.lake.files import lines_below, read
from trunkline.lake.history import first_parents
from trunkline.lake.transaction import Transaction
from trunkline.model.commits import Commit, Origin, RepoKind, RepoName
from trunkline.model.entries import Entry
from trunkline.model.refs import Ref
from trunkline.model.shape import INTERNAL
from trunkline.model.streams import Batch
from trunkline.model.time import Moment
from trunkline.storage.catalog import commits, refs
from trunkline.storage.objects.loose import loose

BRANCH = "checkpoint"
FACTS = "/savepoint.json"
FOLDER = "/checkpoint/"


@dataclass(frozen=True, slots=True)
class Savepoint:
    """A commit with state: `id` is its own, `commit` that of the output it belongs to."""

    id: str
    repo: RepoName
    commit: str
    epoch: int
    batch: int
    made: Moment
    bytes: int
    state: Mapping[str, Any] = field(default_factory=dict, compare=False, metadata=INTERNAL)


def savepoint(core: Core, name: RepoName, batch: Batch, author: str) -> Commit:
    """Commit the state after a batch. One that has a savepoint gets no second one."""
    if (kept := find(core, name, batch.commit)) is not None:
        return kept
    found = Checkpoint(loose(core.objects), str(batch.state["checkpoint"]))
    try:
        needed = found.needed(int(batch.state["batch"]))
        verify(found, needed)
    except Damaged:
        checkpoints.check(core.objects, found.folder, int(batch.state["batch"]), str(name))
        raise
    while True:
        try:
            return _commit(core, name, batch, found, needed, author)
        except (AlreadyExists, BranchMoved):
            continue  # another savepoint was made just now


def find(core: Core, name: RepoName, commit_id: str) -> Commit | None:
    """The savepoint of the batch that made a commit of the output, if there is one."""
    with core.database.read() as session:
        found = commits.find_request(session, repo_key(session, name), _request(commit_id))
    return found if found is not None and found.forgotten is None else None


def listed(core: Core, name: RepoName) -> list[Savepoint]:
    """The newest first."""
    with core.database.read() as session:
        branch = refs.branch(session, repo_key(session, name), BRANCH)
    if branch is None or branch.head is None:
        return []
    found = []
    for commit in first_parents(core, Ref(name, BRANCH), None):
        with suppress(NotFound):  # forgotten, or something else that was put on the branch
            found.append(facts(core, commit))
    return found


def facts(core: Core, commit: Commit) -> Savepoint:
    """What a savepoint says of itself."""
    try:
        entry = find_file(core.tree(commit), FACTS, f"{commit.repo}@{commit.short_id}")
    except NotFound:
        raise NotFound(
            f"{commit.short_id} of {commit.repo} is no savepoint.",
            hint=f"They are on the branch {commit.repo}@{BRANCH}.",
        ) from None
    said = json.loads(b"".join(read(core, entry)))
    return Savepoint(
        commit.id,
        commit.repo,
        said["commit"],
        said["epoch"],
        said["batch"],
        commit.finished or 0,
        commit.size,
        said["state"],
    )


def restore(core: Core, commit: Commit, target: str) -> dict[str, Any]:
    """Make `target` a checkpoint again; the state of the batch, which is now there."""
    said = facts(core, commit)
    files = loose(core.objects)
    checkpoints.begin(files, target)
    folder = target.rstrip("/") + "/"
    for line in lines_below(core.tree(commit), FOLDER):
        entry = Entry.decode(line)
        name = entry.path.removeprefix(FOLDER)
        data = b"".join(read(core, entry))
        if checkpoints.names_addresses(name):
            data = checkpoints.moved(core.objects, folder.rstrip("/"), {name: data})[name]
        if name != METADATA:
            files.write({folder + name: data})
    checkpoints.end(files, target)
    return {**said.state, "checkpoint": target}


def _commit(
    core: Core, name: RepoName, batch: Batch, found: Checkpoint, needed: set[str], author: str
) -> Commit:
    target = Ref(name, BRANCH)
    with core.database.read() as session:
        branch = refs.branch(session, repo_key(session, name), BRANCH)
    said = {
        "commit": batch.commit,
        "epoch": batch.epoch,
        "batch": batch.number,
        "start": dict(batch.start),
        "end": dict(batch.end),
        "watermark": batch.watermark,
        "state": dict(batch.state),
    }
    with Transaction(core, author) as transaction:
        if branch is None:
            transaction.create_branch(target, None)
        draft = transaction.draft(
            target,
            f"savepoint of batch {batch.number}",
            request=_request(batch.commit),
            origin=Origin.USER,
            kind=RepoKind.OUTPUT,
        )
        before = core.tree(draft.base)
        for line in lines_below(before, "/"):
            draft.changes.remove_file(Entry.decode(line).path.encode())
        lines = [transaction.intake.add_bytes(FACTS, json.dumps(said).encode())]
        for part in sorted(needed):
            path = FOLDER + part
            old = before.find(path.encode())
            # The name of such a table is its own: what has it was stored before.
            if old is not None and part.endswith(".sst"):
                lines.append(old)
                continue
            try:
                lines.append(
                    transaction.intake.add_stream(path, found.files.stream(found.folder + part))
                )
            except FileNotFoundError:
                raise CheckpointDamaged(
                    f"The state of {name} after batch {batch.number} was removed meanwhile.",
                    hint="Take the savepoint of a newer batch.",
                ) from None
        draft.changes.put_all(lines)
    assert draft.result is not None
    return draft.result


def _request(commit_id: str) -> str:
    return f"savepoint of {commit_id}"
