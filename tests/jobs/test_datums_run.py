"""Datums in real jobs: which run, which are reused, what becomes of outputs. SEMANTICS 5 and 6."""

from __future__ import annotations

import pytest

import trunkline as tl
from tests.jobs.graphs import COPY, LOUD, Graph
from trunkline.model.jobs import JobState

ONE_PATH = """
def f(datum):
    datum.write("/all", datum.file("orders").text())
"""
"""Every datum writes the same path."""

IN_ALL = """
def f(datum):
    names = sorted(f"{one.path}={one.text()}" for fs in datum.inputs.values() for one in fs)
    datum.write("/" + "+".join(names).replace("/", "."), "")
"""
"""One file for each datum, named by all that it reads."""


WITH_REFERENCE = tl.cross(tl.pfs("orders", "/*"), tl.pfs("rates", "/*", reference=True))


def sh(script: str) -> list[str]:
    return ["sh", "-c", script]


# -- reasons -----------------------------------------------------------------------------------


def test_the_first_job_runs_everything_because_it_is_new(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "new", "/b": "new"}
    assert (job.counts.processed, job.counts.skipped, job.counts.total) == (2, 0, 2)
    assert graph.files("b") == {"/a": "x", "/b": "y"}


def test_a_file_added_to_many_is_the_only_one_that_runs(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", c="z")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "unchanged", "/b": "unchanged", "/c": "new"}
    assert {paths: str(one.state) for paths, one in graph.datums(job).items()} == {
        "/a": "skipped",
        "/b": "skipped",
        "/c": "success",
    }
    assert (job.counts.processed, job.counts.skipped, job.counts.total) == (1, 2, 3)
    assert graph.files("b") == {"/a": "x", "/b": "y", "/c": "z"}


def test_a_changed_file_runs_and_the_reason_names_it(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a="new")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "input changed: /a", "/b": "unchanged"}
    assert graph.files("b") == {"/a": "new", "/b": "y"}


def test_a_cross_names_the_side_that_changed(graph: Graph):
    graph.put("orders", a="x")
    graph.put("rates", r="1", s="2")
    graph.apply("b", tl.cross(tl.pfs("orders", "/*"), tl.pfs("rates", "/*")), IN_ALL)
    graph.run_well()
    graph.put("rates", s="3")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a+/r": "unchanged", "/a+/s": "input changed: /s"}
    assert set(graph.files("b")) == {"/.a=x+.r=1", "/.a=x+.s=3"}


def test_a_folder_runs_when_any_file_in_it_is_added_changed_or_removed(graph: Graph):
    graph.put("orders", d__a="x", e__b="y")
    graph.apply("b", "orders", IN_ALL)
    graph.run_well()
    for change in ({"d__z": "1"}, {"d__z": "2"}, {"d__z": None}):
        graph.put("orders", **change)
        assert graph.ran(graph.run_well()) <= {"/d"}
    assert set(graph.files("b")) == {"/.d.a=x", "/.e.b=y"}


def test_a_file_that_moves_within_a_folder_makes_the_folder_run(graph: Graph):
    graph.put("orders", d__a="x")
    graph.apply("b", "orders", IN_ALL)
    graph.run_well()
    graph.put("orders", d__a=None, d__b="x")
    graph.run_well()
    assert set(graph.files("b")) == {"/.d.b=x"}


def test_a_commit_without_a_difference_runs_nothing(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    made = graph.put("orders", a="x")
    job = graph.run_well()
    assert (job.counts.processed, job.counts.skipped) == (0, 1)
    assert graph.head("b") == made
    assert graph.files("b") == {"/a": "x"}


def test_a_datum_keeps_its_id_when_its_content_changes(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    first = graph.datums(graph.run_well())["/a"].id
    graph.put("orders", a="new")
    assert graph.datums(graph.run_well())["/a"].id == first


# -- outputs that go ---------------------------------------------------------------------------


def test_outputs_go_when_their_input_does(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a=None)
    job = graph.run_well()
    assert graph.files("b") == {"/b": "y"}
    assert (job.counts.processed, job.counts.total) == (0, 1)


def test_when_the_last_input_goes_the_output_is_empty(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a=None)
    job = graph.run_well()
    assert graph.files("b") == {}
    assert job.counts.total == 0


def test_what_a_datum_no_longer_writes_goes(graph: Graph):
    names = """
    def f(datum):
        for name in datum.file("orders").text().split():
            datum.write(name, "")
    """
    graph.put("orders", a="one two", b="three")
    graph.apply("b", "orders", names)
    graph.run_well()
    graph.put("orders", a="two four")
    graph.run_well()
    assert set(graph.files("b")) == {"/two", "/four", "/three"}


def test_a_path_may_pass_from_one_datum_to_another(graph: Graph):
    names = """
    def f(datum):
        one = datum.file("orders")
        datum.write(one.text(), one.name)
    """
    graph.put("orders", a="left", b="right")
    graph.apply("b", "orders", names)
    graph.run_well()
    graph.put("orders", a="right", b="left")
    graph.run_well()
    assert graph.files("b") == {"/left": "b", "/right": "a"}


def test_a_path_may_pass_from_a_datum_that_is_gone(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ONE_PATH)
    graph.run_well()
    graph.put("orders", a=None, z="y")
    graph.run_well()
    assert graph.files("b") == {"/all": "y"}


# -- reuse -------------------------------------------------------------------------------------


def test_results_of_an_old_version_are_used_when_its_code_comes_back(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", COPY)
    graph.run_well()
    graph.apply("b", "orders", LOUD)
    graph.run_well()
    graph.apply("b", "orders", COPY)
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert (job.counts.processed, job.counts.skipped) == (0, 2)
    assert graph.files("b") == {"/a": "x", "/b": "y"}


def test_a_result_is_used_again_when_the_content_comes_back(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a="y")
    graph.run_well()
    graph.put("orders", a="x")
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert graph.files("b") == {"/a": "x"}


def test_a_branch_that_is_moved_back_runs_nothing(graph: Graph):
    first = graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.put("orders", a="y", b="z")
    graph.run_well()
    graph.lake.move_branch("orders@main", first)
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert graph.files("b") == {"/a": "x"}


def test_results_are_used_on_another_output_branch_too(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    graph.run_well()
    graph.apply("b", "orders", output_branch="daily")
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert graph.files("b@daily") == {"/a": "x"}


def test_what_a_failed_job_did_well_is_used_by_the_next(graph: Graph):
    graph.put("orders", a="x", b="bad", c="z")
    graph.apply("b", "orders")
    failed = graph.run_one()
    assert failed.state is JobState.FAILURE
    assert (failed.counts.processed, failed.counts.failed, failed.counts.total) == (2, 1, 3)
    assert graph.head("b") is None
    graph.put("orders", b="good")
    job = graph.run_well()
    assert graph.ran(job) == {"/b"}
    assert graph.files("b") == {"/a": "x", "/b": "good", "/c": "z"}


def test_a_datum_that_failed_is_tried_again_and_says_so(graph: Graph):
    graph.put("orders", a="x", b="bad")
    graph.apply("b", "orders")
    graph.run_one()
    graph.lake.run_pipeline("b")
    job = graph.run_one()
    assert graph.ran(job) == {"/b"}
    assert graph.reasons(job) == {"/a": "unchanged", "/b": "previous attempt failed"}
    assert graph.datums(job)["/b"].error == "ValueError: bad content"


def test_a_failed_job_says_which_datum_failed_and_how(graph: Graph):
    graph.put("orders", a="x", b="bad", c="bad")
    graph.apply("b", "orders")
    reason = graph.run_one().reason
    assert reason == "2 of 3 datums failed, the first orders:/b: ValueError: bad content"


def test_after_a_failure_the_readers_still_see_the_last_good_output(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders")
    good = graph.run_well()
    bad = graph.put("orders", a="bad", b="y")
    graph.run_one()
    assert graph.head("b") == good.id
    assert graph.files("b") == {"/a": "x"}
    assert graph.files(f"b@{bad}") == {"/a": "x"}
    assert [commit.id for commit in graph.lake.commits("b@main")] == [good.id]


def test_every_job_never_skips(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", reprocess_spec="every_job")
    graph.run_well()
    graph.put("orders", b="y")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "reprocess", "/b": "new"}
    assert graph.files("b") == {"/a": "x", "/b": "y"}


def test_every_job_never_takes_results_of_one_that_was_stopped(graph: Graph, tmp_path):
    script = f"echo x >> {tmp_path}/ran; cp pfs/orders/* pfs/out/; test ! -e {tmp_path}/stop"
    (tmp_path / "stop").touch()
    graph.put("orders", a="x", b="y")
    fields = {"reprocess_spec": "every_job", "datum_tries": 1, "datum_set_spec": {"number": 1}}
    graph.apply("b", "orders", sh(script), **fields)
    assert graph.run_one().state is JobState.FAILURE
    (tmp_path / "stop").unlink()
    graph.lake.run_pipeline("b")
    graph.run_well()
    assert (tmp_path / "ran").read_text() == "x\n" * 4


def test_the_contents_of_a_reference_make_nothing_run(graph: Graph):
    graph.put("orders", a="x")
    graph.put("rates", r="1")
    graph.apply(
        "b", tl.cross(tl.pfs("orders", "/*"), tl.pfs("rates", "/*", reference=True)), IN_ALL
    )
    graph.run_well()
    graph.put("rates", r="2")
    assert graph.ran(graph.run_well()) == set()
    graph.put("orders", a="y")
    graph.run_well()
    assert set(graph.files("b")) == {"/.a=y+.r=2"}


def test_a_new_path_of_a_reference_is_a_new_datum(graph: Graph):
    graph.put("orders", a="x")
    graph.put("rates", r="1")
    graph.apply(
        "b", tl.cross(tl.pfs("orders", "/*"), tl.pfs("rates", "/*", reference=True)), IN_ALL
    )
    graph.run_well()
    graph.put("rates", s="1")
    assert graph.ran(graph.run_well()) == {"/a+/s"}


# -- one path, two datums ----------------------------------------------------------------------


def test_one_path_from_two_datums_fails_the_job_and_names_both(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", ONE_PATH)
    job = graph.run_one()
    assert job.state is JobState.FAILURE
    for part in ("Two datums wrote /all", "orders:/a", "orders:/b"):
        assert part in job.reason
    assert graph.head("b") is None


def test_so_does_one_that_did_not_run_this_time(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ONE_PATH)
    good = graph.run_well()
    graph.put("orders", b="y")
    job = graph.run_one()
    assert job.state is JobState.FAILURE
    for part in ("Two datums wrote /all", "orders:/a", "orders:/b"):
        assert part in job.reason
    assert graph.head("b") == good.id
    assert graph.files("b") == {"/all": "x"}


def test_so_do_two_whose_results_are_reused(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", ONE_PATH)
    graph.run_one()
    graph.lake.run_pipeline("b")
    job = graph.run_one()
    assert job.state is JobState.FAILURE
    for part in ("Two datums wrote /all", "orders:/a", "orders:/b"):
        assert part in job.reason


def test_when_one_of_them_goes_the_rest_is_not_run_again(graph: Graph):
    body = """
    def f(datum):
        one = datum.file("orders")
        datum.write("/all" if one.text() == "all" else one.path, one.text())
    """
    graph.put("orders", a="all", b="all", c="x", d="y", e="z")
    graph.apply("b", "orders", body)
    assert graph.run_one().state is JobState.FAILURE
    graph.put("orders", b=None)
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert graph.files("b") == {"/all": "all", "/c": "x", "/d": "y", "/e": "z"}


def test_a_file_where_another_datum_has_a_folder_fails_the_job(graph: Graph):
    graph.put("orders", a="x", b="x/y")
    names = """
    def f(datum):
        datum.write(datum.file("orders").text(), "")
    """
    graph.apply("b", "orders", names)
    job = graph.run_one()
    assert job.state is JobState.FAILURE
    assert "/x" in job.reason
    assert graph.head("b") is None


def test_merge_concat_joins_them_in_the_order_of_the_datums(graph: Graph):
    graph.put("orders", a="x", b="y", c="z")
    graph.apply("b", "orders", ONE_PATH, merge="concat")
    graph.run_well()
    assert graph.files("b") == {"/all": "xyz"}
    graph.put("orders", b=None, d="w", c="Z")
    graph.run_well()
    assert graph.files("b") == {"/all": "xZw"}


def test_merge_concat_joins_what_is_reused_too(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", ONE_PATH, merge="concat")
    graph.run_well()
    graph.apply("b", "orders", ONE_PATH.replace("text()", "text().upper()"), merge="concat")
    graph.run_well()
    assert graph.files("b") == {"/all": "XY"}
    graph.apply("b", "orders", ONE_PATH, merge="concat")
    job = graph.run_well()
    assert graph.ran(job) == set()
    assert graph.files("b") == {"/all": "xy"}


# -- failing -----------------------------------------------------------------------------------


def test_a_datum_is_tried_three_times_with_a_clean_folder_each(graph: Graph, tmp_path):
    counted = f'test ! -e pfs/out/left || exit 9; touch pfs/out/left; echo x >> "{tmp_path}/tries"'
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh(f"{counted}; exit 3"))
    job = graph.run_one()
    datum = graph.datums(job)["/a"]
    assert (datum.state, datum.tries) == ("failed", 3)
    assert "3" in datum.error
    assert (tmp_path / "tries").read_text() == "x\n" * 3


def test_a_later_try_may_succeed(graph: Graph, tmp_path):
    tries = tmp_path / "tries"
    script = f'echo x >> "{tries}"; cp pfs/orders/* pfs/out/; test $(wc -l < "{tries}") -ge 2'
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh(script), datum_tries=2)
    job = graph.run_well()
    assert graph.datums(job)["/a"].tries == 2
    assert graph.files("b") == {"/a": "x"}


def test_err_cmd_recovers_a_datum_without_output_and_it_is_tried_in_the_next_job(graph: Graph):
    script = "cp pfs/orders/* pfs/out/; ! grep -q bad pfs/orders/*"
    graph.put("orders", a="x", b="bad")
    graph.apply("b", "orders", sh(script), err_cmd=["true"], datum_tries=1)
    job = graph.run_well()
    assert (job.counts.processed, job.counts.recovered, job.counts.failed) == (1, 1, 0)
    assert graph.datums(job)["/b"].state == "recovered"
    assert graph.files("b") == {"/a": "x"}
    graph.put("orders", c="z")
    job = graph.run_well()
    assert graph.reasons(job) == {"/a": "unchanged", "/b": "previous attempt failed", "/c": "new"}
    assert graph.files("b") == {"/a": "x", "/c": "z"}
    graph.put("orders", b="good")
    graph.run_well()
    assert graph.files("b") == {"/a": "x", "/b": "good", "/c": "z"}


def test_an_err_cmd_that_fails_leaves_the_datum_failed(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["false"], err_cmd=["false"], datum_tries=1)
    assert graph.run_one().counts.failed == 1


def test_other_exit_codes_may_be_accepted(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh("touch pfs/out/ok; exit 4"), accept_return_code=[4])
    graph.run_well()
    assert set(graph.files("b")) == {"/ok"}


def test_a_try_that_takes_too_long_is_a_failed_one(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["sleep", "60"], datum_timeout="200ms", datum_tries=2)
    datum = graph.datums(graph.run_one())["/a"]
    assert (datum.state, datum.tries) == ("failed", 2)
    assert "0.2 s" in datum.error


def test_a_job_may_succeed_with_some_failures_recorded(graph: Graph):
    graph.put("orders", a="x", b="bad", c="z")
    graph.apply("b", "orders", max_failed_datums=1)
    job = graph.run_well()
    assert (job.counts.processed, job.counts.failed) == (2, 1)
    assert "orders:/b" in job.reason
    assert graph.files("b") == {"/a": "x", "/c": "z"}
    graph.put("orders", d="bad")
    assert graph.run_one().state is JobState.FAILURE


def test_those_that_failed_are_tried_again_by_the_next_job(graph: Graph):
    graph.put("orders", a="x", b="bad")
    graph.apply("b", "orders", max_failed_datums=1)
    graph.run_well()
    graph.put("orders", c="z")
    job = graph.run_well()
    assert graph.ran(job) == {"/b", "/c"}
    assert graph.reasons(job)["/b"] == "previous attempt failed"


def test_the_old_output_of_a_datum_that_fails_now_goes_if_the_job_succeeds(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", max_failed_datums=1)
    graph.run_well()
    graph.put("orders", b="bad")
    graph.run_well()
    assert graph.files("b") == {"/a": "x"}


# -- what a command finds ----------------------------------------------------------------------


def test_a_command_finds_only_what_its_datum_matched(graph: Graph):
    graph.put("orders", a="x", d__b="y", d__e__c="z")
    script = 'find pfs -type f | sort > "pfs/out/$TL_DATUM_ID"'
    graph.apply("b", "orders", sh(script))
    job = graph.run_well()
    ids = {paths: datum.id for paths, datum in graph.datums(job).items()}
    files = graph.files("b")
    assert "pfs/orders/a\n" in files[f"/{ids['/a']}"]
    assert "d/b" not in files[f"/{ids['/a']}"]
    assert "pfs/orders/d/b\npfs/orders/d/e/c\n" in files[f"/{ids['/d']}"]


def test_its_environment_tells_where_it_is_and_nothing_of_ours(graph: Graph, monkeypatch):
    monkeypatch.setenv("TRUNKLINE_SECRET_TOKEN", "s3cret")
    monkeypatch.setenv("OURS", "1")
    commit = graph.put("orders", a="x")
    graph.apply(
        "b",
        tl.join(tl.pfs("orders", "/(*)", name="in", join_on="$1")),
        sh("env > pfs/out/env"),
        env={"MODE": "fast"},
        secrets=[{"name": "token", "env_var": "TOKEN"}],
    )
    job = graph.run_well()
    found = dict(line.split("=", 1) for line in graph.files("b")["/env"].splitlines())
    datum = graph.datums(job)["/a"]
    assert found["in"].endswith("/pfs/in/a")
    for prefix in ("TL_", "PACH_"):
        assert found[f"{prefix}JOB_ID"] == found[f"{prefix}OUTPUT_COMMIT"] == job.id
        assert found[f"{prefix}DATUM_ID"] == datum.id
        assert found[f"{prefix}DATUM_in_JOIN_ON"] == "a"
    assert (found["TL_PIPELINE"], found["TL_PROJECT"]) == ("b", "default")
    assert (found["PPS_PIPELINE_NAME"], found["PPS_PROJECT_NAME"]) == ("b", "default")
    assert found["in_COMMIT"] == commit
    assert (found["MODE"], found["TOKEN"]) == ("fast", "s3cret")
    assert not [name for name in found if name.startswith(("TRUNKLINE", "SPARK", "OURS"))]


def test_a_secret_that_is_not_set_fails_the_job_and_says_so(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["true"], secrets=["token"])
    job = graph.run_one()
    assert job.state is JobState.FAILURE
    assert "b needs the secret token, which is not set." in job.reason


def test_lines_of_stdin_are_piped_to_the_command(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["sh"], stdin=["cp pfs/orders/a pfs/out/b", "echo y >> pfs/out/b"])
    graph.run_well()
    assert graph.files("b") == {"/b": "xy\n"}


def test_a_command_that_never_reads_its_stdin_is_fine(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", ["true"], stdin=["line"] * 10_000)
    graph.run_well()


def test_empty_files_have_names_only(graph: Graph):
    graph.put("orders", a="content")
    graph.apply("b", tl.pfs("orders", "/*", empty_files=True), sh("cp pfs/orders/* pfs/out/"))
    graph.run_well()
    assert graph.files("b") == {"/a": ""}


def test_a_link_to_an_input_is_followed(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", "orders", sh('ln -s "$(pwd)/pfs/orders/a" pfs/out/linked'))
    graph.run_well()
    assert graph.files("b") == {"/linked": "x"}


def test_lazy_files_can_be_read(graph: Graph):
    graph.put("orders", a="x")
    graph.apply("b", tl.pfs("orders", "/*", lazy=True), sh("cat pfs/orders/a > pfs/out/a"))
    graph.run_well()
    assert graph.files("b") == {"/a": "x"}


# -- how work is shared out --------------------------------------------------------------------


def test_parallelism_caps_how_many_datums_run_at_once(graph: Graph, tmp_path):
    lock = tmp_path / "lock"
    script = f'mkdir "{lock}" && sleep 0.05 && rmdir "{lock}"'
    graph.put("orders", **{f"f{n}": "x" for n in range(6)})
    fields = {"datum_tries": 1, "datum_set_spec": {"number": 1}}
    graph.apply("b", "orders", sh(script), parallelism_spec={"constant": 1}, **fields)
    graph.run_well()


@pytest.mark.parametrize("sets", [{"number": 1}, {"number": 100}, {"size_bytes": 3}], ids=str)
def test_the_size_of_sets_changes_nothing_in_the_output(graph: Graph, sets):
    graph.put("orders", **{f"f{n}": str(n) for n in range(7)})
    graph.apply("b", "orders", datum_set_spec=sets)
    graph.run_well()
    assert graph.files("b") == {f"/f{n}": str(n) for n in range(7)}


# -- input expressions -------------------------------------------------------------------------


def test_a_join_pairs_files_by_their_key(graph: Graph):
    graph.put("orders", a1="x", a2="y", a3="z")
    graph.put("rates", b1="1", b2="2")
    pair = tl.join(tl.pfs("orders", "/a(?)", join_on="$1"), tl.pfs("rates", "/b(?)", join_on="$1"))
    graph.apply("b", pair, IN_ALL)
    graph.run_well()
    assert set(graph.files("b")) == {"/.a1=x+.b1=1", "/.a2=y+.b2=2"}
    graph.put("rates", b3="3")
    assert graph.ran(graph.run_well()) == {"/a3+/b3"}


def test_a_group_gathers_files_by_their_key_and_runs_when_it_grows(graph: Graph):
    graph.put("orders", a1="x", b1="y", a2="z")
    graph.apply("b", tl.group(tl.pfs("orders", "/[a-z](?)", group_by="$1")), IN_ALL)
    graph.run_well()
    assert set(graph.files("b")) == {"/.a1=x+.b1=y", "/.a2=z"}
    graph.put("orders", b2="w")
    graph.run_well()
    assert set(graph.files("b")) == {"/.a1=x+.b1=y", "/.a2=z+.b2=w"}


def test_the_root_is_one_datum_with_everything(graph: Graph):
    graph.put("orders", a="x", d__b="y")
    graph.apply("b", tl.pfs("orders", "/"), IN_ALL)
    graph.run_well()
    assert set(graph.files("b")) == {"/.a=x+.d.b=y"}
    graph.put("orders", a=None, d__b=None)
    graph.run_well()
    assert graph.files("b") == {}


def test_a_chain_of_pipelines_runs_only_what_changed_all_the_way(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", LOUD)
    graph.apply("c", "b", COPY)
    graph.run()
    made = graph.put("orders", c="z")
    graph.run()
    for name in ("b", "c"):
        assert graph.ran(graph.job(name, made)) == {"/c"}
    assert graph.files("c") == {"/a": "X", "/b": "Y", "/c": "Z"}


# -- commands as they were written for Pachyderm ------------------------------------------------


def test_datums_side_by_side_and_jobs_one_after_another_have_a_tmp_each(graph: Graph):
    """As upstream's word_count and hyperparameter."""
    script = "mkdir /tmp/out; cat $orders >> /tmp/out/work.txt; sleep 0.1; cat /tmp/out/*"
    script += " > /pfs/out/$(basename $orders)"
    graph.put("orders", **{f"p{n}": str(n) for n in range(8)})
    graph.apply("b", "orders", sh(script), datum_set_spec={"number": 1})
    graph.run_well()
    assert graph.files("b") == {f"/p{n}": str(n) for n in range(8)}
    graph.put("orders", **{f"p{n}": f"{n}!" for n in range(8)})
    graph.run_well()
    assert graph.files("b") == {f"/p{n}": f"{n}!" for n in range(8)}


def test_a_first_job_that_wrote_nothing_says_so(graph: Graph):
    graph.put("orders", a="x", b="y")
    graph.apply("b", "orders", ["true"])
    assert graph.run_well().reason == "2 datums ran, and none wrote a file to pfs/out"
    graph.put("orders", c="z")
    assert graph.run_well().reason == ""


def test_shuffling_by_links_copies_by_reference(graph: Graph):
    """As upstream's shuffle: inputs with names only, sorted into folders by links."""
    graph.put("orders", apple="red", mango="yellow")
    graph.put("rates", apple="1.5", mango="2")
    files = (tl.pfs("orders", "/(*)", group_by="$1", empty_files=True),
             tl.pfs("rates", "/(*)", group_by="$1", empty_files=True))  # fmt: skip
    script = "for f in /pfs/*/*; do n=$(basename $f); case $f in /pfs/out/*) continue;; esac;"
    script += " mkdir -p /pfs/out/$n; ln -s $f /pfs/out/$n/$(basename $(dirname $f)); done"
    graph.apply("shuffle", tl.group(*files), sh(script))
    job = graph.run_well()
    assert graph.files("shuffle") == {
        "/apple/orders": "red",
        "/apple/rates": "1.5",
        "/mango/orders": "yellow",
        "/mango/rates": "2",
    }
    assert job.counts.bytes_in == 0
    graph.put("orders", apple="green", mango=None)
    graph.run_well()
    graph.lake.gc()
    assert graph.files("shuffle")["/apple/orders"] == "green"
    assert graph.lake.fsck(deep=True).ok
