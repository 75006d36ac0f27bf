"""Write what the console's types are made from: `python -m tests.docs.generate_openapi`."""

from __future__ import annotations

import json

from tests.docs.console import ROOT
from tests.docs.generate_api import document

FILE = ROOT / "console" / "openapi.json"


def text() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
