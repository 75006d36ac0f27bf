"""Everything a lake does to one repo, against a dict of dicts, with crashes on the way."""

from __future__ import annotations

import json
import os
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

branches = st.sampled_from(["main", "one", "two"])
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

    # -- writing -----------------------------------------------------------------------------

    @rule(branch=branches, ops=operations)
    def commit(self, branch: str, ops: list[expected.Operation]) -> None:
        def predict() -> expected.Files:
            self.known(branch)
            if branch in self.model.open:
                return {}
            return expected.changed(self.model.head(branch), ops)

        with self.predicted(predict) as files:
            with self.lake.commit(f"r@{branch}") as writer:
                for verb, path, data in ops:
                    if verb == "delete":
                        writer.delete(path)
                    else:
                        writer.put(path, data, append=verb == "append")
            if branch in self.model.open:
                self.model.staged[branch] += ops
            else:
                self.model.add(branch, writer.result.id, files)

    @rule(branch=branches, source=which, old=paths, new=paths)
    def copy(self, branch: str, source: int, old: str, new: str) -> None:
        if not (commit := self.pick(source)) or branch in self.model.open:
            return

        def predict() -> expected.Files:
            self.known(branch)
            found = self.model.files(commit)
            return expected.copied(self.model.head(branch), found, old, new)

        with self.predicted(predict) as files:
            done = self.lake.cp(f"r@{commit}:{old}", f"r@{branch}:{new}")
            self.model.add(branch, done.id, files)

    @rule(branch=branches)
    def start(self, branch: str) -> None:
        def predict() -> None:
            self.known(branch)
            self.model.refuse_open(branch)

        with self.predicted(predict):
            opened = self.lake.start_commit(f"r@{branch}").id
            self.model.open[branch] = opened
            self.model.staged[branch] = []
            self.model.nodes[opened] = Node(self.model.branches[branch], None)

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

    @rule(branch=branches, ops=operations, point=st.sampled_from(POINTS), nth=st.integers(1, 2))
    def crash(self, branch: str, ops: list[expected.Operation], point: str, nth: int) -> None:
        """A process is killed in the middle of a commit: all of it happened, or nothing."""
        head = self.model.branches.get(branch)
        try:
            self.known(branch)
            self.model.refuse_open(branch)
            files = expected.changed(self.model.head(branch), ops)
        except Refused:
            return
        self.requests += 1
        wanted = json.dumps([(verb, path, data.hex()) for verb, path, data in ops])
        at = {"TRUNKLINE_CRASH_AT": f"{point}:{nth}"}
        result = job("commit", self.folder, branch, wanted, self.requests, **at)
        assert killed(result) or result.code == 0, result.err
        (found,) = (b.head for b in self.lake.branches("r") if b.name == branch)
        if not killed(result) or point == "commit.after_transaction":
            assert found != head
        if found != head:
            note(f"the commit {found} happened")
            assert found is not None
            assert self.lake.commit_info(f"r@{branch}").parent == head
            self.model.add(branch, found, files)

    # -- branches, tags, history -------------------------------------------------------------

    @rule(branch=branches, source=which)
    def create_branch(self, branch: str, source: int) -> None:
        if not (commit := self.pick(source)):
            return

        def predict() -> None:
            if branch in self.model.branches:
                raise Refused("already_exists")

        with self.predicted(predict):
            self.lake.create_branch(f"r@{branch}", f"r@{commit}")
            self.model.branches[branch] = commit

    @rule(branch=branches, force=st.booleans())
    def delete_branch(self, branch: str, force: bool) -> None:
        if branch == "main":
            return

        def predict() -> None:
            self.known(branch)
            if not force:
                self.model.refuse_open(branch)

        with self.predicted(predict):
            self.lake.delete_branch(f"r@{branch}", force=force)
            del self.model.branches[branch]
            if opened := self.model.open.pop(branch, None):
                del self.model.nodes[opened], self.model.staged[branch]

    @rule(branch=branches, to=which)
    def move_branch(self, branch: str, to: int) -> None:
        if not (commit := self.pick(to)):
            return

        def predict() -> None:
            self.known(branch)
            self.model.refuse_open(branch)

        with self.predicted(predict):
            self.lake.move_branch(f"r@{branch}", f"r@{commit}")
            self.model.branches[branch] = commit

    @rule(source=which, name=st.sampled_from(["v1", "v2"]))
    def tag(self, source: int, name: str) -> None:
        if name in self.model.tags:
            self.lake.delete_tag(f"r@{name}")
            del self.model.tags[name]
        elif commit := self.pick(source):
            self.lake.create_tag(f"r@{name}", f"r@{commit}")
            self.model.tags[name] = commit

    @rule(source=which, target=branches, strategy=strategies)
    def merge(self, source: int, target: str, strategy: str | None) -> None:
        if not (theirs := self.pick(source)):
            return
        ours = self.model.branches.get(target)
        base = self.model.base(ours, theirs)

        def predict() -> expected.Files | None:
            self.known(target)
            if base == theirs:
                return None
            files = expected.three_way(
                self.model.files(base), self.model.files(ours), self.model.files(theirs), strategy
            )
            self.model.refuse_open(target)
            return files

        with self.predicted(predict, either="precondition" if target in self.model.open else ""):
            report = self.lake.merge(f"r@{theirs}", f"r@{target}", strategy=strategy)
            if (files := predict()) is None:
                assert report.commit is None or report.commit.id == ours
            else:
                assert report.commit is not None
                self.model.add(target, report.commit.id, files, (theirs,))

    @rule(source=which, target=branches, strategy=strategies, again=st.booleans())
    def revert_or_repeat(
        self, source: int, target: str, strategy: str | None, again: bool
    ) -> None:
        if not (commit := self.pick(source)):
            return
        before, after = self.model.files(self.model.nodes[commit].parent), self.model.files(commit)
        if not again:
            before, after = after, before

        def predict() -> expected.Files:
            self.known(target)
            ours = self.model.head(target)
            files = expected.three_way(before, ours, after, strategy)
            self.model.refuse_open(target)
            return files

        call = self.lake.cherry_pick if again else self.lake.revert
        either = "precondition" if target in self.model.open else ""
        with self.predicted(predict, either=either) as files:
            done = call(f"r@{commit}", f"r@{target}", strategy=strategy)
            self.model.add(target, done.id, files)

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

    def pick(self, choice: int) -> str | None:
        """A finished commit, whether anything leads to it or not."""
        finished = sorted(c for c, node in self.model.nodes.items() if node.files is not None)
        return finished[choice % len(finished)] if finished else None

    def known(self, branch: str) -> None:
        if branch not in self.model.branches:
            raise Refused("not_found")

    @contextmanager
    def predicted(
        self, predict: Callable[[], expected.Files | None], either: str = ""
    ) -> Iterator[expected.Files]:
        """Run the body, which must fail as the model does; then nothing may have changed."""
        try:
            outcome, code = predict(), ""
        except Refused as refused:
            outcome, code = None, refused.code
        try:
            yield outcome or {}
        except tl.TrunklineError as error:
            assert error.code in (code, either), f"{error.code}: {error}"
        else:
            assert not code, f"not refused as {code}"


@pytest.mark.slow
def test_a_lake_does_what_its_model_does(fast_folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRUNKLINE_PACK_LIMIT", str(PACK_LIMIT))
    monkeypatch.setattr(Machine, "root", fast_folder, raising=False)
    bounded = settings(
        max_examples=int(os.environ.get("EXAMPLES", "20")),
        stateful_step_count=25,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Machine, settings=bounded)
