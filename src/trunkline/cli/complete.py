"""What Tab offers for a REF: repos, then branches and tags, then paths.

Quick, and silent when anything is wrong: a shell must never show a traceback.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING

import typer

from trunkline.model.best_effort import BestEffort

if TYPE_CHECKING:
    from trunkline.sdk.lake import Lake

MOST_OFFERED = 200
BREAKS = ("@", ":")
PREFIX_VARIABLE = "_TRUNKLINE_COMPLETED"


def repos(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of repos."""
    return _offer(ctx, incomplete, _repo_names)


def revisions(ctx: typer.Context, incomplete: str) -> list[str]:
    """`repo@`, then branches and tags."""
    return _offer(ctx, incomplete, _revisions)


def refs(ctx: typer.Context, incomplete: str) -> list[str]:
    """`repo@`, then branches and tags, then paths."""
    return _offer(ctx, incomplete, _refs)


def pipelines(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pipelines."""
    return _offer(ctx, incomplete, _pipeline_names)


def environments(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of environments."""
    return _offer(ctx, incomplete, _environment_names)


def deleted(ctx: typer.Context, incomplete: str) -> list[str]:
    """What can be had back."""
    return _offer(ctx, incomplete, _deleted_names)


def streams(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of streams."""
    return _offer(ctx, incomplete, _stream_names)


def ingests(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of ingests."""
    return _offer(ctx, incomplete, _ingest_names)


def jobs(ctx: typer.Context, incomplete: str) -> list[str]:
    """`pipeline@id`, newest first."""
    return _offer(ctx, incomplete, _job_names)


Candidates = Callable[["Lake", str], Iterator[str]]


def _offer(ctx: typer.Context, incomplete: str, candidates: Candidates) -> list[str]:
    from itertools import islice

    before = os.environ.get(PREFIX_VARIABLE, "")
    with BestEffort("Completing a word"), _lake(ctx) as lake:
        typed = before + incomplete
        matches = (c for c in candidates(lake, typed) if c.startswith(typed))
        return [match.removeprefix(before) for match in islice(matches, MOST_OFFERED)]
    return []


def _lake(ctx: typer.Context) -> Lake:
    from trunkline.cli.session import Session

    session = Session()
    context: typer.Context | None = ctx
    while context is not None:
        for name in ("lake", "project"):
            if value := context.params.get(f"shared_{name}"):
                session.flags.setdefault(name, value)
        context = context.parent  # type: ignore[assignment]
    return session.open()


def _repo_names(lake: Lake, typed: str) -> Iterator[str]:
    for repo in lake.repos(all_projects="/" in typed):
        yield str(repo.name) if "/" not in typed else f"{repo.name.project}/{repo.name.repo}"


def _revisions(lake: Lake, typed: str) -> Iterator[str]:
    repo, at, _ = typed.partition("@")
    if not at:
        names = [name for name in _repo_names(lake, typed) if name.startswith(typed)]
        if len(names) != 1:
            yield from (f"{name}@" for name in names)
            return
        repo = names[0]
    yield from (f"{repo}@{branch.name}" for branch in lake.branches(repo))
    yield from (f"{repo}@{tag.name}" for tag in lake.tags(repo))


def _refs(lake: Lake, typed: str) -> Iterator[str]:
    place, colon, path = typed.partition(":")
    if not colon:
        yield from _revisions(lake, typed)
        return
    folder, _, name = path.rpartition("/")
    hidden = name.startswith("_")
    for file in lake.ls(f"{place}:{folder}/", hashes=False, hidden=hidden):
        slash = "/" if file.type == "folder" and not file.path.endswith("/") else ""
        yield f"{place}:{file.path}{slash}"


def _pipeline_names(lake: Lake, typed: str, kind: str = "") -> Iterator[str]:
    for pipeline in lake.pipelines(all_projects="/" in typed):
        name = pipeline.name
        if kind in ("", pipeline.kind):
            yield str(name) if "/" not in typed else f"{name.project}/{name.repo}"


def _environment_names(lake: Lake, typed: str) -> Iterator[str]:
    return (one.name for one in lake.environments())


def _deleted_names(lake: Lake, typed: str) -> Iterator[str]:
    return (one.name for one in lake.deleted())


def _stream_names(lake: Lake, typed: str) -> Iterator[str]:
    return _pipeline_names(lake, typed, "stream")


def _ingest_names(lake: Lake, typed: str) -> Iterator[str]:
    return _pipeline_names(lake, typed, "ingest")


def _job_names(lake: Lake, typed: str) -> Iterator[str]:
    for job in lake.jobs(limit=MOST_OFFERED, all_projects="/" in typed):
        # A name first; an id alone only for who has begun to type one.
        yield f"{job.pipeline}@{job.short_id}"
        if typed:
            yield job.id


def rejoin_bash_words(environ: MutableMapping[str, str]) -> None:
    """Undo bash's splitting of `repo@branch:/path` into five words.

    Bash breaks words at "@" and ":" and completes the last piece only. So the pieces before
    are glued together; those of the word being typed are kept aside for `_offer`.
    """
    if not any(key.endswith("_COMPLETE") and v == "complete_bash" for key, v in environ.items()):
        return
    words = environ.get("COMP_WORDS", "").split("\n")
    index = int(environ.get("COMP_CWORD") or 0)
    words = [*words, *[""] * (index + 1 - len(words))][: index + 1]
    glued: list[str] = []
    for word in words:
        if len(glued) > 1 and (word in BREAKS or glued[-1].endswith(BREAKS)):
            glued[-1] += word
        else:
            glued.append(word)
    typed = "" if words[-1] in BREAKS else words[-1]
    environ[PREFIX_VARIABLE] = glued[-1].removesuffix(typed)
    environ["COMP_WORDS"] = "\n".join([*glued[:-1], typed])
    environ["COMP_CWORD"] = str(len(glued) - 1)
