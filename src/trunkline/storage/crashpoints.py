"""Places where a test may kill the process, by name.

`TRUNKLINE_CRASH_AT=put.after_bytes` kills this process with SIGKILL when it gets there;
`put.after_bytes:3` does so the third time. Each process counts for itself, helpers too.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "TRUNKLINE_CRASH_AT"

CRASHPOINTS: dict[str, str] = {
    "put.before_bytes": "A pack or object is about to be opened; nothing of it is written.",
    "put.during_bytes": "Some bytes are written under a temporary name; nothing is published.",
    "put.after_bytes": "A pack or object is durable; no manifest names it yet.",
    "commit.after_manifests": "Data and manifests are durable; the catalog knows nothing of them.",
    "commit.before_transaction": "The catalog transaction is about to begin.",
    "commit.in_transaction": "The catalog transaction has written, but not committed.",
    "commit.after_transaction": "The commit happened; the caller has not been told.",
    "merge.before_transaction": "The merged tree is durable; the branch has not moved.",
    "gc.after_commits": "Unreachable commits are gone from the catalog; their objects are there.",
    "gc.half_deleted": "Some of the unreachable objects are deleted.",
    "gc.after_deletes": "All unreachable objects are deleted; nothing is reported yet.",
    "identity.marked": "The store's mark says where the lake is at home now; the catalog does not.",
    "migrate.before": "The catalog still has the old format.",
    "migrate.after": "The catalog has the new format; the caller has not been told.",
    "erase.after_record": "An erasure is on the record; every byte is still there.",
    "erase.copies_gone": "Copies that no commit names are gone; what commits name is still there.",
    "erase.half_done": "Some of the bytes to erase are gone; the record does not say so yet.",
    "erase.trees_written": "Trees without bounds of what is erased are there; no commit has them.",
    "restore.objects_written": "All objects of a backup are restored; there is no catalog yet.",
    "restore.catalog_written": "Objects and catalog are restored; the folder is no lake yet.",
    "finish.after_staging": "The changes of an open commit are gathered; it is not finished.",
    "propagate.in_transaction": "All open commits and jobs of a set are written, not committed.",
    "job.claimed": "A worker has the job; nothing is done.",
    "job.spark_started": "Spark is up; no datum has run.",
    "job.half_done": "Some results of a set's datums are durable; the set is not done.",
    "job.tables_written": "The files of all tables are durable; no result names them.",
    "job.all_done": "All results are durable; the output is not put together.",
    "job.before_commit": "Output, index and results are durable; no catalog names them.",
    "job.in_commit": "The job's commit is written in an open transaction.",
    "job.committed": "The job is over and its commit visible; the worker has not gone on.",
    "egress.claimed": "A delivery is in hand; nothing is sent.",
    "egress.sending": "Some of a version is at its target, and nobody sees it yet.",
    "egress.sent": "The target has the version; the catalog does not know it.",
    "egress.recorded": "A delivery is over and on the record; the worker has not gone on.",
    "ingest.gathered": "A batch of an ingest is gathered; nothing of it is in the lake.",
    "ingest.written": "The files of an ingest's batch are durable; no catalog names them.",
    "ingest.committed": "An ingest's batch is committed with its position; the source is not told.",
    "ingest.source_told": "The source knows that its batch is in; the ingest has not gone on.",
    "stream.forked": "A checkpoint is forked at the flow's batch; no query uses it yet.",
    "stream.offsets_logged": "Spark has logged the offsets of a batch; none of it is written.",
    "stream.data_written": "The rows of a batch are written, its state may be half saved.",
    "stream.batch_done": "Spark has logged the batch as done; the flow stands where it stood.",
    "stream.before_commit": "Rows, state and manifests are durable; the catalog knows nothing.",
    "stream.committed": "Commit, position and state are in the catalog; nobody has gone on.",
    "stream.rewinding": "The state to go back to is there; nothing has moved.",
    "schedule.slot_computed": "A slot is known to be due; nothing is written.",
    "schedule.slot_inserted": "A slot is claimed and its tick made, in an open transaction.",
}

_hits = dict.fromkeys(CRASHPOINTS, 0)


def crashpoint(name: str) -> None:
    """Die here if the environment says so. An unknown name is a KeyError, armed or not."""
    _hits[name] += 1
    armed = os.environ.get(VARIABLE)
    if armed is None:
        return
    wanted, _, nth = armed.partition(":")
    if wanted == name and _hits[name] == int(nth or 1):
        os.kill(os.getpid(), signal.SIGKILL)
