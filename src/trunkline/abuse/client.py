"""One client: what it draws by lot, what it knows to be there, and what it does when cut off."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from trunkline import sdk
from trunkline.abuse.memory import Changes, Memory, Parts, Tree, changed, hashes, told
from trunkline.errors import Conflict, InUse, TrunklineError, Unavailable

if TYPE_CHECKING:
    from trunkline.sdk import Lake

T = TypeVar("T")
Act = Callable[["Client", Random], None]

PATIENCE = 180.0
"""Who is not answered for so long is locked out."""
_PAUSE = 0.2
SHARED = "default/shared@main"


class Tally:
    """Figures of all clients and faults."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.acts: Counter[str] = Counter()
        self.kills: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.cut_off = 0
        self.longest_wait = (0.0, "")
        self.wrong: list[str] = []
        self.not_made: list[str] = []
        self.pressed: set[str] = set()
        """Who has waited for so long that nothing more goes wrong until they are answered."""

    def count(self, kind: Counter[str], name: str) -> None:
        with self._lock:
            kind[name] += 1

    def cut(self) -> None:
        with self._lock:
            self.cut_off += 1

    def waited(self, seconds: float, act: str) -> None:
        with self._lock:
            self.longest_wait = max(self.longest_wait, (seconds, act))

    def blame(self, text: str) -> None:
        with self._lock:
            self.wrong.append(text)

    def excuse(self, text: str) -> None:
        """A fault that could not be made: no fault of the lake."""
        with self._lock:
            if text not in self.not_made:
                self.not_made.append(text)


@dataclass
class Common:
    """What all clients share: who changes code has the lock, and says which version it is now."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    versions: dict[str, int] = field(default_factory=dict)


class Astray(Exception):
    """What the client found is not what it was told: it cannot go on."""


class Refused(Exception):
    """Not now, and nothing has changed: others have what it takes."""


class Client(threading.Thread):
    """`trees` is what its own branches must hold; nobody else writes there."""

    def __init__(
        self,
        number: int,
        seed: int,
        acts: Mapping[Act, float],
        urls: list[str],
        folder: Path,
        memory: Memory,
        tally: Tally,
        over: threading.Event,
        common: Common,
        most: float = inf,
    ) -> None:
        super().__init__(name=f"client-{number}", daemon=True)
        self.number = number
        self.folder = folder
        """Where all that is beside the lake lies; the lake's own folder is the one above."""
        self.memory = memory
        self.over = over
        self.common = common
        self.project = f"client-{number}"
        self.trees: dict[str, Tree] = {}
        self.undo: dict[str, tuple[str, Changes]] = {}
        """Of branches whose head is one commit of files: which, and what was there before."""
        self.plain: list[str] = []
        """Commits of files on our main."""
        self.needed: set[str] = set()
        """Commits that a tag, a branch or a merge builds on."""
        self.picks: dict[str, tuple[str, str, Parts | None]] = {}
        """By branch, what it began with: a commit, its path, and what was there before."""
        self.kept: dict[str, Any] = {}
        """What acts remember for later ones of theirs."""
        self._seed = seed
        self._acts = acts
        self._urls = urls
        self._tally = tally
        self._most = most
        self.doing = "open"
        self._turn = 0
        self._cut = False
        self._lakes: list[Lake] = []
        self.act = 0

    def run(self) -> None:
        try:
            self._work()
        except Exception as error:
            said = str(error) if isinstance(error, Astray) else f"{type(error).__name__}: {error}"
            self._tally.blame(f"{self.name}, act {self.act}, {self.doing}: {said}")
            self.memory.note("astray", project=self.project)

    def _work(self) -> None:
        with ExitStack() as stack:
            lakes = [
                stack.enter_context(sdk.open(url, self.project, author=self.name))
                for url in self._urls[self.number % len(self._urls) :]
                + self._urls[: self.number % len(self._urls)]
            ]
            self._lakes = lakes
            names, weights = list(self._acts), list(self._acts.values())
            while not self.over.is_set() and self.act < self._most:
                self.act += 1
                self._turn += 1
                self._cut = False
                # Its own draw, so that what came before decides nothing about it.
                draw = Random(f"{self._seed}/{self.number}/{self.act}")
                (chosen,) = draw.choices(names, weights)
                self.doing = chosen.__name__
                with suppress(Refused):
                    chosen(self, draw)
                    self._tally.count(self._tally.acts, self.doing)

    # -- asking ----------------------------------------------------------------------------

    def ask(self, what: Callable[[Lake], T]) -> T:
        """Ask one server after the other until one answers. Only for what may be done twice."""
        return self._insist(lambda: self._of_one(what))

    def change(self, ref: str, changes: Changes, call: Callable[[Lake], str], **also: Any) -> str:
        """Change a branch that is ours alone; the commit. All of it happens, or nothing.

        `call` gives the commit's id. If it was cut off, what is there tells whether it was done.
        """
        before = self.trees[ref]
        after = changed(before, changes)

        def attempt() -> str:
            try:
                return self._of_one(call)
            except Unavailable:
                done = self.ask(lambda lake: self._settled(lake, ref, before, after))
                if not done:
                    raise
                return done

        commit = self._insist(attempt)
        self.memory.note(
            "change", client=self.number, ref=self.whole(ref), commit=commit, files=told(changes),
            **also,
        )  # fmt: skip
        self.trees[ref] = after
        self.undo.pop(ref, None)
        return commit

    def once(self, call: Callable[[Lake], T], done: Callable[[Lake], T | None]) -> T:
        """Change something else; `done` finds what came of it if no answer came."""

        def attempt() -> T:
            try:
                return self._of_one(call)
            except Unavailable:
                found = self.ask(done)
                if found is None:
                    raise
                return found

        return self._insist(attempt)

    def whole(self, ref: str) -> str:
        return f"{self.project}/{ref}"

    def ask_home(self, what: Callable[[Lake], T]) -> T:
        """Ask the lake in its folder, as whoever works on its machine does."""

        def ask() -> T:
            place = self.folder.parent
            with sdk.open(place, self.project, author=self.name, direct=True) as lake:
                return what(lake)

        return self._insist(ask)

    def _of_one(self, what: Callable[[Lake], T]) -> T:
        """Of the server whose turn it is. Who is cut off turns to the next."""
        try:
            return what(self._lakes[self._turn % len(self._lakes)])
        except Unavailable:
            self._turn += 1
            if not self._cut:
                self._cut = True
                self._tally.cut()
            raise

    def _insist(self, what: Callable[[], T]) -> T:
        try:
            return self._asked_again(what)
        finally:
            self._tally.pressed.discard(self.name)

    def _asked_again(self, what: Callable[[], T]) -> T:
        began = time.monotonic()
        while True:
            try:
                found = what()
            except InUse as error:
                raise Refused from error
            except (Unavailable, Conflict) as error:
                waited = time.monotonic() - began
                if waited > PATIENCE / 3:
                    self._tally.pressed.add(self.name)
                if isinstance(error, Conflict) and not _may_pass(error):
                    raise
                if waited > PATIENCE:
                    raise Astray(f"locked out for {waited:.0f} s: {error}") from None
                time.sleep(_PAUSE)
            else:
                self._tally.waited(time.monotonic() - began, self.doing)
                return found

    def _settled(self, lake: Lake, ref: str, before: Tree, after: Tree) -> str:
        """The commit that has come about after all; "" if none has."""
        head = next(iter(lake.commits(ref, limit=1)), None)
        found = listing(lake, f"{ref.partition('@')[0]}@{head.id}") if head is not None else {}
        if head is not None and found == hashes(after):
            return head.id
        if found == hashes(before):
            return ""
        raise Astray(f"{self.whole(ref)} holds neither what was before nor after: {_said(found)}")


def listing(lake: Lake, ref: str) -> dict[str, str]:
    """Path to hash of every file of a commit or branch."""
    return {info.path: info.hash for info in lake.ls(ref, recursive=True)}


def _said(found: dict[str, str]) -> str:
    return ", ".join(sorted(found)[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def _may_pass(error: TrunklineError) -> bool:
    """A branch that keeps moving: others write to it too."""
    return error.code in ("branch_moved", "conflict")
