"""What an erasure must not leave behind in what jobs keep: bounds of columns, logs, messages.

A datum that read an erased file may have printed what was in it, or failed with words that quote
it; the datum that wrote one noted the bounds of its columns. Other datums, and other jobs, keep
theirs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import zstandard

from trunkline.lake.core import Core
from trunkline.lake.jobobjects import LOG, PART, part_lines, replace_results
from trunkline.lake.manifests import Lines, decompress
from trunkline.model.entries import Entry, objects_of
from trunkline.model.jobs import Job, JobInput, JobState
from trunkline.model.told import Kind, said
from trunkline.pipelines.datums_identity import CUT, SEPARATOR
from trunkline.pipelines.datums_lines import Pointer, ResultLine
from trunkline.storage.catalog import (
    Session,
    commits,
    deletions,
    flows,
    jobs,
    pipelines,
    repos,
)
from trunkline.storage.catalog.erasures import Place, place_of
from trunkline.storage.objects.keys import JOBS

Gone = Mapping[Place, Collection[tuple[int, str]]]
"""Where erased bytes were, and which file of which repo they made up."""
Doomed = set[Pointer]
"""Results, by their part and their number in it."""

MESSAGE = "(erased: it may have quoted a file that was erased)"
PRINTED = "what this datum printed was erased, with a file that it read or wrote"
_NOTE = "note"
_ATTEMPTS = 10
"""A pipeline may commit more often than its results can be read: then the next gc goes on."""


def redact_jobs(core: Core, gone: Gone) -> tuple[int, bool]:
    """Clean all that jobs keep. Of how many datums a log or a message was removed, and whether no
    job can take over any more what was erased: if others go on adding results, not yet.
    """
    readers = _Readers(core, gone)
    doomed: Doomed = set()
    cleaned = 0
    for folder, keys in _folders(core).items():
        one = _Folder(core, gone, readers.of(folder))
        for key in keys:
            if key.endswith(PART):
                doomed |= one.clean_results(key)
        for key in keys:
            if key.endswith(LOG) and one.touched:
                one.clean_log(key)
        one.clean_reason()
        cleaned += len(one.cleaned)
    return cleaned, not doomed or _stop_taking_over(core, doomed)


def _folders(core: Core) -> dict[str, list[str]]:
    """The objects of each job, by the folder that they are in."""
    found: dict[str, list[str]] = defaultdict(list)
    for info in core.objects.list(JOBS):
        found[info.key.rpartition("/")[0]].append(info.key)
    with core.database.read() as session:
        for repo, job_id in jobs.places_with_reason(session):
            found[f"{JOBS}{job_id}-{repo}"] += []
    return found


class _Reader:
    """A job, and the erased files that each of its inputs had."""

    def __init__(self, repo: int, job: Job, had: Mapping[str, Collection[str]]) -> None:
        self.repo = repo
        self.job = job
        self.had = had

    def has_read(self, datum: bytes) -> bool:
        """Whether a datum had one of them among its files, by its key."""
        if not self.had:
            return False
        if CUT in datum:
            return True  # nobody can tell
        pieces = datum.decode().split(SEPARATOR.decode())
        return any(
            path == match or (match.endswith("/") and path.startswith(match))
            for leaf, match in zip(pieces[::2], pieces[1::2], strict=True)
            for path in self.had.get(leaf.partition("@")[0], ())
        )


class _Readers:
    """Which erased files jobs have read."""

    def __init__(self, core: Core, gone: Gone) -> None:
        self._core = core
        self._gone = gone
        self._paths: dict[int, set[str]] = defaultdict(set)
        for files in gone.values():
            for repo, path in files:
                self._paths[repo].add(path)
        self._known: dict[tuple[int, str], list[str]] = {}

    def of(self, folder: str) -> _Reader | None:
        """None if the job is gone with its pipeline: its objects go with the next gc."""
        job_id, _, repo = folder.rpartition("/")[2].rpartition("-")
        with self._core.database.read() as session:
            job = jobs.find(session, int(repo), job_id)
            read = commits.source_places(session, int(repo), job_id)
            keys = [_keys(session, one, read) for one in job.inputs] if job else []
        if job is None:
            return None
        had: dict[str, set[str]] = defaultdict(set)
        for one, some in zip(job.inputs, keys, strict=True):
            for key in some:
                had[one.name].update(self._in(key, one.commit or ""))
        return _Reader(int(repo), job, {name: paths for name, paths in had.items() if paths})

    def _in(self, repo: int, commit_id: str) -> list[str]:
        """The erased files of a commit. Of one whose tree was thrown away: all of its repo."""
        place = repo, commit_id
        if place not in self._known:
            paths = self._paths.get(repo, set())
            with self._core.database.read() as session:
                commit = commits.find(session, repo, commit_id) if paths else None
            if commit is not None and commit.forgotten is None:
                tree = self._core.tree(commit)
                paths = {path for path in paths if self._is_gone(tree.find(path.encode()))}
            self._known[place] = sorted(paths)
        return self._known[place]

    def _is_gone(self, line: bytes | None) -> bool:
        return line is not None and place_of(Entry.decode(line)) in self._gone


def _keys(session: Session, one: JobInput, read: Collection[tuple[int, str]]) -> Collection[int]:
    """The repo of an input, whatever became of it: it may have another name now, or be deleted.

    Which it is says what the job's commit was made from. Where that commit is gone its name has to
    do; where several of a set were read, its name tells them apart.
    """
    if one.commit is None:
        return ()
    found = {key for key, commit_id in read if commit_id == one.commit}
    named = set(deletions.hidden(session, one.repo))
    if (living := repos.key_of(session, one.repo)) is not None:
        named.add(living)
    return found & named or found or named


class _Folder:
    """What one job keeps."""

    def __init__(self, core: Core, gone: Gone, reader: _Reader | None) -> None:
        self._core = core
        self._gone = gone
        self._objects = {key for key, _, _ in gone}
        self._reader = reader
        self._has_results = False
        self._failed = False
        self.touched: set[str] = set()
        """Datums that read or wrote what was erased."""
        self.cleaned: set[str] = set()

    def clean_results(self, part: str) -> Doomed:
        """Remove bounds and messages from a part; the results that nobody may take over."""
        doomed: Doomed = set()
        lines = part_lines(self._core, part)
        self._has_results = self._has_results or bool(lines)
        self._edit(part, lines, lambda found: self._without_words(part, found, doomed))
        return doomed

    def _without_words(self, part: str, lines: Lines, doomed: Doomed) -> Lines:
        cleaned = list(lines)
        for number, line in enumerate(lines):
            result = json.loads(line)
            outputs, error = result["outputs"], result["error"]
            wrote = self._clean_outputs(result)
            if wrote:
                doomed.add(Pointer(part, number))
            if wrote or self._has_read(result):
                self.touched.add(result["id"])
                self._clean_message(result)
            if (result["outputs"], result["error"]) != (outputs, error):
                cleaned[number] = json.dumps(result, separators=(",", ":")).encode()
        return cleaned

    def _has_read(self, result: dict[str, Any]) -> bool:
        return self._reader is not None and self._reader.has_read(result["key"].encode())

    def _clean_outputs(self, result: dict[str, Any]) -> bool:
        """Whether it wrote what was erased."""
        outputs = result["outputs"]
        if self._objects.isdisjoint(objects_of(map(str.encode, outputs))):
            return False
        entries = [Entry.decode(output.encode()) for output in outputs]
        held = {one for one in entries if place_of(one) in self._gone}
        plain = [one.without_bounds() if one in held else one for one in entries]
        result["outputs"] = [one.encode().decode() for one in plain]
        return bool(held)

    def _clean_message(self, result: dict[str, Any]) -> None:
        if result["error"]:
            self._failed = True
            if result["error"] != MESSAGE:
                result["error"] = MESSAGE
                self.cleaned.add(result["id"])

    def clean_log(self, log: str) -> None:
        """Have one note in place of all that such a datum printed there."""
        self._edit(log, part_lines(self._core, log), self._with_notes)

    def _with_notes(self, lines: Lines) -> Lines:
        kept: list[bytes] = []
        noted: set[str] = set()
        for line in lines:
            said = json.loads(line)
            datum = said["datum"]
            if datum not in self.touched:
                kept.append(line)
            elif datum not in noted:
                noted.add(datum)
                note = {"at": said["at"], "datum": datum, "stream": _NOTE, "text": PRINTED}
                kept.append(json.dumps(note, separators=(",", ":")).encode())
        if kept != lines:
            self.cleaned |= noted
        return kept

    def clean_reason(self) -> None:
        """The reason of a job quotes a datum that failed, or what Spark met in a table."""
        if self._reader is None or not self._reader.had:
            return
        job = self._reader.job
        is_free = job.told_reason.kind in (Kind.SAID, Kind.TEXT)
        if not is_free or job.reason == MESSAGE or job.state is JobState.KILLED:
            return
        if self._has_results and not self._failed:
            return
        with self._core.database.write() as session:
            jobs.replace_reason(session, self._reader.repo, job.id, job.told_reason, said(MESSAGE))
            flows.replace_reason(session, self._reader.repo, job.reason, MESSAGE)
            commits.replace_error(session, self._reader.repo, job.id, f"{job.state}: {MESSAGE}")

    def _edit(self, key: str, lines: Lines, clean: Callable[[Lines], Lines]) -> None:
        """Clean an object, if it needs it: as it is by then, others may be cleaning it too."""

        def cleaned(data: bytes) -> bytes:
            raw = b"".join(line + b"\n" for line in clean(decompress(data).splitlines()))
            return zstandard.ZstdCompressor().compress(raw)

        if clean(lines) != lines:
            with suppress(FileNotFoundError):
                self._core.objects.edit(key, cleaned)


def _stop_taking_over(core: Core, doomed: Doomed) -> bool:
    """No job takes an erased file over: its datum is computed again, should it come back."""
    for _ in range(_ATTEMPTS):
        done = True
        with core.database.read() as session:
            rows = pipelines.with_results(session)
        for row in rows:
            tree = core.manifests.read(row.results, row.results_hash)
            lines = map(ResultLine.decode, tree.scan(b""))
            old = {one.key for one in lines if one.pointer in doomed}
            if old and not replace_results(core, row, tree, old):
                done = False  # a job has added to them
        if done:
            return True
    return False
