"""The examples, as files to play with: their pipelines, and scripts that write their data.

They are those of examples/ in the source; here they are data of the package.
"""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).with_name("examples")
TOUR = "tour.yaml"
SHOP = "shop"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".*")


def write_example(name: str, folder: Path) -> list[Path]:
    """Copy an example's files into a folder; what was written, by name."""
    shutil.copytree(EXAMPLES / name, folder, ignore=LEFT_OUT)
    return sorted(file for file in folder.rglob("*") if file.is_file())
