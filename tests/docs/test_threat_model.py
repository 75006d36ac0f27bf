"""Every test that the threat model names is there, and everybody has one."""

from __future__ import annotations

import re

import pytest

from tests.docs.console import ROOT

MODEL = (ROOT / "docs/security.md").read_text().split("## Threat model")[1].split("\n## ")[0]
ROWS = [line for line in MODEL.splitlines() if line.startswith("| ") and "**" in line]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("**")[1])
def test_everybody_is_held_by_a_test(row: str):
    named = re.findall(r"`(tests/[^`]+)`", row.split("|")[4])
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_nobody_is_left_out():
    wanted = ("stranger", "user without a role", "reader", "writer", "maintainer", "admin",
              "author of code", "another machine", "owner of the folder")  # fmt: skip
    assert [who for who in wanted if not any(who in row.split("|")[1] for row in ROWS)] == []
    for name in re.findall(r"`(tests/[^`]+)`", MODEL):
        assert (ROOT / name).is_file(), name
