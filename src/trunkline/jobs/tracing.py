"""Finding datums in the index of a job: by id, or by what they read.

An index may have a million lines, so these look at lines, not at datums. The key of a line
tells what the datum read, unless it was cut: then the datums of the job are worked out again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from trunkline.engine.runner.task import DatumResult, read_lines
from trunkline.jobs.records import Place, Records
from trunkline.lake.core import Core
from trunkline.lake.manifests import EMPTY, Tree
from trunkline.model.entries import line_path
from trunkline.model.inputs import leaves
from trunkline.model.jobs import Job, JobInput
from trunkline.pipelines.datums import datum_id, datums, leaf_text
from trunkline.pipelines.datums_identity import CUT, SEPARATOR
from trunkline.pipelines.datums_lines import IndexLine, index_part, line_key

Matched = list[tuple[bytes, bytes]]
"""What a datum read: the leaf and the path in it, as keys have them."""

MOST_PARTS = 64


class Found(NamedTuple):
    """A datum that did its work, and which of the wanted paths it read."""

    line: bytes
    paths: set[str]


def by_id(index: Tree, ids: Collection[str]) -> dict[str, IndexLine]:
    """The lines of the datums with these ids."""
    found: dict[str, IndexLine] = {}
    wanted = set(ids)
    for lines in index.chunks(b"") if wanted else ():
        for line in lines:
            if (number := datum_id(line_key(line))) in wanted:
                found[number] = IndexLine.decode(line)
                wanted.discard(number)
        if not wanted:
            break
    return found


def inputs_of(records: Records, job: Job, line: IndexLine) -> list[Place]:
    """The files and folders that a datum read, in the commits that the job read."""
    commits = {_leaf_name(one): one for one in job.inputs}
    if line.job != job.id:
        commits |= _references(records, job, line.job)
    places = []
    for leaf, path in _matched(records, job, line.key):
        one = commits.get(leaf)
        if one is not None and one.commit is not None:
            places.append(Place(one.repo, one.commit, path.decode()))
    return list(dict.fromkeys(places))


def touching(
    records: Records, job: Job, read: Iterable[JobInput], paths: Collection[str]
) -> dict[str, Found]:
    """By id, the datums that read one of the files through one of the inputs."""
    heads = {_leaf_name(one): one.commit for one in read}
    by_text = _texts(paths)
    wanted = by_text.keys()
    index = records.index(job)
    found: dict[str, Found] = {}
    cut = False
    references: dict[str, dict[bytes, JobInput]] = {job.id: {}}

    def note(line: bytes, matched: Iterable[tuple[bytes, bytes]]) -> None:
        one = IndexLine.decode(line)
        if one.job not in references:
            references[one.job] = _references(records, job, one.job)
        older = references[one.job]
        hits: set[str] = set()
        for head, text in matched:
            if head in heads and (head not in older or older[head].commit == heads[head]):
                hits.update(by_text.get(text, ()))
        if hits and one.is_good:
            found[datum_id(one.key)] = Found(line, hits)

    for lines in index.chunks(b""):
        for line in lines:
            fields = line_key(line).split(SEPARATOR)
            if CUT in fields[-1]:
                cut = True
            elif not wanted.isdisjoint(fields):
                note(line, zip(fields[::2], fields[1::2], strict=True))
    if cut:
        for key, matched in _worked_out(records, job):
            if CUT in key and (kept := index.find(key)):
                note(kept, matched)
    return found


def outputs(core: Core, line: IndexLine) -> list[str]:
    """The paths that a datum wrote."""
    text = read_lines(core.objects.get(line.part))[line.number]
    return [line_path(one.encode()).decode() for one in DatumResult.decode(text).outputs]


def writers(core: Core, index: Tree, path: str) -> list[IndexLine] | None:
    """Every datum that wrote a path, in their order; None if that takes too much reading."""
    parts: dict[bytes, list[bytes]] = {}
    for lines in index.chunks(b""):
        for line in lines:
            parts.setdefault(index_part(line), []).append(line)
        if len(parts) > MOST_PARTS:
            return None
    found = []
    for part, lines in parts.items():
        texts = read_lines(core.objects.get(part.decode()))
        for one in map(IndexLine.decode, lines):
            wrote = DatumResult.decode(texts[one.number]).outputs
            if one.is_good and any(o.startswith(path + "\t") for o in wrote):
                found.append(one)
    return sorted(found)


def _texts(paths: Collection[str]) -> dict[bytes, list[str]]:
    """Every match that holds one of the files: itself, and the folders above it."""
    found: dict[bytes, list[str]] = {}
    for path in paths:
        text = path.encode()
        above = [text[: place + 1] for place, byte in enumerate(text) if byte == ord("/")]
        for one in (text, *above):
            found.setdefault(one, []).append(path)
    return found


def _matched(records: Records, job: Job, key: bytes) -> Matched:
    if CUT not in key:
        fields = key.split(SEPARATOR)
        return list(zip(fields[::2], fields[1::2], strict=True))
    return next((matched for other, matched in _worked_out(records, job) if other == key), [])


def _worked_out(records: Records, job: Job) -> Iterator[tuple[bytes, Matched]]:
    """The datums of a job from what it read, as far as that is still there."""
    version = records.version(job)
    trees: list[Tree] = []
    for one in job.inputs:
        commit = records.commit(one.repo, one.commit) if one.commit else None
        tree = records.tree(commit) if commit else EMPTY if one.commit is None else None
        if tree is not None:
            trees.append(tree)
    if version is None or len(trees) != len(job.inputs):
        return
    names = [leaf_text(leaf) for leaf in leaves(version.spec.input)]
    for datum in datums(version.spec.input, trees):
        yield datum.key, [(names[match.leaf], match.path) for match in datum.matches]


def _references(records: Records, job: Job, earlier_id: str) -> dict[bytes, JobInput]:
    """What only the job that computed a datum read: a `reference` may have changed since."""
    version, earlier = records.version(job), records.job(job.pipeline, earlier_id)
    if version is None or earlier is None:
        return {}
    names = {leaf_text(leaf) for leaf in leaves(version.spec.input) if leaf.reference}
    return {
        name: one
        for one in earlier.inputs
        if (name := _leaf_name(one)) in names
        and one.commit
        and records.commit(one.repo, one.commit)
    }


def _leaf_name(one: JobInput) -> bytes:
    return f"{one.name}@{one.repo.project}/{one.repo.repo}@{one.branch}".encode()
