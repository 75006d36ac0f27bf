"""Counts the lines of telemetry that were sent, in plain Python: to compare with what arrived."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    files = sorted(Path(sys.argv[1]).glob("*.jsonl"))
    lines = sum(len(file.read_bytes().splitlines()) for file in files)
    print(f"{lines} kills in {len(files)} files")


if __name__ == "__main__":
    main()
