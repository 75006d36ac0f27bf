"""Erase what was computed from a patient: old versions of results, in every repo of a pipeline.

    python erase_derived.py S0007 --reason "Request of 3 March"

Erase the patient's own files first, and run the pipelines: from then on no newest version has the
patient. What is left are the versions of before. Each of their files that has rows of the patient
is erased, whole; the newest versions are not touched.
"""

from __future__ import annotations

import argparse

from find_patient import text_of  # type: ignore[import-not-found, unused-ignore]

import trunkline as tl
from trunkline.errors import Erased
from trunkline.model.commits import RepoKind


def main() -> None:
    parser = argparse.ArgumentParser(description="Erase what was computed from a patient.")
    parser.add_argument("subject", help="as S0007")
    parser.add_argument("--reason", default="", help="for the record")
    asked = parser.parse_args()
    with tl.open() as lake:
        for repo in lake.repos():
            if repo.kind is RepoKind.USER:
                continue
            paths = sorted(old_files(lake, str(repo.name), asked.subject))
            for path in paths:
                lake.erase(f"{repo.name}@main:{path}", reason=asked.reason)
            print(f"{repo.name}: {len(paths)} erased")


def old_files(lake: tl.Lake, repo: str, subject: str) -> set[str]:
    """Paths of old commits that have rows of the patient."""
    now = {file.path: file.hash for file in lake.ls(f"{repo}@main", recursive=True, hidden=True)}
    found: set[str] = set()
    for commit in lake.history(repo):
        for file in lake.ls(f"{repo}@{commit.id}", recursive=True, hidden=True):
            if file.path.endswith("/") or now.get(file.path) == file.hash:
                continue
            if f"subject={subject}/" in file.path:
                found.add(file.path)
                continue
            try:
                content = text_of(lake.read(f"{repo}@{commit.id}:{file.path}"), file.path)
            except Erased:
                continue
            if subject in content:
                found.add(file.path)
    return found - now.keys()


if __name__ == "__main__":
    main()
