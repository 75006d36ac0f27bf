"""Every relative link on every page leads somewhere, to the heading it names."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.console import ROOT

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"^(```|~~~).*?^\1\s*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    """Markdown that is, or is about to be, part of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    found = [ROOT / name for name in listed] or [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return sorted(page for page in set(found) if page.is_file())


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```\s*$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    anchors: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        number = 1
        anchor = plain
        while anchor in anchors:
            anchor = f"{plain}-{number}"
            number += 1
        anchors.add(anchor)
    return anchors


def broken(page: Path) -> list[str]:
    found = []
    for match in _LINK.finditer(_CODE.sub("", page.read_text())):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        there = target.exists() and target.is_relative_to(ROOT)
        if there and anchor and target.suffix == ".md":
            there = anchor in headings(target)
        if not there:
            found.append(link)
    return found


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path):
    assert not broken(page)


def test_a_broken_link_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.docs.test_links.ROOT", tmp_path)
    page = tmp_path / "a.md"
    page.write_text("# One\n\n## Two words\n")
    page.write_text(page.read_text() + "[x](#two-words) [y](#three) [z](b.md) `[c](d.md)`\n")
    assert broken(page) == ["#three", "b.md"]
