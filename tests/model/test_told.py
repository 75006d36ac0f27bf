"""What is told of jobs: values that are kept as text, read back, shown, and left out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trunkline.model.commits import RepoName
from trunkline.model.jobs import Job, JobState
from trunkline.model.told import NOTHING, WORD, Kind, Place, Told, of_place, said, waits_for

FAR, NEAR = RepoName("shop", "far"), RepoName("default", "near")


def some(kind: Kind) -> Told:
    places = (Place(FAR, "main", "0123456789abcdef"), Place(NEAR))
    return Told(kind, places, who="ada", what="{text}", text='{place} "\\n\0')


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.NOTHING])
def test_every_kind_has_words_and_comes_back_from_text(kind: Kind):
    assert str(some(kind))
    assert Told.from_text(some(kind).to_text()) == some(kind)
    assert some(kind).to_text().startswith(Told(kind).to_text()[:-1])


def test_nothing_is_no_text():
    assert (NOTHING.to_text(), str(NOTHING), bool(NOTHING)) == ("", "", False)
    assert Told.from_text("") == said("") == waits_for([]) == NOTHING


def test_the_sentences():
    told = of_place(Kind.COMMIT, FAR, "main", "0123456789abcdef")
    assert str(told) == "shop/far@main got 0123456789ab"
    assert str(of_place(Kind.MOVED_BY_HAND, NEAR, "a")) == "near@a was moved to no commit"
    assert str(waits_for([NEAR, FAR, NEAR])) == "waits for near, shop/far"
    assert str(said("{place} {0} {")) == "{place} {0} {"
    assert [str(Told(Kind.REPLAY, what=rule)) for rule in ("", "r")] == ["replay", "replay of r"]


def test_what_speaks_of_a_hidden_place_is_hidden():
    def sees(repo: RepoName) -> bool:
        return repo == NEAR

    assert of_place(Kind.INPUT_FAILED, NEAR).as_seen(sees, False).kind is Kind.INPUT_FAILED
    assert waits_for([NEAR, FAR]).as_seen(sees, True) == Told(Kind.HIDDEN)
    assert Told(Kind.RUN).as_seen(sees, False) == Told(Kind.RUN)
    assert said("far is bad").as_seen(sees, True) == said("far is bad")
    assert said("far is bad").as_seen(sees, False) == Told(Kind.HIDDEN)
    assert Told(Kind.TEXT, text="far").as_seen(sees, True) == Told(Kind.HIDDEN)
    assert NOTHING.as_seen(sees, False) == NOTHING


def test_a_job_says_what_its_values_say():
    job = Job("01", NEAR, 1, "main", JobState.KILLED, Told(Kind.CANCELLED, who="ada"), NOTHING, 1)
    assert (job.reason, job.is_failure) == ("cancelled by ada", False)
    seen = replace(job, told_reason=Told(Kind.HIDDEN))
    assert seen.reason == WORD
    assert replace(job, told_reason=Told(Kind.TIMED_OUT, what="3 s")).is_failure
