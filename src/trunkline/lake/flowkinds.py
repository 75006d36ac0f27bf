"""Which pipelines flow: streams and ingests go on from where they are."""

from __future__ import annotations

from trunkline.errors import Usage
from trunkline.model.pipelines import INGEST, PipelineSpec
from trunkline.storage.catalog import Session, flows
from trunkline.storage.catalog.pipelines import PipelineRow

STREAM = "stream"


def flow_of(spec: PipelineSpec) -> str:
    """What remembers how far it has come: a stream or an ingest; nothing for others."""
    if spec.source is not None:
        return INGEST
    return STREAM if spec.transform.streaming is not None else ""


def has_own_clock(spec: PipelineSpec) -> bool:
    """Whether it is started by itself: an ingest, or a stream that runs at intervals."""
    streaming = spec.transform.streaming
    return spec.source is not None or (streaming is not None and streaming.interval is not None)


def check_flow(session: Session, row: PipelineRow, spec: PipelineSpec, where: str) -> None:
    """A stream goes on from what it wrote: it cannot take over what was made in another way."""
    present = flows.find(session, row.repo)
    was, now = present.kind if present else "", flow_of(spec)
    if was != now:
        kinds = {INGEST: "an ingest", STREAM: "a stream", "": "a pipeline that is no stream"}
        raise Usage(
            f"{where}{spec.name} is {kinds[was]} and cannot become {kinds[now]}.",
            hint="Give it another name, or delete the old one first.",
        )
