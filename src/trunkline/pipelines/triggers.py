"""Triggers: when a branch B moves to the head of the branch A that it follows.

`size`, `commits` and `rate_limit` are looked at when a commit finishes on A (`fires`). `cron` is
looked at by the clock (`due`) and moves B whatever was committed; it takes no part in `fires`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trunkline.errors import Usage
from trunkline.model.inputs import Trigger
from trunkline.model.suggest import shown
from trunkline.pipelines.cron import Never, due_slots, in_words, parse_cron, slot_name

_HINT = "A trigger has size, commits, rate_limit or cron: such as size: 1GB, commits: 10."


@dataclass(frozen=True, slots=True)
class Facts:
    """What happened on A since B's head; since the beginning, if B has none.

    `commits` is how many of A's commits B lacks: at zero nothing fires. `since` is when B's head
    was made; without one, when B began to follow.
    """

    growth: int
    commits: int
    since: int
    now: int


def check_trigger(trigger: Trigger, branch: str, others: Mapping[str, Trigger]) -> None:
    """Refuse a trigger that cannot be meant. `others`: the repo's triggers, by their branch.

    Whether `branch` is some pipeline's output is for the caller to know and to refuse.
    """
    if not trigger.branch:
        raise Usage(
            f"The trigger of branch {shown(branch)} does not say which branch it follows.",
            hint="Such as branch: staging.",
        )
    for name, number in (("size", trigger.size), ("commits", trigger.commits)):
        if number is not None and number < 1:
            raise Usage(
                f"The trigger of branch {shown(branch)} has {name}: {number}, "
                "which must be at least 1.",
                hint=_HINT,
            )
    clocks = [text for text in (trigger.rate_limit, trigger.cron) if text is not None]
    for text in clocks:
        if isinstance(parse_cron(text, trigger.timezone), Never):
            raise Usage(
                f"The trigger of branch {shown(branch)} would never fire: {text}.",
                hint="Leave the trigger out, and move the branch by hand.",
            )
    if trigger.size is None and trigger.commits is None and not clocks:
        raise Usage(f"The trigger of branch {shown(branch)} has no condition.", hint=_HINT)
    if trigger.all and trigger.cron is not None and _conditions(trigger):
        raise Usage(
            f"The trigger of branch {shown(branch)} has all: true and a cron, "
            "which fires whatever was committed.",
            hint="Use rate_limit for commits at most so often, or leave all: true out.",
        )
    order({**others, branch: trigger})


def order(triggers: Mapping[str, Trigger]) -> list[str]:
    """The branches of one repo with a trigger, each after the one it follows. Refuses loops."""
    return sorted(triggers, key=lambda branch: (len(_path(branch, triggers)), branch))


def _path(branch: str, triggers: Mapping[str, Trigger]) -> list[str]:
    """The branch, the one it follows, and so on."""
    path = [branch]
    while path[-1] in triggers:
        followed = triggers[path[-1]].branch
        if followed in path:
            loop = path[path.index(followed) :]
            if len(loop) == 1:
                raise Usage(
                    f"Branch {shown(followed)} cannot have a trigger on itself.",
                    hint="Commit to another branch, such as staging, and follow that.",
                )
            around = " → ".join([followed, *reversed(loop)])
            raise Usage(
                f"The triggers go round in a loop: {around}.",
                hint="A branch may not follow one that follows it.",
            )
        path.append(followed)
    return path


def fires(trigger: Trigger, facts: Facts) -> tuple[bool, str]:
    """Whether B moves, now that a commit finished on A; and why, or why not, in words."""
    if facts.commits < 1:
        return False, f"nothing new on {trigger.branch}"
    conditions = _conditions(trigger)
    if not conditions:
        return False, f"moves {in_words(trigger.cron or '@never', trigger.timezone)}"
    answers = [_answer(name, trigger, facts) for name in conditions]
    met = [words for is_met, words in answers if is_met]
    unmet = [words for is_met, words in answers if not is_met]
    fired = not unmet if trigger.all else bool(met)
    return fired, "fired: " + "; ".join(met) if fired else "waits: " + "; ".join(unmet)


def due(trigger: Trigger, last: int | None, start: int, now: int) -> int | None:
    """The slot of `cron` at which B is to move to A's head; of several missed, the newest.

    `last` is the newest slot acted on, `start` when the trigger was made.
    """
    if trigger.cron is None:
        return None
    found = due_slots(parse_cron(trigger.cron, trigger.timezone), last, start, now, "latest")
    return found[-1] if found else None


def _conditions(trigger: Trigger) -> list[str]:
    """The conditions on what was committed."""
    return [
        name for name in ("size", "commits", "rate_limit") if getattr(trigger, name) is not None
    ]


def _answer(name: str, trigger: Trigger, facts: Facts) -> tuple[bool, str]:
    if name == "size":
        limit = trigger.size or 0
        change = size_words(abs(facts.growth), limit)
        words = f"{change} new" if facts.growth >= 0 else f"shrank by {change}"
        return facts.growth >= limit, f"{words}, needs {size_words(limit, limit)}"
    if name == "commits":
        limit = trigger.commits or 0
        noun = "commit" if facts.commits == 1 else "commits"
        return facts.commits >= limit, f"{facts.commits:,} new {noun}, needs {limit:,}"
    # An interval counts from B's head: an hour means an hour, not until the next full one.
    slots = parse_cron(trigger.rate_limit or "", trigger.timezone, facts.since)
    allowed = slots.after(facts.since)
    if allowed is None:
        return False, "not allowed at any time"
    return allowed <= facts.now, (
        f"allowed since {slot_name(allowed)}"
        if allowed <= facts.now
        else f"not before {slot_name(allowed)}"
    )


def size_words(size: int, like: int) -> str:
    """`1.2 GB`, or `1.1 GiB` if `like` is round in those. Cut, not rounded: 999.9 is not 1000."""
    binary = like % 1000 != 0 and like % 1024 == 0
    base, middle = (1024, "i") if binary else (1000, "")
    power = 0
    while power < 5 and size >= base ** (power + 1):
        power += 1
    if not power:
        return f"{size} B"
    tenths = size * 10 // base**power
    letter = ("k", "K")[binary] if power == 1 else " kMGTP"[power]
    return f"{tenths / 10:g} {letter}{middle}B" if tenths < 100_000 else f"{size:,} B"
