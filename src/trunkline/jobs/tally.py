"""Counting: what became of the datums of a job, and what they moved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from trunkline.engine.runner.task import DatumResult
from trunkline.model.jobs import Counts, Job


class Totals:
    """What results add up to."""

    def __init__(self) -> None:
        self.success = self.failed = self.recovered = 0
        self.bytes_in = self.bytes_out = 0
        self.down = self.process = self.up = 0.0
        self.spark_jobs: tuple[int, ...] = ()
        self.rows_in: int | None = None
        self.rows_out: int | None = None

    def add(self, result: DatumResult) -> None:
        self.success += result.state == "success"
        self.failed += result.state == "failed"
        self.recovered += result.state == "recovered"
        self.bytes_in += result.bytes_in
        self.bytes_out += result.bytes_out
        self.down += result.down
        self.process += result.process
        self.up += result.up

    def on(self, counts: Counts) -> Counts:
        return replace(
            counts,
            processed=self.success,
            failed=self.failed,
            recovered=self.recovered,
            bytes_in=self.bytes_in,
            bytes_out=self.bytes_out,
            download=round(self.down, 6),
            process=round(self.process, 6),
            upload=round(self.up, 6),
            spark_jobs=self.spark_jobs,
            rows_in=self.rows_in,
            rows_out=self.rows_out,
        )


@dataclass(slots=True)
class Tally:
    """What was decided: `fresh` are those of the others that no earlier index has.

    `totals` is what was computed, by this attempt and by earlier ones at the same job.
    """

    run: int = 0
    reuse: int = 0
    keep: int = 0
    drop: int = 0
    fresh: int = 0
    patched: bool = False
    totals: Totals = field(default_factory=Totals)

    def counts(self, base: Job | None) -> Counts:
        """How the job stands before the datums that must run have run."""
        kept, done = self.keep, self.totals.success
        if self.patched and base is not None:
            # Only what changed was looked at: all others are as the last good job left them.
            changed = self.run + self.reuse + done - self.fresh
            kept = base.counts.total - self.drop - changed
        skipped = kept + self.reuse
        return self.totals.on(Counts(skipped=skipped, total=skipped + done + self.run))
