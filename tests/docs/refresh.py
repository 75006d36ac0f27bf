"""Run pages and write what their commands print into them: `python -m tests.docs.refresh PAGE…`.

Read what it wrote before you commit it: it believes whatever the command says. Outputs with a "…"
that match no more, and bugs, are reported and left to you. With --anew, those that match are
written too: for times of a machine that has nothing else to do.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.docs.console import ANYTHING, ID, Ids, Shell, Step, compare, perform, steps


def refresh(page: Path, anew: bool = False) -> int:
    """Bring one page up to date; how many outputs need a person."""
    text = page.read_text(encoding="utf-8").splitlines()
    ids = Ids()
    left = 0
    edits: list[tuple[int, int, list[str]]] = []
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(Path(folder))
        for step in steps(page):
            code, actual = perform(shell, step, ids)
            if found := compare(step.expected, actual, ids):
                ids = found
                if not anew or not step.expected or ANYTHING in step.expected:
                    continue
            elif ANYTHING in step.expected or any("this is a bug" in line for line in actual):
                left += 1
                print(
                    f"{step.where}: exit code {code}; does not match any more:", *actual, sep="\n"
                )
                continue
            edits.append((*_place(step, text), [_for_page(ids, line) for line in actual]))
        shell.close()
    for start, end, lines in reversed(edits):
        text[start:end] = lines
    page.write_text("\n".join(text) + "\n", encoding="utf-8")
    print(f"{page}: {len(edits)} outputs written, {left} left to you")
    return left


def _for_page(ids: Ids, line: str) -> str:
    """The line with ids that the page knows already; others come in as they are."""

    def shown(found: re.Match[str]) -> str:
        short = found[0][:12]
        known = ids.to_page.get(short, short)
        ids.bind(known, short)
        return known + found[0][12:]

    return ID.sub(shown, line)


def _place(step: Step, text: list[str]) -> tuple[int, int]:
    """The lines that the output of a step takes up."""
    if not step.python:
        start = step.line + step.command.count("\n")
        return start, start + len(step.expected)
    fence = step.line + step.command.count("\n")
    start = text.index("```text", fence) + 1
    return start, start + len(step.expected)


if __name__ == "__main__":
    anew = "--anew" in sys.argv
    pages = [Path(name).resolve() for name in sys.argv[1:] if name != "--anew"]
    sys.exit(bool(sum(refresh(page, anew) for page in pages)))
