"""Pipelines as text over HTTP: what an editor reads and writes."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import trunkline as tl
from tests.server.lakewide.people import asked_by
from trunkline import Lake, errors
from trunkline.pipelines.spec import SCHEMA_FILE
from trunkline.sdk.remote.lake import RemoteLake
from trunkline.sdk.reports import ApplyReport
from trunkline.sdk.spectext import MOST_TEXT, SpecText, declaration_of
from trunkline.sdk.wire.pipelines import CodeFile

PEOPLE = {
    "root": {"": "admin"},
    "reader": {"": "reader"},
    "writer": {"shop/orders": "writer"},
    "output": {"shop/totals": "reader"},
}
SPEC = """\
pipeline: {name: totals}
input:
  pfs: {repo: orders, glob: /}
transform:
  spark: totals.py:totals
"""
CODE = b"def totals(orders):\n    return orders.groupBy('day').count()\n"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with tl.init(tmp_path / "lake") as made:
        made.create_project("shop")
        with tl.open(tmp_path / "lake", project="shop", author="root", direct=True) as opened:
            opened.create_repo("orders")
            yield opened


@pytest.fixture
def remote(lake: Lake) -> Iterator[RemoteLake]:
    with asked_by(lake, PEOPLE) as ask:
        yield ask("root")


def file(path: str, data: bytes) -> CodeFile:
    return CodeFile(path, base64.b64encode(data).decode())


def read(text: str, *code: CodeFile, name: str = "spec.yaml") -> Any:
    return declaration_of(SpecText(text, name, "shop", code))


def refused(text: str, *code: CodeFile, name: str = "spec.yaml") -> str:
    with pytest.raises(errors.TrunklineError) as caught:
        read(text, *code, name=name)
    return caught.value.message


def test_what_is_read_can_be_applied_and_comes_back_as_the_same_text(remote: RemoteLake):
    sent = {
        "text": SPEC,
        "project": "shop",
        "code": [{"path": "/totals.py", "data": base64.b64encode(CODE).decode()}],
    }
    client = remote._client
    declaration = client.send("POST", "/pipelines/read", sent, kind=dict[str, Any])
    assert declaration["pipelines"][0]["spec"]["pipeline"] == {"project": "shop", "name": "totals"}
    assert declaration["pipelines"][0]["where"] == "spec.yaml:1"
    report = client.send("POST", "/pipelines", declaration, kind=ApplyReport)
    assert [one.action for one in report.applied] == ["created"]

    text = remote.pipeline_text("totals")
    assert "pfs: {repo: orders, glob: /}" in text.text
    assert text.files == (file("/totals.py", CODE),)
    again = read(text.text, *text.files)
    assert json.loads(json.dumps(again.pipelines[0].spec)) == declaration["pipelines"][0]["spec"]


def test_code_of_a_folder_is_all_files_that_were_given():
    text = SPEC + "  code: src\n"
    found = read(text, file("/totals.py", CODE), file("/lib/help.py", b"x = 1\n"))
    assert [one.path for one in found.pipelines[0].code] == ["/lib/help.py", "/totals.py"]
    assert found.ignored == ()
    assert refused(text) == "spec.yaml:1: its code src is not here."


def test_sql_comes_from_the_files_and_what_nothing_needs_is_said():
    text = SPEC.replace("spark: totals.py:totals", "sql: totals.sql")
    sql = file("/totals.sql", b"SELECT day, count(*) AS n FROM orders GROUP BY day")
    found = read(text, sql, file("/other.py", b""))
    assert found.pipelines[0].spec["transform"]["sql"].startswith("SELECT day")
    assert found.pipelines[0].code == ()
    assert found.ignored == ("/other.py",)


def test_of_a_path_on_the_servers_disk_nothing_is_read(tmp_path: Path):
    secret = tmp_path / "secret.sql"
    secret.write_text("SELECT 'secret'")
    for path in (str(secret), os.path.relpath(secret), f"../../..{secret}"):
        text = SPEC.replace("spark: totals.py:totals", f"sql: {path}")
        assert f'There is no file "{path}" with the spec.' in refused(text)
    source = "ingest: {name: feed}\nsource:\n  folder: {path: here/in}\n"
    assert "is seen from no folder here" in refused(source)


@pytest.mark.parametrize("name", ["a.jsonnet", "a.py", "spark-pipeline.yml", "a", "/etc/a.yaml"])
def test_what_is_more_than_data_is_not_read(name: str):
    assert name in refused("{}", name=name)


def test_the_first_thing_wrong_is_one_line_with_its_place():
    assert refused(SPEC.replace("glob: /", "globb: /")).startswith("spec.yaml:3: ")
    assert refused(SPEC) == 'spec.yaml:1: There is no file "totals.py" with the spec.'
    assert "has no function" in refused(SPEC, file("/totals.py", b"x = 1\n"))
    wrong = file("/totals.py", b"def totals(order):\n    pass\n")
    assert "is no input" in refused(SPEC, wrong)
    assert refused("{", name="a.json").startswith("a.json:1")
    assert "not base64" in refused(SPEC, CodeFile("/totals.py", "?"))


def test_python_that_is_nested_too_deeply_is_refused():
    for text in ("(" * 5000 + ")" * 5000, "a" + "+a" * 50_000, "-" * 50_000 + "1", "x = 1\0"):
        assert refused(SPEC, file("/totals.py", f"def totals(orders): {text}".encode()))


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)
MERGES = "- &a {pipeline: {name: x}}\n" + "- {<<: *a}\n" * 15_000
REST = "input: {pfs: {repo: r, glob: /}}, transform: {cmd: [a]}"
MANY = "".join(f"- {{pipeline: {{name: p{n}}}, {REST}}}\n" for n in range(2_000))


@pytest.mark.parametrize("text", [BOMB, "[" * 50_000, "a: &a [*a]\n", MERGES])
def test_yaml_that_grows_is_refused_soon(text: str):
    began = time.process_time()
    assert refused(text)
    assert time.process_time() - began < 20


def test_many_pipelines_are_read_in_time_that_grows_with_them():
    began = time.process_time()
    assert len(read(MANY).pipelines) == 2_000
    assert time.process_time() - began < 30


def test_a_text_that_is_too_large_is_not_begun():
    assert "at most" in refused("#" * (MOST_TEXT + 1))


def test_who_may_write_nothing_is_refused_and_who_may_read_not_all_gets_no_text(lake: Lake):
    lake.apply({
        "pipeline": {"name": "totals"},
        "input": {"pfs": {"repo": "orders", "glob": "/"}},
        "transform": {"cmd": ["true"]},
    })  # fmt: skip
    with asked_by(lake, PEOPLE) as ask:
        body = {"text": "a: 1"}
        with pytest.raises(errors.NotAllowed, match="may not write"):
            ask("reader")._client.send("POST", "/pipelines/read", body)
        with pytest.raises(errors.InvalidSpec):
            ask("writer")._client.send("POST", "/pipelines/read", body)
        assert ask("reader").pipeline_text("shop/totals").files == ()
        with pytest.raises(errors.NotAllowed, match="may not read all that"):
            ask("output").pipeline_text("shop/totals")


def test_the_schema_of_specs_is_the_one_that_editors_have(remote: RemoteLake):
    found = remote._client.get(dict[str, Any], "/pipelines/schema")
    assert found == json.loads(SCHEMA_FILE.read_text())
