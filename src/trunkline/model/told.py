"""What is told of jobs, as values: why one is there, and why it is as it is.

A value has a kind and the places that it speaks of; its sentence is made where it is shown. So
what a reader may not know is left out of the value (`as_seen`), and no text is searched for names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from trunkline.model.commits import DEFAULT_PROJECT, RepoName

WORD = "(hidden)"
HIDDEN_REPO = RepoName(DEFAULT_PROJECT, WORD)
Sees = Callable[[RepoName], bool]
"""Whether a reader may know of a repo."""


class Kind(StrEnum):
    NOTHING = "nothing"
    HIDDEN = "hidden"
    SAID = "said"
    """Free text: of the pipeline's own code, of Spark, of who stopped a job."""
    TEXT = "text"
    """A sentence of a lake made before there were kinds: nobody can tell whom it names."""

    # Why a job is there.
    COMMIT = "commit"
    MOVED = "moved"
    MOVED_BY_HAND = "moved by hand"
    MOVED_BY_SCHEDULE = "moved by schedule"
    REWOUND = "rewound"
    APPLIED = "applied"
    BACKFILL = "backfill"
    INTERVAL = "interval"
    MERGED = "merged"
    REPLAY = "replay"
    RERUN = "rerun"
    RESTARTED = "restarted"
    RESUMED = "resumed"
    RUN = "run"
    SCHEDULE = "schedule"
    SYNCED = "synced"
    TICK = "tick"

    # Why it is as it is.
    BACKFILL_CANCELLED = "backfill cancelled"
    CANCELLED = "cancelled"
    COMMIT_REMOVED = "commit removed"
    ENVIRONMENT_DELETED = "environment deleted"
    INPUT_FAILED = "input failed"
    INPUT_STOPPED = "input stopped"
    INPUT_UNRUNNABLE = "input unrunnable"
    PIPELINE_DELETED = "pipeline deleted"
    PIPELINE_PAUSED = "pipeline paused"
    REPLACED = "replaced"
    STREAM_RESTARTED = "stream restarted"
    STREAM_REWOUND = "stream rewound"
    TAKEN_OVER = "taken over"
    TIMED_OUT = "timed out"
    WAITS = "waits"
    WORKER_LOST = "worker lost"
    WORKER_STOPPED = "worker stopped"


_WORDS = {
    Kind.NOTHING: "",
    Kind.HIDDEN: WORD,
    Kind.SAID: "{text}",
    Kind.TEXT: "{text}",
    Kind.COMMIT: "{place} got {commit}",
    Kind.MOVED: "{place} moved",
    Kind.MOVED_BY_HAND: "{place} was moved to {commit}",
    Kind.MOVED_BY_SCHEDULE: "{place} moved by its schedule {what}",
    Kind.REWOUND: "{place} was rewound to {commit}",
    Kind.APPLIED: "applied",
    Kind.BACKFILL: "backfill",
    Kind.INTERVAL: "interval",
    Kind.MERGED: "environment {what} was merged",
    Kind.REPLAY: "replay of {what}",
    Kind.RERUN: "rerun of {what}",
    Kind.RESTARTED: "restarted",
    Kind.RESUMED: "resumed",
    Kind.RUN: "run by hand",
    Kind.SCHEDULE: "schedule {what}",
    Kind.SYNCED: "environment {what} was synced",
    Kind.TICK: "tick by hand",
    Kind.BACKFILL_CANCELLED: "its backfill was cancelled",
    Kind.CANCELLED: "cancelled by {who}",
    Kind.COMMIT_REMOVED: "its commit was removed",
    Kind.ENVIRONMENT_DELETED: "the environment {what} was deleted",
    Kind.INPUT_FAILED: "its input {place} failed",
    Kind.INPUT_STOPPED: "its input {place} was stopped",
    Kind.INPUT_UNRUNNABLE: "its input {place} is unrunnable",
    Kind.PIPELINE_DELETED: "its pipeline was deleted",
    Kind.PIPELINE_PAUSED: "its pipeline was paused",
    Kind.REPLACED: "version {what} was applied",
    Kind.STREAM_RESTARTED: "the stream was restarted",
    Kind.STREAM_REWOUND: "the stream was rewound",
    Kind.TAKEN_OVER: "taken over from {branch}: {commit}",
    Kind.TIMED_OUT: "timed out after {what}",
    Kind.WAITS: "waits for {places}",
    Kind.WORKER_LOST: "its worker was lost",
    Kind.WORKER_STOPPED: "its worker stopped",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A repo, or a branch of it, and the commit that is meant there."""

    repo: RepoName
    branch: str = ""
    commit: str = ""

    def __str__(self) -> str:
        return f"{self.repo}@{self.branch}" if self.branch else str(self.repo)


@dataclass(frozen=True, slots=True)
class Told:
    """`what` is a slot, a rule, a version and the like: nothing that anybody may not know."""

    kind: Kind = Kind.NOTHING
    places: tuple[Place, ...] = ()
    who: str = ""
    what: str = ""
    text: str = ""

    def __bool__(self) -> bool:
        return self.kind is not Kind.NOTHING

    def __str__(self) -> str:
        if self.kind is Kind.REPLAY and not self.what:
            return "replay"
        first = self.places[0] if self.places else None
        return _WORDS[self.kind].format(
            place=first,
            branch=first.branch if first else "",
            commit=first.commit[:12] if first and first.commit else "no commit",
            places=", ".join(map(str, self.places)),
            who=self.who,
            what=self.what,
            text=self.text,
        )

    def as_seen(self, sees: Sees, reads_all: bool) -> Told:
        """What a reader of the pipeline may know; `reads_all` if they may read all its inputs.

        What a pipeline's own code says is for those: it may quote what was read.
        """
        is_free = self.kind is Kind.SAID and not reads_all
        if is_free or self.kind is Kind.TEXT or not all(sees(one.repo) for one in self.places):
            return Told(Kind.HIDDEN)
        return self

    def to_text(self) -> str:
        """As the catalog keeps it: "" for nothing, else JSON that begins with the kind."""
        if not self:
            return ""
        places = [[p.repo.project, p.repo.repo, p.branch, p.commit] for p in self.places]
        rest = {"places": places, "who": self.who, "what": self.what, "text": self.text}
        kept = {name: value for name, value in rest.items() if value}
        return json.dumps({"kind": self.kind, **kept}, ensure_ascii=False)

    @staticmethod
    def from_text(text: str) -> Told:
        if not text:
            return NOTHING
        given = json.loads(text)
        places = tuple(
            Place(RepoName(project, repo), branch, commit)
            for project, repo, branch, commit in given.pop("places", ())
        )
        return Told(Kind(given.pop("kind")), places, **given)


NOTHING = Told()


def said(text: str) -> Told:
    """Free text as a value; no text is nothing."""
    return Told(Kind.SAID, text=text) if text else NOTHING


def of_place(kind: Kind, repo: RepoName, branch: str = "", commit: str = "") -> Told:
    return Told(kind, (Place(repo, branch, commit),))


def waits_for(repos: Iterable[RepoName]) -> Told:
    places = tuple(Place(one) for one in dict.fromkeys(repos))
    return Told(Kind.WAITS, places) if places else NOTHING


def put_in_words(job: object) -> None:
    """Make the sentences of a job of what is told of it: they cannot say anything else."""
    for name in ("reason", "cause"):
        object.__setattr__(job, name, str(getattr(job, f"told_{name}")))
