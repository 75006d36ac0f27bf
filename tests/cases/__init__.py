"""Cases as text: lines of input and expectation, a blank line between cases.

Lines that start with "# " are comments. Add a case to a `.case` file; no Python needed.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def load(name: str) -> list[list[str]]:
    """The cases of a file, each as its lines."""
    cases: list[list[str]] = [[]]
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        if not line.strip():
            cases.append([])
        elif not line.startswith("# "):
            cases[-1].append(line)
    return [case for case in cases if case]
