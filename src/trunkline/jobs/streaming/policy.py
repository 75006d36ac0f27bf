"""What a stream does about rows that it has read and that are no longer as they were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from trunkline.errors import Precondition, TrunklineError
from trunkline.jobs.streaming.changedrows import only_inserts
from trunkline.jobs.streaming.step import Step
from trunkline.jobs.streaming.tablestate import name_of
from trunkline.lake.core import Core
from trunkline.lake.differences import Difference
from trunkline.model.entries import Entry
from trunkline.model.inputs import Pfs
from trunkline.model.streams import OnChangedRows


@dataclass(frozen=True, slots=True)
class Policy:
    """That of one input. `stream` is the pipeline's name, for people."""

    core: Core
    leaf: Pfs
    stream: str

    @property
    def marks(self) -> bool:
        """Whether each row says what became of it."""
        return self.leaf.stream.changes is OnChangedRows.ROWS

    def applied(self, step: Step, gone: list[Entry], come: list[Entry]) -> Step:
        """Rows that were read before are no longer as they were, or perhaps still are."""
        after = {entry.path: entry for entry in come}
        changed = [
            Difference(old.path.encode(), old.encode(), new.encode() if new else None)
            for old in gone
            for new in (after.pop(old.path, None),)
        ]
        folders = {old.path.rpartition("/")[0] for old in gone}
        beside = [one for one in after.values() if one.path.rpartition("/")[0] in folders]
        mixed = _moved_over(step, after, changed, beside)
        if step.marked:
            return mixed
        inserted = self._inserted(mixed)
        if inserted is not None:
            return mixed if inserted else replace(mixed, changed=(), whole=False)
        if self.leaf.stream.changes is OnChangedRows.SKIP:
            # What a table's own writers put beside what they removed is what they made of it;
            # a file that somebody put there is new.
            instead = [one for one in beside if one.rows is not None]
            mixed = _moved_over(step, after, changed, instead)
            return replace(mixed, changed=(), whole=False, skipped=len(mixed.changed))
        raise self._refused(step, changed)

    def _inserted(self, mixed: Step) -> int | None:
        """How many rows the changed files have more than before; None if some have gone."""
        if not any(one.new is not None for one in mixed.changed):
            return None
        try:
            return only_inserts(self.core, mixed, name_of(self.leaf, mixed.folder))
        except TrunklineError:
            return None  # who cannot tell must not say that nothing has changed

    def _refused(self, step: Step, changed: Sequence[Difference]) -> Precondition:
        first = changed[0]
        what = "removed" if first.new is None else "changed"
        more = f" (and {len(changed) - 1} more)" if len(changed) > 1 else ""
        return Precondition(
            f"{first.path.decode()} of {self.leaf.repo} was {what} in commit "
            f"{step.commit[:12]}{more}, and {self.stream} has read its rows before.",
            hint=f"Set changes: skip on the input {self.leaf.name} to pass such changes by, or "
            "changes: rows to get them as rows with _change; or start anew: "
            f"trunkline stream restart {self.stream} --from {self.leaf.branch}.",
        )


def _moved_over(
    step: Step, after: Mapping[str, Entry], changed: Sequence[Difference], beside: Sequence[Entry]
) -> Step:
    """The step with some of its new files among the changed ones."""
    paths = {one.path for one in beside}
    more = [Difference(one.path.encode(), None, one.encode()) for one in beside]
    added = tuple(one.encode() for path, one in after.items() if path not in paths)
    return replace(step, added=added, changed=(*changed, *more), whole=True)
