"""What goes wrong with a query's state, in one line and with the choices one has."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from trunkline.engine.sqlerrors import short
from trunkline.errors import (
    CheckpointDamaged,
    StateRefused,
    TransformFailed,
    TrunklineError,
    Unavailable,
)

_OTHER_QUERY = re.compile(
    r"STATE_STORE_(KEY|VALUE)_SCHEMA_NOT_COMPATIBLE|STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"
    r"|STREAMING_STATEFUL_OPERATOR_NOT_MATCH|STATE_STORE_INVALID_(VARIABLE|CONFIG)"
    r"|STATE_STORE_COLUMN_FAMILY_MISMATCH|INVALID_VARIABLE_TYPE_CHANGE"
    r"|STREAMING_STATEFUL_OPERATOR_MISSING_STATE_DIRECTORY"
    r"|STREAM_.*NUM_SOURCES|number of sources"
)
_DAMAGED = re.compile(
    r"CANNOT_LOAD_STATE_STORE|CANNOT_READ_(DELTA|SNAPSHOT|STREAMING_STATE|CHECKPOINT)"
    r"|Incomplete log file|BATCH_METADATA_NOT_FOUND|MALFORMED_LOG_FILE|ChecksumException"
    r"|CHECKPOINT_FILE_CHECKSUM|offset log|UNRECOGNIZED_STATE|STATE_STORE_ROW_CHECKSUM"
)
# Spark gives its Python ten seconds to start, and that cannot be set.
_MAY_PASS = re.compile(r"Python worker failed to connect back")
_ACTION = "Queries with streaming sources must be executed with writeStream"
_FULL = re.compile(r"No space left on device|Disk quota exceeded")


@contextlib.contextmanager
def in_words(pipeline: str) -> Iterator[None]:
    """Errors of Spark about state and checkpoints, as what they mean for the stream."""
    try:
        yield
    except TrunklineError:
        raise
    except Exception as error:
        text = str(error)
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        if _FULL.search(text):
            raise  # whatever of the state it has left half written
        if _MAY_PASS.search(text):
            raise Unavailable(
                f"Spark's Python for {pipeline} did not start in time.",
                hint="The machine may be overloaded; it is tried again.",
            ) from None
        if _OTHER_QUERY.search(text):
            raise StateRefused(
                f"The query of {pipeline} has changed so that it cannot use its state: "
                f"{short(error)}.",
                hint=f"Apply the version before again (trunkline pipeline restore {pipeline}), or "
                f"begin anew: trunkline stream restart {pipeline} --from REF.",
            ) from None
        if _DAMAGED.search(text):
            raise CheckpointDamaged(
                f"The state of {pipeline} cannot be read: {short(error)}.",
                hint=f"Go back to a commit whose state is whole (trunkline stream rewind "
                f"{pipeline} --to REF), or begin anew: trunkline stream restart {pipeline} "
                "--from REF.",
            ) from None
        if _ACTION in text:
            raise TransformFailed(
                f"{pipeline} asks a stream for its rows, as count, collect and toPandas do.",
                hint="Return the DataFrame that says what becomes of them; it runs for each batch.",
            ) from None
        raise
