"""Results against a run from scratch."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from trunkline.errors import Precondition, Usage
from trunkline.lake.core import Resolved, resolve, resolve_commit
from trunkline.lake.propagation import output_branch
from trunkline.model.pipelines import INGEST
from trunkline.model.refs import Need, Ref
from trunkline.model.verification import Verification, VerifyReport
from trunkline.sdk.base import LakeBase
from trunkline.storage.catalog import Session, events, flows, pipelines

if TYPE_CHECKING:
    from trunkline.model.commits import Commit


class Verifying(LakeBase):
    """Whether what is published is what its inputs and code give."""

    def verify(
        self,
        *targets: str,
        sample: int | None = None,
        tolerance: float = 0.0,
        listener: Callable[[Verification], None] | None = None,
    ) -> VerifyReport:
        """Compute commits of pipelines from scratch, beside the lake, and compare the rows.

        A target is `pipeline[@revision]`; without any, the heads of all pipelines are verified.
        `sample` takes that many datums of each, by lot. Doubles may differ by `tolerance`, as a
        part of their size. `listener` hears of each result as it comes.
        """
        from trunkline.engine.options import SparkOptions
        from trunkline.jobs.runner import RunnerOptions
        from trunkline.jobs.spark import SparkEngine
        from trunkline.jobs.verification import verify
        from trunkline.sdk.secrets import secret_reader

        if self.is_served:
            raise Precondition(
                "A lake is verified where it is, not through its server.",
                hint="Run trunkline verify in the lake's own folder.",
            )
        if sample is not None and sample < 1:
            raise Usage(f"A sample of {sample} datums verifies nothing.")
        began = time.monotonic()
        told = listener or (lambda one: None)
        chosen = self._chosen(targets)
        engine = self._engine or SparkEngine(
            SparkOptions.of(self._settings, self._core.objects.address)
        )
        options = RunnerOptions(
            secret_reader(self._folder),
            self._settings.text("work.folder"),
            hidden=(str(self._folder),),
        )
        results = []
        try:
            for found, commit in chosen:
                one = verify(
                    self._core,
                    engine,
                    options,
                    found.repo,
                    commit,
                    sample=sample,
                    tolerance=tolerance,
                )
                results.append(one)
                told(one)
        finally:
            if engine is not self._engine:
                engine.stop()
        report = VerifyReport(tuple(results), _versions(), time.monotonic() - began)
        self._record(report)
        return report

    def _chosen(self, targets: tuple[str, ...]) -> list[tuple[Resolved, Commit]]:
        with self._core.database.read() as session:
            if targets:
                found = []
                for text in targets:
                    ref = self._ref(text, path=Need.FORBIDDEN)
                    resolved = resolve_commit(session, ref)
                    if pipelines.find(session, resolved[0].repo) is None:
                        raise Usage(
                            f"{ref.repo} is no pipeline's: nothing computes it.",
                            hint="trunkline pipeline list shows the pipelines.",
                        )
                    found.append(resolved)
                return found
            heads = [
                resolve(session, Ref(row.name, output_branch(session, row)))
                for row in pipelines.all_pipelines(session)
                if not _is_ingest(session, row.repo)
            ]
        return [(one, one.commit) for one in heads if one.commit is not None]

    def _record(self, report: VerifyReport) -> None:
        """Each verdict is an event of its pipeline, with the versions that it was found with.

        Not with the reason, which quotes what was read: events are for all readers of the output.
        """
        with self._core.database.write() as session:
            for one in report.results:
                facts = {
                    "id": one.commit,
                    "verdict": str(one.verdict),
                    "versions": dict(report.versions),
                }
                events.emit(session, "verify", one.pipeline, facts)


def _is_ingest(session: Session, repo: int) -> bool:
    """Whether what it holds came from outside: nothing in the lake computes it."""
    flow = flows.find(session, repo)
    return flow is not None and flow.kind == INGEST


def _versions() -> dict[str, str]:
    import platform
    from importlib import metadata

    from trunkline import __version__
    from trunkline.engine.java import find_java

    return {
        "trunkline": __version__,
        "spark": metadata.version("pyspark"),
        "java": find_java().version,
        "python": platform.python_version(),
    }
