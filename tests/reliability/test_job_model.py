"""Any history of puts, deletes, new code, failures, cancels, deaths and gc: as from scratch."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, note, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import trunkline as tl
from tests.reliability import graph
from tests.reliability.harness import assert_no_orphans, assert_sound
from tests.reliability.pipelines import loudly, pair, total
from trunkline.engine.options import SparkOptions
from trunkline.jobs import claims, finishing, runner
from trunkline.jobs.runner import JobRun, RunnerOptions
from trunkline.jobs.spark import SparkEngine
from trunkline.model.jobs import JobState

Files = dict[str, bytes]
WORDS = [f"/w{number}" for number in range(4)]
DEATHS = ["job.claimed", "job.all_done", "job.before_commit", "job.in_commit"]

words = st.sampled_from(WORDS)
texts = st.sampled_from([b"a", b"b"])
codes = st.sampled_from(["1", "2"])


class Died(BaseException):
    """A worker that is gone."""


@dataclass
class Waiting:
    """A job of `upper` that is not over: what it reads, and by which code."""

    files: Files
    code: str


@dataclass
class Model:
    files: Files = field(default_factory=dict)
    code: str = "1"
    waiting: list[Waiting] = field(default_factory=list)
    failing: set[str] = field(default_factory=set)
    done: set[tuple[str, bytes, str]] = field(default_factory=set)
    """Datums with a good result, which no failure touches any more."""
    perhaps: set[tuple[str, bytes, str]] = field(default_factory=set)
    """Datums of workers that died in jobs that were then stopped: of some the results are found."""
    head: tuple[Files, str] | None = None
    successes: int = 0

    def outputs(self) -> dict[str, Files]:
        if self.head is None:
            return {"upper": {}, "pair": {}, "total": {}}
        files, code = self.head
        loud = {path: data.upper() + code.encode() for path, data in files.items()}
        return {
            "upper": loud,
            "pair": {path: data + loud[path] for path, data in files.items()},
            "total": {"/total": b"".join(loud[path] for path in sorted(loud))} if loud else {},
        }


class Machine(RuleBasedStateMachine):
    root: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        self.lake = tl.init(self.folder)
        self.model = Model()
        self.ended = 0

    @initialize()
    def begin(self) -> None:
        self.lake.create_repo("words")
        self.put(words=[("/w0", b"a"), ("/w1", b"a")])
        self.model.waiting.clear()
        self.lake.apply(self.spec("1"), total, pair)
        self.model.waiting.append(Waiting(dict(self.model.files), "1"))

    def spec(self, code: str) -> tl.Pipeline:
        env = {"MARK": code, "FLAGS": str(self.folder)}
        declare = tl.pipeline(tl.pfs("words", glob="/*"), name="upper", env=env, datum_tries=1)
        return declare(loudly)  # type: ignore[return-value]

    # -- what people do ----------------------------------------------------------------------

    @rule(words=st.lists(st.tuples(words, texts), min_size=1, max_size=3))
    def put(self, words: list[tuple[str, bytes]]) -> None:
        graph.put(self.lake, dict(words))
        self.model.files.update(words)
        self.model.waiting.append(Waiting(dict(self.model.files), self.model.code))

    @rule(word=words)
    def delete(self, word: str) -> None:
        graph.put(self.lake, {}, remove=(word,))
        self.model.files.pop(word, None)
        self.model.waiting.append(Waiting(dict(self.model.files), self.model.code))

    @rule(code=codes)
    def apply(self, code: str) -> None:
        self.lake.apply(self.spec(code))
        if code != self.model.code:
            self.model.code = code
            self.model.waiting = [Waiting(dict(self.model.files), code)]

    @rule(word=words)
    def fail_or_mend(self, word: str) -> None:
        flag = self.folder / f"fail-{word[1:]}"
        if flag.exists():
            flag.unlink()
        else:
            flag.touch()
        self.model.failing ^= {word}

    @precondition(lambda self: self.model.waiting)
    @rule()
    def cancel(self) -> None:
        """The oldest that waits; what reads it cannot run."""
        found = [job for job in self.lake.jobs("upper") if not job.state.is_over]
        self.lake.cancel_job(f"upper@{found[-1].id}")
        del self.model.waiting[0]

    @rule()
    def run_by_hand(self) -> None:
        self.lake.run_pipeline("upper")
        self.model.waiting.append(Waiting(dict(self.model.files), self.model.code))

    # -- what the machine does ---------------------------------------------------------------

    @precondition(lambda self: self.model.waiting)
    @rule()
    def run(self) -> None:
        """Every job that waits: each fails or succeeds as the model says, in its turn."""
        before = {job.id for job in self.lake.jobs("upper") if job.state.is_over}
        self.lake.run()
        ended = [job for job in reversed(self.lake.jobs("upper")) if job.id not in before]
        assert len(ended) == len(self.model.waiting)
        for job, one in zip(ended, self.model.waiting, strict=True):
            self.settle(one, job.state)
        self.model.waiting.clear()

    def settle(self, one: Waiting, state: JobState) -> None:
        datums = {(path, data, one.code) for path, data in one.files.items()}
        must = {x for x in datums - self.model.done if x[0] in self.model.failing}
        note(f"{state}: {len(must)} of {len(datums)} fail")
        if must and not must <= self.model.perhaps:
            assert state is JobState.FAILURE
        elif not must:
            assert state is JobState.SUCCESS
        self.model.done |= datums - must
        if state is JobState.SUCCESS:
            self.model.done |= datums
            self.model.head = (one.files, one.code)
            self.model.successes += 1

    @precondition(lambda self: self.model.waiting)
    @rule(point=st.sampled_from(DEATHS))
    def die(self, point: str) -> None:
        """A worker dies in the first job that can run, if it comes that far."""
        core = self.lake._core
        claim = claims.claim_next(core, "short-lived")
        assert claim is not None
        if claim.job.pipeline.repo != "upper":
            point = "job.claimed"
        engine = SparkEngine(SparkOptions.of(self.lake._settings))
        one = self.model.waiting[0]
        try:
            with dying_at(point):
                if point != "job.claimed":
                    state = JobRun(core, claim, engine, RunnerOptions()).run()
                    self.settle(one, state)
                    del self.model.waiting[0]
                    return
        except Died:
            # Its results are there for whoever comes next, unless the job is stopped.
            datums = {(path, data, one.code) for path, data in one.files.items()}
            self.model.perhaps |= {x for x in datums if x[0] not in self.model.failing}
        with core.database.write() as session:
            session.execute("UPDATE jobs SET expires = 0 WHERE finished IS NULL")

    @rule()
    def collect(self) -> None:
        self.lake.gc(grace=0)

    # -- what always holds -------------------------------------------------------------------

    @invariant()
    def as_from_scratch(self) -> None:
        if self.model.waiting or not self.lake.pipelines():
            return
        if any(not job.state.is_over for job in self.lake.jobs()):
            return
        for name, files in self.model.outputs().items():
            assert graph.read(self.lake, f"{name}@main") == files, name
            assert len(self.lake.commits(f"{name}@main")) == self.model.successes
            if files:
                graph.assert_owners(self.lake, name)

    def teardown(self) -> None:
        try:
            for flag in self.folder.glob("fail-*"):
                flag.unlink()
            self.model.failing.clear()
            self.run_by_hand()
            self.run()
            self.as_from_scratch()
            assert_sound(self.lake)
            assert_no_orphans(self.lake)
            self.as_from_scratch()
        finally:
            self.lake.close()
            shutil.rmtree(self.folder)


@contextmanager
def dying_at(point: str) -> Iterator[None]:
    def crashpoint(name: str) -> None:
        if name == point:
            raise Died

    with pytest.MonkeyPatch.context() as patch:
        for module in (finishing, runner):
            patch.setattr(module, "crashpoint", crashpoint)
        yield


def test_jobs_do_what_their_model_does(spark, fast_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Machine, "root", fast_folder, raising=False)
    bounded = settings(
        max_examples=12,
        stateful_step_count=14,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=bounded)
