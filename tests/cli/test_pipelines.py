"""Pipelines on the command line, as far as nothing needs to run."""

import json
import re
from pathlib import Path

import pytest
import yaml

from trunkline.model import yamltext

SPEC = """\
pipeline: {name: sizes}
description: How large each file is
input:
  pfs: {repo: orders, glob: "/*"}
transform:
  image: ubuntu:24.04
  cmd: [sh, -c, "wc -c < $orders > pfs/out/size"]
"""
TWO = (
    SPEC
    + """\
---
pipeline: {name: total}
input:
  pfs: {repo: sizes, glob: /}
transform:
  cmd: [sh, -c, "cat pfs/sizes/* > pfs/out/all"]
"""
)
TIMED = """\
pipeline: {name: hourly}
input:
  cron: {name: tick, spec: "@hourly"}
transform:
  cmd: ["true"]
"""


@pytest.fixture
def specs(lake):
    Path("sizes.yaml").write_text(SPEC)
    Path("two.yaml").write_text(TWO)
    Path("timed.yaml").write_text(TIMED)
    Path("wrong.yaml").write_text(SPEC.replace("glob:", "blob:"))
    Path("lost.yaml").write_text(SPEC.replace("repo: orders", "repo: ordres"))
    Path("lines.jsonnet").write_text(
        "function(repo) {pipeline: {name: 'n'}, input: {pfs: {repo: repo, glob: '/'}},"
        " transform: {cmd: ['true']}}"
    )
    return lake


@pytest.fixture
def applied(cli, specs):
    cli.ok("pipeline", "apply", "two.yaml")
    return specs


def test_apply_says_what_it_did_and_what_it_ignored(cli, specs):
    result = cli("pipeline", "apply", "two.yaml")
    assert result.code == 0
    assert re.fullmatch(
        r"Created sizes, version 1: job sizes@\w{12} is waiting\.\n"
        r"Created total, version 1: job total@\w{12} is waiting\.\n"
        r"(trunkline run runs|The server's workers run) what waits\.\n",
        result.out,
    )
    assert result.err == "note: ignored, without effect here: transform.image\n"
    assert cli.ok("pipeline", "apply", "two.yaml").splitlines() == [
        "sizes is unchanged (version 1).",
        "total is unchanged (version 1).",
    ]


def test_apply_as_json(cli, specs):
    result = cli("pipeline", "apply", "sizes.yaml", "--json")
    assert result.err == ""
    (one,) = result.json["applied"]
    assert result.json["ignored"] == ["transform.image"]
    assert (one["name"]["repo"], one["action"], one["version"]) == ("sizes", "created", 1)
    assert len(one["job"]) == 32


def test_a_dry_run_is_a_plan(cli, specs):
    said = cli.ok("pipeline", "apply", "two.yaml", "--dry-run")
    assert said == cli.ok("plan", "two.yaml")
    assert cli.json("pipeline", "list") == []


def test_plan(cli, specs):
    lines = cli.ok("plan", "two.yaml").splitlines()
    assert lines[:3] == [
        "PIPELINE  ACTION  VERSION  RUN  REUSE  KEEP  DROP  WHY",
        "sizes     create        1    2      0     0     0  2 new",
        "total     create        1    0      0     0     0  waits for sizes",
    ]
    assert "  +  orders:/a.csv  new" in lines
    assert lines[-1] == "After sizes: total."
    found = cli.json("plan", "two.yaml")["pipelines"]
    assert [(one["name"]["repo"], one["run"], one["reasons"]) for one in found] == [
        ("sizes", 2, {"new": 2}),
        ("total", 0, {}),
    ]


def test_plan_alone_says_what_is_due(cli, applied):
    assert cli.ok("plan").splitlines()[1].split()[:4] == ["sizes", "unchanged", "1", "2"]


def test_list_and_inspect(cli, applied):
    rows = cli.ok("pipeline", "list").splitlines()
    assert rows[1].split()[:6] == ["sizes", "1", "running", "created", "cmd", "orders"]
    page = cli.ok("pipeline", "inspect", "sizes")
    assert "Description: How large each file is" in page
    assert "    pfs: {repo: orders," in page
    found = cli.json("pipeline", "inspect", "sizes")
    assert found["spec"]["pipeline"]["name"] == "sizes"
    assert found["last_state"] == "created"


def test_a_shown_spec_can_be_applied_again(cli, applied):
    Path("again.yaml").write_text(cli.ok("pipeline", "inspect", "sizes", "--spec"))
    assert cli.ok("pipeline", "apply", "again.yaml") == "sizes is unchanged (version 1).\n"


def test_versions(cli, applied):
    Path("sizes.yaml").write_text(SPEC.replace("wc -c", "wc -l"))
    assert "Updated sizes, version 2: job" in cli.ok("pipeline", "apply", "sizes.yaml")
    assert [one["version"] for one in cli.json("pipeline", "versions", "sizes")] == [2, 1]
    old = cli.ok("pipeline", "inspect", "sizes", "--version", "1", "--spec")
    assert "wc -c" in old
    assert "/pipeline.json" in cli.ok("diff", "sizes.code@v1", "sizes.code@v2")


def test_datums_of_a_spec_that_never_ran(cli, specs):
    found = cli.json("datum", "list", "-f", "sizes.yaml")
    assert [one["inputs"][0]["path"] for one in found] == ["/a.csv", "/day=1"]
    assert found[0].keys() >= {"id", "state", "reason", "inputs"}
    assert found[0]["inputs"][0].keys() >= {"name", "repo", "path", "join_on", "group_by"}
    assert {(one["state"], one["reason"]) for one in found} == {("waiting", "new")}
    lines = cli.ok("datum", "list", "-f", "sizes.yaml").splitlines()
    assert lines[0].split() == ["DATUM", "STATE", "REASON", "INPUTS"]
    assert lines[1].split()[1:] == ["waiting", "new", "orders:/a.csv"]
    assert cli.json("datum", "list", "-f", "sizes.yaml", "--state", "skipped") == []
    given = cli.json("datum", "list", "-f", "lines.jsonnet", "--arg", "repo=orders")
    assert [one["inputs"][0]["path"] for one in given] == ["/"]


def test_pause_and_resume(cli, applied):
    assert cli.ok("pipeline", "pause", "sizes") == "Paused sizes.\n"
    assert cli.json("pipeline", "inspect", "sizes")["paused"]
    assert "will make one job on resume" in cli.ok("pipeline", "inspect", "sizes")
    states = {one["pipeline"]["repo"]: one["state"] for one in cli.json("job", "list")}
    assert states == {"sizes": "killed", "total": "unrunnable"}
    assert re.match(
        r"Resumed sizes: job sizes@\w+ is waiting", cli.ok("pipeline", "resume", "sizes")
    )
    assert cli.ok("pipeline", "resume", "sizes") == "Resumed sizes: nothing came meanwhile.\n"


def test_run_makes_a_job(cli, applied):
    job = cli.json("pipeline", "run", "sizes")["job"]
    assert cli.json("job", "inspect", f"sizes@{job}")["cause"] == "run by hand"


def test_delete(cli, applied):
    assert cli.ok("pipeline", "delete", "total", "--yes") == "Deleted pipeline total.\n"
    assert "its data stays" in cli.ok("pipeline", "delete", "sizes", "--keep-repo", "--yes")
    assert cli.json("pipeline", "list") == []
    assert "sizes" in cli.ok("repo", "list")


def test_backfill(cli, specs):
    for number in range(3):
        Path("in/a.csv").write_text(f"{number}\n")
        cli.ok("put", "orders@main:/a.csv", "in/a.csv")
    cli.ok("pipeline", "apply", "sizes.yaml")
    said = cli.ok("pipeline", "backfill", "sizes", "--branch", "past", "--from", "orders@main~2")
    assert re.fullmatch(r"Backfill \w+: 3 jobs for 3 commits of orders, to sizes@past\.\n", said)
    (found,) = cli.json("backfill", "list")
    assert (found["total"], found["done"], found["state"]) == (3, 0, "running")
    assert "State:    running: 0 of 3 jobs done" in cli.ok("backfill", "inspect", found["id"][:12])
    for action, state in (("pause", "paused"), ("resume", "running"), ("cancel", "done")):
        assert cli.json("backfill", action, found["id"])["state"] == state


def test_pools(cli, lake):
    assert cli.ok("pool", "set", "gpu", "2") == "At most 2 jobs at once in the pool gpu.\n"
    assert cli.json("pool", "list") == [{"name": "gpu", "slots": 2, "running": 0, "waiting": 0}]
    cli.ok("pool", "delete", "gpu")
    assert cli.ok("pool", "list") == "No pools: trunkline pool set NAME SLOTS.\n"


def test_tick(cli, specs):
    cli.ok("pipeline", "apply", "timed.yaml")
    assert cli.ok("tick", "hourly").startswith("Ticked hourly_tick: commit ")
    assert len(cli.json("ls", "hourly_tick@main")) == 1
    assert len(cli.json("tick", "hourly", "--name", "tick")) == 1


def test_schema(cli, lake):
    schema = json.loads(cli.ok("pipeline", "schema"))
    assert "transform" in schema["$defs"]["SpecField"]["properties"]
    assert "source" in schema["$defs"]["IngestSpecField"]["properties"]
    path = cli.ok("pipeline", "schema", "--path").strip()
    assert json.loads(Path(path).read_text()) == schema


def test_jobs_that_wait(cli, applied):
    found = cli.json("job", "list")
    assert [one["pipeline"]["repo"] for one in found] == ["total", "sizes"]
    assert found[0].keys() >= {
        "id", "pipeline", "version", "state", "reason", "counts", "created", "started", "finished",
        "inputs", "output_commit",
    }  # fmt: skip
    assert cli.json("job", "list", "--pipeline", "sizes", "--state", "success") == []
    assert len(cli.json("job", "list", "-n", "1")) == 1
    job = found[0]["id"]
    page = cli.ok("job", "inspect", f"sizes@{job[:12]}")
    assert page.startswith(f"job sizes@{job}\n")
    assert "Cause:    applied" in page
    late = cli("job", "wait", job, "--timeout", "0.1s")
    assert late.code == 124
    assert "trunkline run" in late.err
    assert cli.ok("job", "cancel", f"sizes@{job}") == f"Cancelled sizes@{job[:12]}.\n"
    over = cli("job", "wait", job)
    assert over.code == 1
    assert f"■ sizes@{job[:12]}  killed: cancelled by" in over.out
    assert cli.ok("job", "rerun", f"sizes@{job}").endswith(" what waits.\n")


def test_a_branch_that_is_there_begins_to_follow(cli, lake):
    cli.ok("branch", "create", "orders@staging")
    said = cli.ok("branch", "trigger", "orders@main", "--on", "staging", "--commits", "2")
    assert said == "orders@main follows staging.\n"
    before = cli.json("branch", "list", "orders")[0]["head"]
    Path("t.csv").write_text("1\n")
    cli.ok("put", "orders@staging:/t.csv", "t.csv")
    assert cli.json("branch", "list", "orders")[0]["head"] == before
    Path("t.csv").write_text("2\n")
    cli.ok("put", "orders@staging:/t.csv", "t.csv")
    assert cli.ok("cat", "orders@main:/t.csv") == "2\n"
    loop = cli("branch", "trigger", "orders@staging", "--on", "main", "--commits", "1")
    assert (loop.code, "loop" in loop.err) == (2, True)
    cli.ok("branch", "create", "orders@apart")
    cli.ok("put", "orders@apart:/x.csv", "t.csv")
    apart = cli("branch", "trigger", "orders@apart", "--on", "staging", "--commits", "1")
    assert (apart.code, "has commits that staging lacks" in apart.err) == (6, True)
    nothing = cli("branch", "trigger", "orders@main")
    assert (nothing.code, "--on BRANCH" in nothing.err) == (2, True)
    again = cli("branch", "create", "orders@main", "--trigger-on", "staging", "--commits", "1")
    assert "trunkline branch trigger orders@main --on BRANCH" in again.err
    assert cli.ok("branch", "trigger", "orders@main", "--none") == "orders@main follows nothing.\n"
    assert all(one["trigger"] is None for one in cli.json("branch", "list", "orders"))


def test_branches_that_follow(cli, lake):
    said = cli.ok(
        "branch", "create", "orders@batches", "--trigger-on", "main", "--commits", "2",
        "--size", "1GB",
    )  # fmt: skip
    assert said == "Created branch orders@batches; it follows main.\n"
    trigger = {one["name"]: one["trigger"] for one in cli.json("branch", "list", "orders")}
    assert trigger["main"] is None
    assert (trigger["batches"]["on"], trigger["batches"]["size"]) == ("main", 10**9)
    for number in range(2):
        Path("in/a.csv").write_text(f"{number}\n")
        cli.ok("put", "orders@main:/a.csv", "in/a.csv")
    head, *rows = cli.ok("branch", "list", "orders").splitlines()
    assert head.split()[-3:] == ["FOLLOWS", "TRIGGER", "STATE"]
    batches = next(row for row in rows if row.startswith("batches"))
    assert "main after 1 GB or after 2 commits" in batches
    assert batches.endswith("waits: 0 B new, needs 1 GB; 1 new commit, needs 2")
    cli.ok("branch", "create", "orders@often", "--trigger-on", "main", "--cron", "@every 6s")
    cli.ok("branch", "create", "orders@slow", "--trigger-on", "main", "--rate-limit", "@hourly")
    listed = cli.ok("branch", "list", "orders")
    assert "main every 6 seconds" in listed
    assert "main at most every hour" in listed


def test_a_commit_beside_its_parent(cli, lake):
    cli.ok("repo", "create", "few")
    for number, name in enumerate(("x y", "z")):
        Path("n.csv").write_text(f"{number}\n")
        cli.ok("put", f"few@main:/{name}", "n.csv")
    assert cli.ok("diff", "few", "--name-only") == "/z\n"
    assert cli.ok("diff", "few@main:/z", "--name-only") == "/z\n"
    assert cli.ok("diff", "few@main:/x y", "--name-only") == ""
    assert cli("diff", "few@main~1").code == 3
    refused = cli("commit", "drop", "few@main~1")
    assert "trunkline commit drop few@" in refused.err
    assert cli.ok("commit", "drop", "few@main").startswith("Dropped few@main; few@main is at ")
    assert cli.ok("commit", "drop", "few@main") == "Dropped few@main; few@main is now empty.\n"


TRANSACTION = """
# Both, or neither.
put orders@main:/a.csv mine/a.csv
put -r orders@main:/all/ mine
repo create rates
put rates@main mine/a.csv
rm orders@main:/all/a.csv
branch create orders@old --from main
cp orders@main:/a.csv rates@main:/copy.csv
pipeline apply both.yaml   # reads both
"""
BOTH = """
pipeline: {name: both}
input: {cross: [{pfs: {repo: orders, glob: /}}, {pfs: {repo: rates, glob: /}}]}
transform: {cmd: ["true"]}
"""


def test_a_transaction_is_all_or_nothing(cli, lake):
    Path("mine").mkdir(exist_ok=True)
    Path("mine/a.csv").write_text("1\n")
    Path("mine/b.csv").write_text("2\n")
    Path("both.yaml").write_text(BOTH)
    cli.ok("put", "orders@main:/first", "mine/b.csv")
    before = cli.json("log", "orders@main")
    Path("steps").write_text(TRANSACTION + "put orders@main:/c mine/missing.csv\n")
    failed = cli("transaction", "run", "steps")
    assert failed.code == 3
    assert failed.err.startswith("error: steps:11: ")
    assert cli.json("log", "orders@main") == before
    assert [one["name"]["repo"] for one in cli.json("repo", "list")] == ["orders"]

    Path("steps").write_text(TRANSACTION)
    made = cli.json("transaction", "run", "steps", "-m", "together")
    ids = {(one["repo"]["repo"], one["id"], one["message"]) for one in made["commits"]}
    assert ids == {("orders", made["id"], "together"), ("rates", made["id"], "together")}
    listed = cli.ok("ls", "-r", "orders@main").split()
    assert {"/a.csv", "/all/b.csv", "/first"} <= set(listed)
    assert "/all/a.csv" not in listed
    assert cli.ok("ls", "rates@main").split() == ["/a.csv", "/copy.csv"]
    jobs = cli.json("job", "list", "-p", "both")
    assert [one["id"] for one in jobs] == [made["id"]]


@pytest.mark.parametrize(
    "step, said",
    [
        ("puts orders@main a", '"puts" is no step of a transaction. Did you mean "put"?'),
        ("put orders@main", "that is not how this step is written"),
        ("rm -x orders@main:/a", "-x is no option here"),
        ("rm orders@main", "orders@main names no path"),
        ("put 'orders@main", "No closing quotation"),
        ("repo create orders", "exists already"),
    ],
)
def test_steps_that_are_none(cli, lake, step, said):
    Path("steps").write_text(f"\n{step}\n")
    refused = cli("transaction", "run", "steps")
    assert refused.code != 0
    assert said in refused.err.splitlines()[0]


CASES = [
    # what, arguments, exit code, what the line says
    ("no such file", ["pipeline", "apply", "sizes.yml"], 3, r'Did you mean "sizes.yaml"'),
    ("unknown field", ["pipeline", "apply", "wrong.yaml"], 2, r"wrong\.yaml:4: .*blob.*glob"),
    ("unknown input", ["pipeline", "apply", "lost.yaml"], 3, r'ordres.*Did you mean "orders"'),
    ("plan of the same", ["plan", "lost.yaml"], 3, r"ordres"),
    ("both ways", ["plan", "sizes.yaml", "--reprocess", "--no-reprocess"], 2, r"both|exclude"),
    ("argument without value", ["plan", "sizes.yaml", "--arg", "x"], 2, r"name=value"),
    ("no file at all", ["pipeline", "apply"], 2, r"FILE"),
    ("unknown pipeline", ["pipeline", "inspect", "size"], 3, r'Did you mean "sizes"'),
    ("unknown version", ["pipeline", "inspect", "sizes", "--version", "9"], 3, r"version 9"),
    ("delete what is read", ["pipeline", "delete", "sizes", "--yes"], 6, r"read by total"),
    ("a repo is no pipeline", ["pipeline", "run", "orders"], 3, r"orders"),
    ("put to an output", ["put", "sizes@main:/x", "in/a.csv"], 5, r"only its jobs"),
    ("unknown job", ["job", "inspect", "0123456789ab"], 3, r"0123456789ab"),
    ("job of no pipeline", ["job", "logs", "sises"], 3, r"Did you mean .sizes."),
    ("no job id", ["job", "inspect", "1234"], 2, r"not the id of a job"),
    ("unknown state", ["job", "list", "--state", "sucess"], 2, r'Did you mean "success"'),
    ("unknown datum state", ["datum", "list", "-f", "sizes.yaml", "--state", "x"], 2, r"x"),
    ("jobs of no pipeline", ["job", "list", "--pipeline", "x"], 3, r"no pipeline"),
    ("job and spec", ["datum", "list", "x@0123456789", "-f", "sizes.yaml"], 2, r"either"),
    ("neither job nor spec", ["datum", "list"], 2, r"either"),
    ("bad timeout", ["job", "wait", "0123456789ab", "--timeout", "soon"], 2, r"soon"),
    ("wait for nothing", ["job", "wait", "0123456789ab"], 3, r"0123456789ab"),
    (
        "backfill of another",
        ["pipeline", "backfill", "sizes", "--from", "total@main"],
        (2, 3),
        r".",
    ),
    ("unknown backfill", ["backfill", "inspect", "0123"], 3, r"0123"),
    ("cancel no backfill", ["backfill", "cancel", "0123"], 3, r"0123"),
    ("negative pool", ["pool", "set", "x", "--", "-1"], 2, r"-1"),
    ("pool by words", ["pool", "set", "x", "two"], 2, r"whole number"),
    ("unknown pool", ["pool", "delete", "x"], 3, r'"x"'),
    ("tick without a clock", ["tick", "sizes"], (2, 3, 6), r"sizes"),
    ("no jobs at once", ["run", "--jobs", "0"], 2, r"0"),
    ("unknown secret", ["secret", "delete", "x"], 3, r'"x"'),
    ("conditions of nothing", ["branch", "create", "orders@b", "--size", "1GB"], 2, r"trigger"),
    ("no condition", ["branch", "create", "orders@b", "--trigger-on", "main"], 2, r"condition"),
    ("bad size", ["branch", "create", "orders@b", "--trigger-on", "main", "--size", "x"], 2, r"x"),
]


@pytest.mark.parametrize("args, codes, message", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_mistake(cli, applied, args, codes, message):
    before = [
        cli.json(*words) for words in (["pipeline", "list"], ["job", "list"], ["repo", "list"])
    ]
    result = cli(*args)
    assert result.code in (codes if isinstance(codes, tuple) else (codes,)), result.err
    lines = result.err.splitlines()
    assert lines[0].startswith("error: ")
    assert re.search(message, lines[0]), lines[0]
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert result.out == ""
    assert before == [
        cli.json(*words) for words in (["pipeline", "list"], ["job", "list"], ["repo", "list"])
    ]


def test_a_mistake_in_sql_is_shown_in_its_line(cli, lake):
    spec = "pipeline: {name: x}\ninput: {pfs: {repo: orders, glob: /}}\ntransform: {sql: x.sql}\n"
    Path("x.yaml").write_text(spec)
    Path("x.sql").write_text("SELECT *\nFROM ordrs\n")
    result = cli("pipeline", "apply", "x.yaml")
    assert result.code == 2
    assert result.err.splitlines() == [
        'error: x.yaml:3: x.sql:2: there is no input "ordrs". Did you mean "orders"?',
        "  2 | FROM ordrs",
        "    |      ^",
        "hint: Its inputs: orders.",
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"cmd": ["sh", "-c", "echo $a > b; exit 0"], "env": {"A": "1", "B": "yes", "c d": ""}},
        {
            "stdin": [
                "a: b",
                "- c",
                "#no",
                "null",
                "~",
                "1e3",
                "0x1f",
                " lead",
                "trail ",
                "2026-01-01",
            ]
        },
        {"text": "one\ntwo\n\nthree\n", "odd": "one\n\ttwo", "space": "a\nb \n", "start": "\n a\n"},
        {"nested": [{"pfs": {"repo": "a", "glob": "/*"}}, {"cross": [{"pfs": {"repo": "b"}}]}]},
        {"numbers": [0, 1.5, True, None, -2], "unicode": "café ☕\u202e", "empty": {}, "none": []},
        {
            "words": [
                "yes",
                "No",
                "on",
                ".5",
                ".inf",
                "a,b",
                "[x]",
                "{y}",
                "a: ",
                "-",
                "--",
                "-x",
                "=",
                "<<",
            ]
        },
        {"no end": "SELECT 1\nFROM a", "end": "a\nb\n", "ends": "a\nb\n\n", "gap": "a\n\nb"},
        {"long": ["x" * 60, "y" * 60], "map": {"k" * 40: "v" * 60}, "k: k": 1, "true": "x"},
    ],
    ids=lambda value: "-".join(value),
)
def test_yaml_says_what_was_meant(value):
    text = "\n".join(yamltext.lines(value)) + "\n"
    assert yaml.safe_load(text) == value, text


def test_why_it_does_not_run(cli, lake):
    Path("p.yaml").write_text(SPEC.replace('glob: "/*"', "glob: /no-such-file"))
    cli.ok("pipeline", "apply", "p.yaml")
    (job,) = cli.json("job", "list")
    assert cli.ok("pipeline", "why", "sizes").splitlines()[0] == f"Job {job['id'][:12]} waits."
    assert cli.ok("job", "why", job["id"]).splitlines()[0].endswith(" applied version 1.")
    cli.ok("pipeline", "pause", "sizes")
    assert cli.json("pipeline", "why", "sizes")["lines"][0].startswith("It is paused.")
    assert "It was stopped: its pipeline was paused." in cli.ok("job", "why", job["id"])
