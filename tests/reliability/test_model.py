"""Everything a lake does to one repo, against a dict of dicts, with crashes on the way."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from tests.reliability import model as expected
from tests.reliability.harness import assert_no_orphans, assert_sound, expire_leases, job, killed
from tests.reliability.model import Model, Node, Refused
from trunkline.storage.crashpoints import CRASHPOINTS

PACK_LIMIT = 40
PATHS = ["/a", "/b", "/d", "/d/x", "/d/y", "/d/e/z", "/d.csv"]
POINTS = [name for name in CRASHPOINTS if name.startswith(("put.", "commit."))]

names = st.sampled_from(["one", "two", "three"])
paths = st.sampled_from(PATHS)
# Some are packed, others are objects of their own.
contents = st.binary(max_size=4) | st.binary(min_size=PACK_LIMIT, max_size=PACK_LIMIT + 20)
operations = st.lists(
    st.tuples(st.sampled_from(["put", "put", "append", "delete"]), paths, contents)
    | st.tuples(st.just("delete"), st.just("/"), st.just(b"")),
    min_size=1,
    max_size=4,
)
strategies = st.sampled_from([None, None, "ours", "theirs"])
which = st.integers(0, 1000)


class Machine(RuleBasedStateMachine):
    root: Path

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        self.lake = tl.init(self.folder)
        self.lake.create_repo("r")
        self.model = Model()
        self.requests = 0

    @initialize()
    def begin(self) -> None:
        """Two branches that both changed what they share."""
        for branch, path in (("main", "/a"), ("main", "/d/x"), ("one", "/a"), ("main", "/a")):
            if branch not in self.model.branches:
                self.lake.create_branch(f"r@{branch}", "main")
                self.model.branches[branch] = self.model.branches["main"]
            data = f"{len(self.model.nodes)}".encode()
            with self.lake.commit(f"r@{branch}") as writer:
                writer.put(path, data)
            self.model.add(branch, writer.id, {**self.model.head(branch), path: data})

    # -- writing -----------------------------------------------------------------------------

    @rule(branch=which, ops=operations)
    def commit(self, branch: int, ops: list[expected.Operation]) -> None:
        name = self.branch(branch)

        def predict() -> expected.Files:
            if name in self.model.open:
                return {}
            return expected.changed(self.model.head(name), ops)

        with self.predicted(predict) as files:
            with self.lake.commit(f"r@{name}") as writer:
                for verb, path, data in ops:
                    if verb == "delete":
                        writer.delete(path)
                    else:
                        writer.put(path, data, append=verb == "append")
            if name in self.model.open:
                self.model.staged[name] += ops
            else:
                self.model.add(name, writer.result.id, files)

    @rule(branch=which, source=which, old=paths, new=paths)
    def copy(self, branch: int, source: int, old: str, new: str) -> None:
        name = self.branch(branch)
        if not (commit := self.pick(source)) or name in self.model.open:
            return

        def predict() -> expected.Files:
            found = self.model.files(commit)
            return expected.copied(self.model.head(name), found, old, new)

        with self.predicted(predict) as files:
            done = self.lake.cp(f"r@{commit}:{old}", f"r@{name}:{new}")
            self.model.add(name, done.id, files)

    @rule(branch=which)
    def start(self, branch: int) -> None:
        name = self.branch(branch)

        def predict() -> None:
            self.model.refuse_open(name)

        with self.predicted(predict):
            opened = self.lake.start_commit(f"r@{name}").id
            self.model.open[name] = opened
            self.model.staged[name] = []
            self.model.nodes[opened] = Node(self.model.branches[name], None)

    @precondition(lambda self: self.model.open)
    @rule(choice=which)
    def finish(self, choice: int) -> None:
        branch = sorted(self.model.open)[choice % len(self.model.open)]

        def predict() -> expected.Files:
            return expected.changed(self.model.head(branch), self.model.staged[branch])

        with self.predicted(predict) as files:
            done = self.lake.finish_commit(f"r@{branch}")
            assert done.id == self.model.open.pop(branch)
            del self.model.staged[branch]
            self.model.nodes[done.id].files = files
            self.model.branches[branch] = done.id

    @rule(branch=which, ops=operations, point=st.sampled_from(POINTS), nth=st.integers(1, 2))
    def crash(self, branch: int, ops: list[expected.Operation], point: str, nth: int) -> None:
        """A process is killed in the middle of a commit: all of it happened, or nothing."""
        name = self.branch(branch)
        head = self.model.branches.get(name)
        try:
            self.model.refuse_open(name)
            files = expected.changed(self.model.head(name), ops)
        except Refused:
            return
        self.requests += 1
        wanted = json.dumps([(verb, path, data.hex()) for verb, path, data in ops])
        at = {"TRUNKLINE_CRASH_AT": f"{point}:{nth}"}
        result = job("commit", self.folder, name, wanted, self.requests, **at)
        assert killed(result) or result.code == 0, result.err
        (found,) = (b.head for b in self.lake.branches("r") if b.name == name)
        if not killed(result) or point == "commit.after_transaction":
            assert found != head
        if found != head:
            note(f"the commit {found} happened")
            assert found is not None
            assert self.lake.commit_info(f"r@{name}").parent == head
            self.model.add(name, found, files)

    # -- branches, tags, history -------------------------------------------------------------

    @rule(branch=names, source=which)
    def create_branch(self, branch: str, source: int) -> None:
        if not (commit := self.pick(source)):
            return

        def predict() -> None:
            if branch in self.model.branches:
                raise Refused("already_exists")

        with self.predicted(predict):
            self.lake.create_branch(f"r@{branch}", f"r@{commit}")
            self.model.branches[branch] = commit

    @rule(branch=which, force=st.booleans())
    def delete_branch(self, branch: int, force: bool) -> None:
        name = self.branch(branch)
        if name == "main":
            return

        def predict() -> None:
            if not force:
                self.model.refuse_open(name)

        with self.predicted(predict):
            self.lake.delete_branch(f"r@{name}", force=force)
            del self.model.branches[name]
            if opened := self.model.open.pop(name, None):
                del self.model.nodes[opened], self.model.staged[name]

    @rule(branch=which, to=which)
    def move_branch(self, branch: int, to: int) -> None:
        name = self.branch(branch)
        if not (commit := self.pick(to)):
            return

        def predict() -> None:
            self.model.refuse_open(name)

        with self.predicted(predict):
            self.lake.move_branch(f"r@{name}", f"r@{commit}")
            self.model.branches[name] = commit

    @rule(source=which, name=st.sampled_from(["v1", "v2"]))
    def tag(self, source: int, name: str) -> None:
        if name in self.model.tags:
            self.lake.delete_tag(f"r@{name}")
            del self.model.tags[name]
        elif commit := self.pick(source):
            self.lake.create_tag(f"r@{name}", f"r@{commit}")
            self.model.tags[name] = commit

    @rule(source=which, into=which, strategy=strategies)
    def merge(self, source: int, into: int, strategy: str | None) -> None:
        name = self.branch(into)
        if not (theirs := self.pick(source)):
            return
        ours = self.model.branches.get(name)
        base = self.model.base(ours, theirs)

        def predict() -> expected.Files | None:
            if base == theirs:
                return None
            files = expected.three_way(
                self.model.files(base), self.model.files(ours), self.model.files(theirs), strategy
            )
            self.model.refuse_open(name)
            return files

        with self.predicted(predict, either="precondition" if name in self.model.open else ""):
            report = self.lake.merge(f"r@{theirs}", f"r@{name}", strategy=strategy)
            if (files := predict()) is None:
                assert report.commit is None or report.commit.id == ours
            else:
                assert report.commit is not None
                self.model.add(name, report.commit.id, files, (theirs,))

    @rule(source=which, into=which, strategy=strategies, again=st.booleans())
    def revert_or_repeat(self, source: int, into: int, strategy: str | None, again: bool) -> None:
        name = self.branch(into)
        if not (commit := self.pick(source)):
            return
        before, after = self.model.files(self.model.nodes[commit].parent), self.model.files(commit)
        if not again:
            before, after = after, before

        def predict() -> expected.Files:
            ours = self.model.head(name)
            files = expected.three_way(before, ours, after, strategy)
            self.model.refuse_open(name)
            return files

        call = self.lake.cherry_pick if again else self.lake.revert
        either = "precondition" if name in self.model.open else ""
        with self.predicted(predict, either=either) as files:
            done = call(f"r@{commit}", f"r@{name}", strategy=strategy)
            self.model.add(name, done.id, files)

    @precondition(lambda self: self.model.nodes)
    @rule(choice=which)
    def squash(self, choice: int) -> None:
        commit = sorted(self.model.nodes)[choice % len(self.model.nodes)]
        with self.predicted(lambda: self.model.squash(commit)):
            self.lake.squash(f"r@{commit}")

    @precondition(lambda self: self.model.nodes)
    @rule(choice=which)
    def drop(self, choice: int) -> None:
        commit = sorted(self.model.nodes)[choice % len(self.model.nodes)]
        with self.predicted(lambda: self.model.drop(commit)):
            self.lake.drop(f"r@{commit}")

    # -- housekeeping ------------------------------------------------------------------------

    @rule()
    def gc(self) -> None:
        expire_leases(self.lake)
        self.lake.gc(grace=0)
        self.model.collect()

    @rule()
    def reopen(self) -> None:
        self.lake.close()
        self.lake = tl.open(self.folder)

    @invariant()
    def heads_are_those_of_the_model(self) -> None:
        found = {branch.name: branch for branch in self.lake.branches("r")}
        assert {name: branch.head for name, branch in found.items()} == self.model.branches
        opened = {name: branch.open for name, branch in found.items() if branch.open}
        assert opened == self.model.open
        assert {tag.name: tag.commit for tag in self.lake.tags("r")} == self.model.tags
        for branch in found:
            assert self.files(branch) == self.model.head(branch)

    def teardown(self) -> None:
        try:
            for commit, node in self.model.nodes.items():
                if node.files is not None:
                    assert self.files(commit) == node.files
            assert_sound(self.lake)
            assert_no_orphans(self.lake)
        finally:
            self.lake.close()
            shutil.rmtree(self.folder)

    # -- helpers -----------------------------------------------------------------------------

    def files(self, revision: str) -> expected.Files:
        listed = self.lake.ls(f"r@{revision}", recursive=True)
        return {info.path: self.lake.read(f"r@{revision}:{info.path}") for info in listed}

    def branch(self, choice: int) -> str:
        return sorted(self.model.branches)[choice % len(self.model.branches)]

    def pick(self, choice: int) -> str | None:
        """A finished commit, whether anything leads to it or not."""
        finished = sorted(c for c, node in self.model.nodes.items() if node.files is not None)
        return finished[choice % len(finished)] if finished else None

    @contextmanager
    def predicted(
        self, predict: Callable[[], expected.Files | None], either: str = ""
    ) -> Iterator[expected.Files]:
        """Run the body, which must fail as the model does; then nothing may have changed."""
        try:
            outcome, code = predict(), ""
        except Refused as refused:
            outcome, code = None, refused.code
        raised = ""
        try:
            yield outcome or {}
        except tl.TrunklineError as error:
            note(f"{error.code}: {error}")
            raised = error.code
        assert raised == code or (raised and raised == either)


def test_a_lake_does_what_its_model_does(fast_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_PACK_LIMIT", str(PACK_LIMIT))
    monkeypatch.setattr(Machine, "root", fast_folder, raising=False)
    bounded = settings(
        max_examples=25,
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=bounded)
