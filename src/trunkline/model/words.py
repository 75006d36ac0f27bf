"""Numbers and reasons in words, alike wherever people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trunkline.model.jobs import Counts, Job


def count(number: int, noun: str) -> str:
    """`1 file`, `3 files`, `2 branches`."""
    if number == 1:
        return f"1 {noun}"
    plural = noun + ("es" if noun.endswith(("ch", "s", "x")) else "s")
    return f"{number:,} {plural}"


def job_words(job: Job) -> str:
    """What a job did: with its datums, or if it is a stream's, its batches."""
    return in_words(job.counts, "batch" if job.is_stream else "datum")


def in_words(counts: Counts, noun: str = "datum") -> str:
    """`100 datums: 1 ran, 98 skipped, 1 failed`; of tables also what rows went through."""
    if not counts.total:
        return f"no {count(0, noun).partition(' ')[2]}"
    parts = [
        (counts.processed, "ran"),
        (counts.skipped, "skipped"),
        (counts.failed, "failed"),
        (counts.recovered, "recovered"),
    ]
    some = ", ".join(f"{number:,} {word}" for number, word in parts if number)
    units = count(counts.total, noun)
    text = f"{units}: {some}" if some and noun == "datum" else units
    if counts.rows_in is None or counts.rows_out is None:
        return text
    return f"{text}; {count(counts.rows_in, 'row')} in, {counts.rows_out:,} out"


def reasons(found: Mapping[str, int]) -> str:
    """`3 new, 1 input changed`: paths and the like are left to the samples."""
    kinds: Counter[str] = Counter()
    for reason, number in found.items():
        kinds[reason.partition(":")[0]] += number
    if len(kinds) > 1:
        # Of interest only where it is all there is to say.
        del kinds["unchanged"]
    return ", ".join(f"{number:,} {kind}" for kind, number in kinds.most_common())
