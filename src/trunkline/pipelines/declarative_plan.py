"""From the outputs and flows of a declarative project to the pipelines that they are.

Each materialized view and each table is one pipeline. Views are part of whoever reads them. What
is read as a stream makes the pipeline one that only looks at added files.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trunkline.errors import InvalidSpec
from trunkline.model.suggest import did_you_mean
from trunkline.pipelines.declarative import Kind, Output, Read, input_name
from trunkline.pipelines.declarative_sql import Flow

STREAMS_LATER = "Streams that remember earlier rows come with stream pipelines."


@dataclass(frozen=True, slots=True)
class Planned:
    """One pipeline: `reads` go through views down to tables; `files` define it.

    `sql` is all of it as a script, if it can be said in SQL.
    """

    output: Output
    reads: tuple[Read, ...]
    files: tuple[str, ...]
    conf: tuple[tuple[str, str], ...] = ()
    sql: str = ""

    @property
    def append(self) -> bool:
        return any(read.stream for read in self.reads)


def plan(outputs: Sequence[Output], flows: Sequence[Flow]) -> list[Planned]:
    """The pipelines of a project; `InvalidSpec` on the first thing that cannot be."""
    return _Planner(outputs, flows).plan()


class _Planner:
    def __init__(self, outputs: Sequence[Output], flows: Sequence[Flow]) -> None:
        self.outputs: dict[str, Output] = {}
        for output in outputs:
            other = self.outputs.setdefault(output.name, output)
            if other is not output:
                raise InvalidSpec(
                    f"{output.where}: {output.name} is already defined at {other.where}."
                )
        self.flows: dict[str, list[Flow]] = {name: [] for name in self.outputs}
        for flow in flows:
            if flow.target not in self.outputs:
                raise InvalidSpec(
                    f"{flow.where}: the flow {flow.name} writes to {flow.target}, which is not "
                    f"defined.{did_you_mean(flow.target, self.outputs)}"
                )
            self.flows[flow.target].append(flow)

    def plan(self) -> list[Planned]:
        kept = [one for one in self.outputs.values() if one.kind is not Kind.VIEW]
        for one in self.outputs.values():
            self._check_flows(one)
        return [self._pipeline(one) for one in kept]

    def _check_flows(self, output: Output) -> None:
        flows = self.flows[output.name]
        if not flows:
            raise InvalidSpec(
                f"{output.where}: nothing writes to the {output.kind} {output.name}.",
                hint=f'Add a flow: @dp.append_flow(target="{output.name}").',
            )
        if len(flows) > 1 and output.kind is not Kind.STREAMING_TABLE:
            raise InvalidSpec(
                f"{flows[1].where}: the {output.kind} {output.name} has two flows.",
                hint="Only a streaming table takes several.",
            )

    def _pipeline(self, output: Output) -> Planned:
        flows = self.flows[output.name]
        found = [self._through_views(flow, ()) for flow in flows]
        streaming = [any(read.stream for read in reads) for reads, _ in found]
        for flow, streams in zip(flows, streaming, strict=True):
            if streams and output.kind is Kind.MATERIALIZED_VIEW:
                raise InvalidSpec(
                    f"{flow.where}: the materialized view {output.name} reads a stream.",
                    hint="Make it a table (@dp.table, CREATE STREAMING TABLE), or read it whole.",
                )
            if any(streaming) and not streams:
                raise InvalidSpec(
                    f"{flow.where}: the flow {flow.name} reads no stream, but others into "
                    f"{output.name} do.",
                    hint="It would add all its rows again in every job; use readStream.",
                )
        reads = _together(output, (read for reads, _ in found for read in reads))
        used = dict.fromkeys(view for _, views in found for view in views)
        parts = [*flows, *(self.flows[view][0] for view in used)]
        for part in parts:
            if any(streaming) and part.query is not None and part.query.stateful:
                what = part.query.stateful
                raise InvalidSpec(f"{part.where}: {what} over a stream.", hint=STREAMS_LATER)
        files = [output.file, *(part.file for part in parts)]
        files += [self.outputs[view].file for view in used]
        conf: dict[str, str] = {}
        for part in reversed(parts):
            conf.update(part.conf)
        script = "" if output.schema else self._script(flows, list(used))
        return Planned(
            output, reads, tuple(sorted(set(files))), tuple(sorted(conf.items())), script
        )

    def _through_views(self, flow: Flow, above: tuple[str, ...]) -> tuple[list[Read], list[str]]:
        """The tables that a flow reads, and the views on the way, inner ones first."""
        reads: list[Read] = []
        views: list[str] = []
        for read in flow.reads:
            output = self.outputs.get(read.name)
            if output is None or output.kind is not Kind.VIEW:
                reads.append(read)
                continue
            if read.name in (*above, flow.target):
                chain = " → ".join((*above, flow.target, read.name))
                raise InvalidSpec(f"{flow.where}: these views read each other: {chain}.")
            inner, more = self._through_views(self.flows[read.name][0], (*above, flow.target))
            if read.stream is not any(one.stream for one in inner):
                how = "as a stream, but it is none" if read.stream else "whole, but it is a stream"
                raise InvalidSpec(f"{flow.where}: {flow.name} reads the view {read.name} {how}.")
            reads += inner
            views += [*more, read.name]
        return reads, list(dict.fromkeys(views))

    def _script(self, flows: Sequence[Flow], views: Sequence[str]) -> str:
        """Everything as statements of SQL; nothing if a part of it is Python, or several flows."""
        inner = [(view, self.flows[view][0].query) for view in views]
        last = flows[0].query
        if len(flows) > 1 or last is None:
            return ""
        steps = []
        for view, query in inner:
            if query is None:
                return ""
            steps.append(f"CREATE TEMPORARY VIEW `{input_name(view)}` AS\n{query.sql};\n")
        return "\n".join([*steps, last.sql]) + "\n"


def _together(output: Output, reads: Iterable[Read]) -> tuple[Read, ...]:
    found: dict[str, bool] = {}
    for read in reads:
        if found.setdefault(read.name, read.stream) is not read.stream:
            raise InvalidSpec(
                f"{output.where}: {output.name} reads {read.name} both as a stream and whole."
            )
    return tuple(Read(name, stream) for name, stream in found.items())
