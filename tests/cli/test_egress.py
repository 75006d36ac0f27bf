"""Egress and export, as people type them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli
from tests.egress.worlds import there
from tests.notices.receivers import Receiver, receiving

SPEC = """
pipeline: {name: report}
input: {pfs: {repo: orders, glob: /nothing/*}}
transform: {cmd: ["true"]}
egress:
- folder: {path: out}
- webhook: URL
  backoff: 1ms
"""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver) -> Path:
    monkeypatch.chdir(tmp_path)
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        with lake.commit("orders") as commit:
            commit.put("/a.csv", b"id,name\n1,x\n")
    (tmp_path / "report.yaml").write_text(SPEC.replace("URL", receiver.url))
    return tmp_path


def test_a_delivery_from_apply_to_retry(cli: Cli, folder: Path, receiver: Receiver):
    receiver.statuses = [400]
    cli.ok("pipeline", "apply", "report.yaml")
    done = cli("run")
    assert done.code == 1
    lines = done.out.splitlines()
    assert any(line.startswith("report → folder: 0 files in ") for line in lines)
    assert re.fullmatch(r"1 job in [\d.]+s\.", lines[-2]), "the job itself is well"
    assert lines[-1] == f"Not delivered: report to webhook: {receiver.url} answered 400."

    listed = cli.ok("egress", "list", "report").splitlines()
    assert listed[0].split() == ["PIPELINE", "TARGET", "COMMIT", "STATE", "WHEN", "WHAT"]
    assert {line.split()[1] for line in listed[1:]} == {"folder", "webhook"}
    failed = cli("egress", "list", "--failed")
    assert failed.code == 1
    assert "answered 400." in failed.out
    assert "folder" not in failed.out
    assert "Undelivered: report; trunkline egress list report --failed says why." in cli.ok(
        "status"
    )
    page = cli.ok("egress", "inspect", "report", "webhook")
    assert page.splitlines()[-2:] == [
        "Try again:  trunkline egress retry report webhook",
        "Leave out:  trunkline egress skip report webhook",
    ]
    (job,) = cli.json("job", "list")
    assert f"  webhook: failed, {receiver.url} answered 400." in cli.ok("job", "inspect", job["id"])

    said = cli.ok("egress", "retry", "report").splitlines()
    assert said[0] == f"To go out again: report@{job['id'][:12]} to webhook."
    assert cli.ok("run").splitlines()[-1] == "1 delivery."
    assert cli("egress", "list", "--failed").out == "Nothing failed to go out.\n"
    assert cli.json("egress", "inspect", "report", "webhook")["state"] == "done"
    assert cli("egress", "retry", "report").code == 3


def test_the_head_again_and_left_out(cli: Cli, folder: Path):
    cli.ok("pipeline", "apply", "report.yaml")
    cli.ok("run", "-q")
    assert cli.ok("egress", "run", "report", "folder").startswith("To go out: report@")
    assert cli.ok("egress", "skip", "report").startswith("Left out: report@")
    assert cli.ok("run") == "Nothing to run.\n"
    wrong = cli("egress", "run", "report", "floder")
    assert (wrong.code, wrong.out) == (3, "")
    assert 'report has no target "floder". Did you mean "folder"?' in wrong.err


def test_export_to_a_folder(cli: Cli, folder: Path):
    said = cli.ok("export", "orders", "copy")
    assert said == f"Exported orders: 1 file in {folder / 'copy'}.\n"
    assert there(folder / "copy") == {"a.csv": "id,name\n1,x\n"}
    cli.ok("export", "orders", "json", "--format", "json")
    assert there(folder / "json") == {"part-00000.json": '{"id": 1, "name": "x"}\n'}
    cli.ok("export", "orders", "all", "--mode", "versions", "--keep", "1")
    assert there((folder / "all" / "latest").resolve()) == there(folder / "copy")
    receipt = cli.json("export", "orders@main:/a.csv", "copy2")
    assert (receipt["kind"], receipt["receipt"]["files"]) == ("folder", 1)


def test_export_to_a_webhook(cli: Cli, folder: Path, receiver: Receiver):
    said = cli.ok("export", "orders", f"{receiver.url}/x", "--body", "rows")
    assert said == f"Exported orders: 1 row to {receiver.url}.\n"
    assert receiver.next().body == b'{"id": 1, "name": "x"}\n'


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["orders", "gopher://x"], 2, '"gopher://" is nothing to export to.'),
        (["orders", "out", "--table", "t"], 2, "folder.table is not a field."),
        (["orders", "out", "--option", "x"], 2, "--option: 'x' is not NAME=VALUE."),
        (["nothing", "out"], 3, 'There is no repo "nothing".'),
        (["orders@main:/b", "out"], 3, 'There is no "/b" in orders@'),
        (["orders", "report.yaml"], 6, "report.yaml cannot be written"),
        (["orders", "http://127.0.0.1:9"], 7, "http://127.0.0.1:9 does not answer"),
        (["orders", "s3://b/c", "--secret", "token=x"], 2, "objects.token is not a field."),
        (
            ["orders", "s3://b/c", "--secret", "access_key_id=nope"],
            6,
            "The target objects of orders needs the secret nope, which is not set.",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    cli: Cli, folder: Path, arguments: list[str], code: int, said: str
):
    done = cli("export", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (folder / "out").exists() or there(folder / "out") == {}
