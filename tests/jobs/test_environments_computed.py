"""What is computed in an environment is not computed again, on either side."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import trunkline as tl
from tests.copies import copy_lake
from tests.jobs.graphs import COPY, LOUD, Graph
from tests.jobs.tables import BY_DAY, DAYS, Tables, csv
from trunkline import Lake
from trunkline.model.jobs import JobState
from trunkline.model.shape import as_json

DEV = {"env": "dev"}
MARKED = COPY.replace("one.text())\n", "one.text() + {mark!r})\n")


def test_datums_that_one_side_computed_are_taken_by_the_other(graph: Graph):
    graph.put("orders", a="one", b="two")
    graph.apply("copy", "orders")
    graph.run()
    graph.lake.create_environment("dev")
    graph.apply("copy", "orders", MARKED.format(mark="!"), how=DEV)
    assert graph.run_well().counts.processed == 2
    graph.put("orders@dev", c="three")
    assert graph.run_well().counts.processed == 1
    # The same code and data on main: every result is there already.
    graph.put("orders", c="three")
    assert graph.run_well().counts.processed == 1, "with main's code it is another result"
    graph.apply("copy", "orders", MARKED.format(mark="!"))
    job = graph.run_well()
    assert (job.counts.processed, job.counts.skipped) == (0, 3)
    assert (
        graph.files("copy")
        == graph.files("copy@dev")
        == {
            "/a": "one!",
            "/b": "two!",
            "/c": "three!",
        }
    )


def test_where_main_moved_a_merge_computes_only_what_is_new(graph: Graph):
    graph.put("orders", a="one", b="two")
    graph.apply("copy", "orders")
    graph.apply("loud", "copy", LOUD)
    graph.run()
    graph.lake.create_environment("dev")
    graph.apply("copy", "orders", MARKED.format(mark="!"), how=DEV)
    graph.run()
    graph.put("orders", c="three")
    graph.run()
    done = graph.lake.merge_environment("dev")
    assert (done.published, done.started) == (0, 2)
    assert [(job.counts.processed, job.counts.skipped) for job in graph.run()] == [(1, 2), (1, 2)]
    assert graph.files("loud") == {"/a": "ONE!", "/b": "TWO!", "/c": "THREE!"}
    plans = graph.lake.plan().pipelines
    assert [(plan.run, plan.reuse) for plan in plans] == [(0, 0), (0, 0)]
    assert graph.lake.fsck().ok


def test_lineage_of_what_was_merged_leads_to_main(graph: Graph):
    graph.put("orders", a="one")
    graph.apply("copy", "orders")
    graph.run()
    graph.lake.create_environment("dev")
    graph.put("orders@dev", b="two")
    graph.run()
    done = graph.lake.merge_environment("dev")
    found = {str(commit.repo): commit for commit in graph.lake.show(done.set_id or "").commits}
    assert found.keys() == {"orders", "copy"}
    assert graph.datums(graph.job("copy"))["/b"].state == "skipped"
    lineage = graph.lake.lineage("copy@main:/b")
    assert "orders" in str(as_json(lineage))


@pytest.mark.slow
def test_tables_are_published_without_spark(spark: object, lake: Lake, tmp_path: Path):
    tables = Tables(lake, tmp_path / "code")
    tables.day(DAYS[0], (1, 2.0), (2, 3.0))
    tables.day(DAYS[1], (3, 4.0))
    whole = "SELECT day, sum(revenue) AS revenue FROM by_day GROUP BY day"
    source = "def f(by_day):\n    return by_day.selectExpr('max(revenue) AS most')\n"
    tables.sql("by_day", BY_DAY, mode="each")
    tables.sql("total", whole, tl.pfs("by_day"))
    tables.spark("most", source, tl.pfs("by_day"))
    tables.run_well()
    lake.create_environment("dev")
    tables.sql("by_day", BY_DAY.replace("amount)", "amount * 10)"), mode="each", how=DEV)
    tables.sql("total", whole.replace("AS revenue", "AS money"), tl.pfs("by_day"), how=DEV)
    tables.run_well()
    assert tables.rows("most@main") == [(5.0,)]
    assert tables.rows("most@dev") == [(50.0,)]
    found = lake.environment_diff("dev", rows=5)
    deltas = {str(repo.repo): repo.tables[0] for repo in found.repos}
    assert deltas["total"].columns == ("+ money double", "- revenue double")
    assert (deltas["most"].added, deltas["most"].removed) == (1, 1)
    assert [one["new"] for one in deltas["most"].samples if one["new"]] == [{"most": 50.0}]
    assert {str(one.name) for one in found.code} == {"by_day", "total"}
    told = "".join(one.text for one in found.code).splitlines()
    assert '+  sql: "SELECT day, sum(revenue) AS money FROM by_day GROUP BY day"' in told

    done = lake.merge_environment("dev")
    assert (done.published, done.started) == (3, 0)
    assert tables.run() == []
    for name in ("by_day", "total", "most"):
        assert tables.rows(f"{name}@main") == tables.rows(f"{name}@dev")
    tables.put("orders", {f"/day={DAYS[2]}/a.csv": csv((4, 9.0))})
    by_day, *_ = tables.run_well()
    assert by_day.counts.processed == 1, "main goes on from what was merged"
    assert tables.rows("most@main") == [(90.0,)]


# -- whatever is done --------------------------------------------------------------------------


@dataclass(frozen=True)
class Put:
    repo: str
    path: str
    text: str | None


@dataclass(frozen=True)
class Code:
    pipeline: str
    mark: str


REPOS, PIPELINES = ("left", "right"), ("p", "q", "r")
Edges = Mapping[str, tuple[str, ...]]
_put = st.builds(
    Put, st.sampled_from(REPOS), st.sampled_from(("/a", "/b")), st.sampled_from(("x", "y", None))
)
_edit = st.one_of(_put, st.builds(Code, st.sampled_from(PIPELINES), st.sampled_from("123")))


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, tuple[str, ...]]:
    """What each pipeline reads: repos and pipelines before it."""
    found = {}
    for number, name in enumerate(PIPELINES):
        known = [*REPOS, *PIPELINES[:number]]
        found[name] = tuple(draw(st.lists(st.sampled_from(known), min_size=1, max_size=2,
                                          unique=True)))  # fmt: skip
    return found


WORK = """
def f(datum):
    for name, files in datum.inputs.items():
        for one in files:
            path = "/" + name + one.path.replace("/", "_")
            datum.write(path, {mark!r} + "(" + one.text() + ")")
"""


class Play:
    """A lake with a graph of pipelines, changed in an environment or not."""

    def __init__(self, template: Path, folder: Path, edges: Edges) -> None:
        copy_lake(template, folder / "lake")
        self.lake = tl.open(folder / "lake", author="ada")
        self.graph = Graph(self.lake, folder / "code")
        self.edges = edges

    def declare(self, name: str, mark: str, env: str | None = None) -> None:
        members = [tl.pfs(source, "/*") for source in self.edges[name]]
        expression = members[0] if len(members) == 1 else tl.union(*members)
        self.graph.apply(name, expression, WORK.format(mark=mark), how={"env": env})

    def commit(self, repo: str, files: Mapping[str, str | None], branch: str = "main") -> None:
        with self.lake.commit(f"{repo}@{branch}") as commit:
            for path, text in files.items():
                if text is None:
                    commit.delete(path)
                else:
                    commit.put(path, text.encode())

    def do(self, edit: Put | Code, env: str | None) -> None:
        match edit:
            case Put(repo, path, text):
                self.commit(repo, {path: text}, env or "main")
            case Code(name, mark):
                self.declare(name, mark, env)

    def run(self) -> int:
        """How many datums were computed."""
        jobs = list(self.lake.run().jobs)
        assert all(job.state in (JobState.SUCCESS, JobState.KILLED) for job in jobs)
        return sum(job.counts.processed for job in jobs)

    def holds(self, branch: str, names: tuple[str, ...] = PIPELINES) -> dict[str, dict[str, str]]:
        return {name: self.graph.files(f"{name}@{branch}") for name in names}

    def main(self) -> dict[str, Any]:
        """All that there is of main."""
        versions = {str(one.name): one.version for one in self.lake.pipelines()}
        every = [*REPOS, *PIPELINES, *(f"{name}.code" for name in PIPELINES)]
        return {"versions": versions, "heads": {repo: self.graph.head(repo) for repo in every}}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environments")
    with tl.init(folder) as lake:
        for name in REPOS:
            lake.create_repo(name)
            with lake.commit(name) as commit:
                commit.put("/a", name.encode())
    return folder


def fresh(template: Path, folder: Path, edges: Edges, inputs: Any, marks: Mapping[str, str]) -> Any:
    """What a lake computes that has nothing but this code and data."""
    play = Play(template, folder, edges)
    try:
        for repo, files in inputs.items():
            gone = dict.fromkeys(play.graph.files(repo))
            play.commit(repo, {**gone, **files})
        for name in PIPELINES:
            play.declare(name, marks[name])
        play.run()
        return play.holds("main")
    finally:
        play.lake.close()


@pytest.mark.slow
@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    edges=graphs(),
    edits=st.lists(_edit, min_size=2, max_size=4),
    elsewhere=st.lists(st.builds(Put, st.sampled_from(REPOS), st.just("/c"), st.sampled_from("xy")),
                       max_size=1),
)  # fmt: skip
def test_an_environment_is_a_lake_of_its_own_until_it_is_merged(
    spark: object, template: Path, edges: Edges, edits: list[Put | Code], elsewhere: list[Put]
):
    with tempfile.TemporaryDirectory() as folder:
        play = Play(template, Path(folder, "played"), edges)
        try:
            for name in PIPELINES:
                play.declare(name, "0")
            play.run()
            before = play.main()
            play.lake.create_environment("dev")
            marks = dict.fromkeys(PIPELINES, "0")
            for edit in edits:
                play.do(edit, "dev")
                play.run()
                if isinstance(edit, Code):
                    marks[edit.pipeline] = edit.mark
            assert play.main() == before, "main does not know of it"
            inputs = play.holds("dev", REPOS)
            made = play.holds("dev")
            assert made == fresh(template, Path(folder, "dev"), edges, inputs, marks)

            for edit in elsewhere:
                play.do(edit, None)
            play.run()
            play.lake.merge_environment("dev")
            computed = play.run()
            merged = play.holds("main", REPOS)
            for edit in elsewhere:
                inputs[edit.repo]["/c"] = edit.text or ""
            assert merged == inputs
            if not elsewhere:
                assert computed == 0
                assert play.holds("main") == made
            assert play.holds("main") == fresh(template, Path(folder, "main"), edges, merged, marks)
            play.lake.sync_environment("dev")
            play.run()
            assert play.holds("dev") == play.holds("main")
            assert play.lake.fsck().ok
        finally:
            play.lake.close()
