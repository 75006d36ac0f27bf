"""How large the code is, and how often one idea stands in it.

    python scripts/measure.py [REVISION …]

Each revision is a column; without one it is the working tree.
"""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "src/trunkline"
SQL = re.compile(r"\"\"?\"?\s*(SELECT|INSERT|UPDATE|DELETE)\b[^\"]*\b(FROM|INTO|SET)\b")


def texts(revision: str | None) -> dict[str, str]:
    """The text of each Python file of the package, by its path in it."""
    if revision is None:
        listed = git("ls-files", "-z", f"{SOURCE}/*.py").split("\0")
        return {path: (ROOT / path).read_text() for path in listed if (ROOT / path).is_file()}
    listed = git("ls-tree", "-rz", "--name-only", revision, SOURCE).split("\0")
    paths = [path for path in listed if path.endswith(".py")]
    asked = "".join(f"{revision}:{path}\n" for path in paths)
    answer = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=ROOT, input=asked.encode(), stdout=-1, check=True
    ).stdout
    found, start = {}, 0
    for path in paths:
        end = answer.index(b"\n", start)
        size = int(answer[start:end].split()[2])
        found[path] = answer[end + 1 : end + 1 + size].decode()
        start = end + size + 2
    return found


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=-1, check=True).stdout.decode()


def measures(files: dict[str, str]) -> Iterator[tuple[str, int]]:
    places = {path.removeprefix(f"{SOURCE}/"): text for path, text in files.items()}
    lengths = {path: text.count("\n") for path, text in places.items()}
    longest = max(lengths, key=lambda path: lengths[path])
    yield "files", len(places)
    yield "lines", sum(lengths.values())
    yield "median file", round(statistics.median(lengths.values()))
    yield "longest file", lengths[longest]
    packages: Counter[str] = Counter()
    for path, count in lengths.items():
        packages[path.split("/")[0] if "/" in path else "errors, settings"] += count
    for package, count in packages.most_common():
        yield f"lines of {package}", count
    folders = Counter(str(Path(path).parent) for path in places)
    yield "files in the fullest folder", max(folders.values())

    def count_of(pattern: str, *outside: str) -> int:
        expression = re.compile(pattern)
        return sum(
            len(expression.findall(text))
            for path, text in places.items()
            if not path.startswith(outside)
        )

    yield "places that move a head", count_of(r"\bswap_head\(") - count_of(r"def swap_head\(")
    yield "hand-written to_dict", count_of(r"def to_dict\(")
    yield "raw access to a spec", count_of(r"\bspec(\.get\(\"|\[\")", "pipelines/spec")
    yield (
        "SQL outside the catalog",
        sum(
            len(SQL.findall(text))
            for path, text in places.items()
            if path.startswith(("lake/", "sdk/", "jobs/", "server/routes"))
        ),
    )
    yield "_core from outside the SDK", count_of(r"\blake\._core\b", "sdk/")
    owners = ("model/entries", "pipelines/datums_lines", "lake/manifests", "lake/backups/places")
    splits = r"(split|partition|index)\((b?\"\\t\"|TAB)"
    yield "records split at tabs by others than their owner", count_of(splits, *owners)
    caches = r"\w+\.popitem\(last=False\)|pop\(next\(iter\("
    yield "caches made by hand", count_of(caches)
    names: Counter[str] = Counter()
    for text in places.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                names[node.name] += 1
    yield "public class names", len(names)
    yield "public class names that repeat", sum(count > 1 for count in names.values())
    together = [path for path in places if re.fullmatch(r"[a-z]{13,}\.py", Path(path).name)]
    yield "file names of 13 letters or more without underscore", len(together)


def main() -> None:
    revisions: list[str | None] = [*sys.argv[1:]] or [None]
    columns = [dict(measures(texts(revision))) for revision in revisions]
    rows = list(dict.fromkeys(name for column in columns for name in column))
    lines = [["", *(str(revision or "now") for revision in revisions)]]
    lines.append(["---", *("---:" for _ in revisions)])
    lines += [[name, *(f"{column.get(name, 0):,}" for column in columns)] for name in rows]
    sys.stdout.writelines(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    main()
