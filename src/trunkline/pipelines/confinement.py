"""Whether the code of a pipeline can run behind a wall. SQL is no code: it calls none."""

from __future__ import annotations

from trunkline.model.pipelines import PipelineSpec, Sandbox

BESIDE_SPARK = "a function on DataFrames runs inside the worker, beside Spark, and has no sandbox"
INSTEAD = "Use cmd, or python on files, for code that is to be confined."


def unconfined(spec: PipelineSpec) -> str:
    """Why the code of a pipeline cannot be confined; "" if it can, or there is none."""
    transform = spec.transform
    if transform.spark or transform.stream:
        return BESIDE_SPARK
    if spec.source is not None and spec.source.kind == "python":
        return "the generator of an ingest runs beside the worker, and has no sandbox"
    if transform.sandbox is Sandbox.OFF:
        return "it says sandbox: off"
    return ""
