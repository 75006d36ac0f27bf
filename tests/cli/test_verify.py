"""`trunkline verify`: what a person sees, and the exit code that a timer sees."""

from __future__ import annotations

from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli

COPY = (
    "import os\n"
    "def f(orders, ctx):\n"
    "    late = os.path.exists(ctx.params['flag'])\n"
    "    return orders.selectExpr('id', f'amount + {int(late)} AS amount')\n"
)


@pytest.fixture
def folder(spark: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "work.py").write_text(COPY)
    with tl.init(tmp_path) as lake:
        lake.create_repo("orders")
        with lake.commit("orders@main") as commit:
            commit.put("/a.csv", b"id,amount\n1,2\n2,3\n")
        lake.apply(
            {
                "pipeline": {"name": "copy"},
                "input": tl.pfs("orders", "/"),
                "transform": {
                    "spark": "work.py:f",
                    "code": str(tmp_path / "code"),
                    "params": {"flag": str(tmp_path / "flag")},
                },
            }
        )
        lake.run()
    return tmp_path


@pytest.mark.slow
def test_a_difference_is_shown_and_ends_with_1(folder: Path, cli: Cli):
    assert "equal: 2 rows of 1 datum" in cli.ok("verify", "copy")
    (folder / "flag").touch()
    done = cli("verify", "--all")
    assert done.code == 1
    assert "✗ copy@" in done.out
    assert "/: 2 rows differ\n" in done.out
    assert "- id=1, amount=2  (published)" in done.out
    assert "+ id=1, amount=3  (from scratch)" in done.out
    assert "1 different in" in done.out
    assert "Spark 4." in done.out
    found = cli("verify", "copy", "--json")
    assert found.code == 1
    assert found.json["good"] is False
    assert found.json["results"][0]["differences"][0]["scratch"] == 2


def test_what_is_to_be_verified_must_be_said(folder: Path, cli: Cli):
    for words in ((), ("copy", "--all")):
        done = cli("verify", *words)
        assert (done.code, done.out) == (2, "")
        assert "--all" in done.err
    assert "no pipeline's" in cli("verify", "orders").err
