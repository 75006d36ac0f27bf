"""What a job of a stream has done becomes one commit, in one transaction with where the flow is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from trunkline.errors import ChecksFailed
from trunkline.jobs import finishing
from trunkline.jobs.assembly import Assembly
from trunkline.jobs.candidate import Candidate
from trunkline.jobs.claims import Claim
from trunkline.jobs.context import Context
from trunkline.jobs.expectations import failure_text
from trunkline.jobs.finishing import BaseMoved
from trunkline.jobs.streaming import queries
from trunkline.jobs.streaming.inputs import StreamInputs
from trunkline.jobs.streaming.merging import upserted
from trunkline.jobs.streaming.results import Results
from trunkline.lake import checkpoints
from trunkline.lake.changes import Changes
from trunkline.lake.core import Core, repo_key
from trunkline.lake.drafts import Planner, StoredTree
from trunkline.lake.publish import Readers, withdraw
from trunkline.model.expectations import CheckResult
from trunkline.model.jobs import Counts, JobInput
from trunkline.model.streams import Batch, Flow
from trunkline.storage.catalog import Session as Transaction
from trunkline.storage.catalog import commits, flows
from trunkline.storage.crashpoints import crashpoint
from trunkline.storage.objects.intake import Intake
from trunkline.storage.objects.keys import KeyMaker


@dataclass(frozen=True, slots=True)
class Done:
    """What a job has done. `flow` is where it began, `position` how far it came.

    `kind` is what keeps state in the query, `version` which query that is, and `pruned` the
    batch at which old state was removed last.
    """

    flow: Flow
    inputs: StreamInputs
    results: Results
    position: Mapping[str, str]
    kind: tuple[str, ...]
    version: str
    began: float
    pruned: int


def is_interval(context: Context) -> bool:
    streaming = context.spec.transform.streaming
    return streaming is not None and streaming.interval is not None


class Publisher:
    """For one attempt of a job. `checks` are what became of its rules."""

    def __init__(
        self, core: Core, claim: Claim, keys: KeyMaker, context: Context, done: Done
    ) -> None:
        self.core = core
        self.claim = claim
        self.checks: tuple[CheckResult, ...] = ()
        self._keys = keys
        self._context = context
        self._done = done

    def publish(self) -> None:
        """The commit, or if nothing came of it and nobody waits for one, only the way on."""
        context, flow, results = self._context, self._done.flow, self._done.results
        if results.state and results.batches:
            checkpoints.settle(
                self.core.objects, results.state["checkpoint"], results.state["batch"]
            )
        facts = self._facts()
        if is_interval(context) and results.is_empty:
            self._advance_only(facts)
            return
        read = replace(context, inputs=self._done.inputs.read(self._done.position))
        built = self._build()
        batch = self._batch(facts)
        crashpoint("stream.before_commit")

        def record(session: Transaction) -> None:
            self._still_there(session, flow)
            flows.advance(session, self.claim.repo, batch, self._done.position, facts)
            self._set_provenance(session, read.inputs)

        finishing.succeed(
            self.core,
            self.claim,
            read,
            built,
            None,
            None,
            self._counts(),
            checked=self.checks,
            also=record,
            # The job of an interval was opened by the clock: no set has jobs for its readers.
            readers=Readers.START if is_interval(context) else Readers.FOLLOW,
            author="stream" if is_interval(context) else "",
        )
        crashpoint("stream.committed")

    def _counts(self) -> Counts:
        results = self._done.results
        return Counts(
            processed=results.batches,
            total=results.batches,
            bytes_out=sum(entry.size for entry in results.entries),
            process=round(results.seconds, 6),
            rows_in=results.rows_in,
            rows_out=results.rows_out,
        )

    def _batch(self, facts: Mapping[str, Any]) -> Batch:
        flow, results = self._done.flow, self._done.results
        return Batch(
            commit=self.claim.job.id,
            epoch=flow.epoch,
            first=flow.number + 1,
            number=flow.number + 1,
            start=flow.position,
            end=self._done.position,
            rows_in=results.rows_in,
            rows_out=results.rows_out,
            late=results.late,
            malformed=results.malformed,
            watermark=results.watermark,
            state_rows=facts["state_rows"],
            state_bytes=facts["state_bytes"],
            seconds=time.monotonic() - self._done.began,
            state=results.state,
        )

    def _build(self) -> StoredTree:
        context, flow, results = self._context, self._done.flow, self._done.results
        # After a restart the first batch takes the place of all that was there.
        anew = bool(flow.facts.get("replace")) and not results.is_empty
        commit = None if anew else context.base.commit
        base = self.core.tree(commit)
        intake = Intake(self.core.objects, self._keys.branch())
        assembly = Assembly(base)
        streaming = context.spec.transform.streaming
        assert streaming is not None
        changes = Changes()
        entries = results.entries
        if streaming.key:
            changes, entries = upserted(
                self.core, self._keys, base, results, streaming.key, str(context.version.name)
            )
        for entry in entries:
            changes.puts[entry.path.encode()] = entry.encode()
        assembly.changes = changes
        outcome = results.outcome()
        seen = replace(context, base=replace(context.base, commit=commit))
        self.checks = Candidate(self.core, seen, assembly).checked(outcome, ())
        if why := failure_text(self.checks):
            raise ChecksFailed(why)
        merged = b"/_table.json" in changes.puts
        folders = [one for one in results.schemas if one != "/" or not merged]
        changes.put_all(results.described(base, intake, folders))
        intake.close()
        if not changes and commit is not None and commit.root and commit.root_hash:
            return StoredTree(commit.root, commit.root_hash, base)
        return Planner(self.core, self._keys, intake).build(commit, changes)

    def _facts(self) -> dict[str, Any]:
        """The newest figures; those of a batch that moved nothing stay."""
        done, flow, results = self._done, self._done.flow, self._done.results
        known = flow.facts
        seconds = max(time.monotonic() - done.began, 1e-6)
        ran = bool(results.batches)
        return {
            **({"replace": True} if known.get("replace") and results.is_empty else {}),
            "state": dict(results.state),
            "watermark": results.watermark,
            "moved": results.moved and ran,
            "kind": queries.explained(done.kind) if ran else known.get("kind", ""),
            "version": done.version if ran else known.get("version", done.version),
            # What was looked at in vain is no news when it is looked at again.
            "seen": {} if ran else done.inputs.beyond(done.position),
            "schemas": done.inputs.schemas,
            "columns": dict(results.columns) if ran else known.get("columns", {}),
            "pruned": done.pruned,
            "rows_in": results.rows_in,
            "rows_out": results.rows_out,
            "late": known.get("late", 0) + results.late,
            "malformed": known.get("malformed", 0) + results.malformed,
            "skipped": known.get("skipped", 0) + results.skipped,
            "state_rows": results.state_rows if ran else known.get("state_rows", 0),
            "state_bytes": results.state_bytes if ran else known.get("state_bytes", 0),
            "seconds": round(seconds, 6),
            "rows_per_second": round(results.rows_in / seconds, 3),
            "batches": known.get("batches", 0) + results.batches,
        }

    def _advance_only(self, facts: Mapping[str, Any]) -> None:
        """Nothing came of the batch: the flow moves on, and neither commit nor job stays."""
        crashpoint("stream.before_commit")
        with self.core.database.write() as session:
            finishing.check(session, self.claim)
            flows.advance(session, self.claim.repo, None, self._done.position, facts)
            withdraw(session, self.claim.repo, self.claim.job.id)

    def _still_there(self, session: Transaction, flow: Flow) -> None:
        """A rewind while the job ran has taken what it builds on from under it."""
        now = flows.find(session, self.claim.repo)
        if now is None or (now.epoch, now.number) != (flow.epoch, flow.number):
            raise BaseMoved

    def _set_provenance(self, session: Transaction, read: tuple[JobInput, ...]) -> None:
        """What the commit was made from: perhaps less than there was when the job began."""
        for one in read:
            source = repo_key(session, one.repo)
            commits.replace_provenance(
                session, self.claim.repo, self.claim.job.id, source, one.commit
            )
