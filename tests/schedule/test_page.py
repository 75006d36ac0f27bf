"""The page on scheduling says what is so."""

from __future__ import annotations

import re

import pytest

from tests.docs.console import ROOT, blocks
from tests.schedule.declared import micros
from trunkline.pipelines.cron import parse_cron, slot_name
from trunkline.pipelines.spec import read_specs

PAGE = (ROOT / "docs" / "scheduling.md").read_text(encoding="utf-8")
SPECS = ["\n".join(block.lines) for block in blocks(PAGE) if block.info == "yaml"]


@pytest.mark.parametrize("text", SPECS)
def test_its_pipelines_can_be_read(text: str):
    read = read_specs(text, name="page.yaml", project="default")
    assert len(read.specs) == 1


def test_its_times_can_be_read():
    section = PAGE.split("## Times")[1].split("###")[0]
    rows = re.findall(r"^\|(.+?)\|", section, re.MULTILINE)
    texts = [text for row in rows for text in re.findall(r"`([^`]+)`", row)]
    assert len(texts) > 12
    for text in texts:
        parse_cron(text)


def test_its_example_of_summer_time_is_right():
    slots = parse_cron("30 2 * * *", "Europe/Berlin")
    for moment in re.findall(r"^(2026-\S+Z) ", PAGE, re.MULTILINE):
        assert slots.after(micros(moment) - 1) == micros(moment), moment
    assert slot_name(slots.after(micros("2026-10-25T00:30:00Z")) or 0) == "2026-10-26T01:30:00Z"
