"""The sample shop: its pipelines and the script that writes its days, as files to play with.

They are those of examples/shop in the source; here they are data of the package.
"""

from __future__ import annotations

import shutil
from pathlib import Path

SHOP = Path(__file__).with_name("shop")


def write_shop(folder: Path) -> list[Path]:
    """Copy the shop's files into a folder; what was written, by name."""
    folder.mkdir(parents=True)
    files = sorted(file for file in SHOP.iterdir() if file.is_file())
    return [Path(shutil.copyfile(file, folder / file.name)) for file in files]
