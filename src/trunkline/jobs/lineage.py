"""Lineage: from a commit or file up to its sources, and down to all that was made from it.

Trails are followed breadth first, all places of one commit together: one look at the index of
a job serves them all. Then each is told as a tree, in which a place comes in full only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from trunkline.jobs.records import Fact, Links, Made, Place, Records
from trunkline.jobs.tracing import Found, by_id, inputs_of, outputs, touching, writers
from trunkline.lake.core import Core, resolve_commit
from trunkline.lake.files import stat
from trunkline.lake.manifests import Tree
from trunkline.lake.versions import code_repo
from trunkline.model.commits import Commit, RepoName
from trunkline.model.entries import line_owner, line_path
from trunkline.model.files import FileType
from trunkline.model.jobs import Job
from trunkline.model.lineage import Lineage, LineageNode
from trunkline.model.pipelines import Merge
from trunkline.model.refs import Ref
from trunkline.pipelines.datums import datum_id
from trunkline.pipelines.datums_lines import IndexLine

MOST_SHOWN = 20
MOST_PLACES = 1_000

Trail = dict[Place, Links]
Step = Callable[[Commit, Sequence[str]], Iterator[tuple[str, Links]]]


def lineage(core: Core, ref: Ref, limit: int = MOST_SHOWN) -> Lineage:
    """What a ref was made from and what was made from it; at most `limit` places each step."""
    with core.database.read() as session:
        _, commit = resolve_commit(session, ref)
    start = Place(commit.repo, commit.id)
    if ref.path is not None:
        info = stat(core.tree(commit), ref.path, f"{ref.repo}@{ref.ref}")
        slash = "/" if info.type is FileType.FOLDER and ref.path != "/" else ""
        start = start._replace(path=ref.path + slash)
    records = Records(core)
    up = _follow(records, start, _Origins(records, limit))
    down = _follow(records, start, _Uses(records, limit))
    above, below = _Telling(records, up, code=True), _Telling(records, down)
    return Lineage(above.root(start), above.below(start), below.below(start))


def _follow(records: Records, start: Place, step: Step) -> Trail:
    trail: Trail = {}
    known = {start}
    front = [start]
    while front:
        together: dict[tuple[RepoName, str], list[str]] = {}
        for place in front:
            together.setdefault((place.repo, place.commit), []).append(place.path)
        front = []
        for (repo, commit_id), paths in together.items():
            commit = records.commit(repo, commit_id)
            if commit is None:
                gone = Fact(note="no longer there")
                records.facts |= {Place(repo, commit_id, path): gone for path in paths}
                continue
            for path, links in step(commit, paths):
                fresh = [place for place in links.places if place not in known]
                if len(known) + len(fresh) > MOST_PLACES:
                    left = [place for place in links.places if place in known]
                    links = links._replace(places=tuple(left), more=links.more + len(fresh))
                    fresh = []
                known.update(fresh)
                front += fresh
                trail[Place(repo, commit_id, path)] = links
    return trail


class _Origins:
    """One step up: what commits, files and folders were made from."""

    def __init__(self, records: Records, limit: int) -> None:
        self._records = records
        self._limit = limit

    def __call__(self, commit: Commit, paths: Sequence[str]) -> Iterator[tuple[str, Links]]:
        if "" in paths:
            self._records.look_at_commit(commit)
            yield "", self._cut(self._read_by(commit))
        named = [path for path in paths if path]
        files, folders = self._records.look(commit, named, self._limit)
        yield from folders.items()
        together: dict[str, tuple[Job, dict[str, bytes]]] = {}
        for path, line in files.items():
            if job := self._records.maker(commit, line):
                together.setdefault(job.id, (job, {}))[1][path] = line
        for job, lines in together.values():
            yield from self._files(commit, job, lines)

    def _read_by(self, commit: Commit) -> list[Place]:
        job = self._records.job(commit.repo, commit.id)
        inputs = job.inputs if job else ()
        places = [Place(one.repo, one.commit) for one in inputs if one.commit]
        told = {one.repo for one in inputs}
        for source in self._records.sources(commit):
            if source.repo not in told:
                places.append(Place(source.repo, source.id))
        return list(dict.fromkeys(places))

    def _files(
        self, commit: Commit, job: Job, lines: Mapping[str, bytes]
    ) -> Iterator[tuple[str, Links]]:
        records = self._records
        owners = {path: line_owner(line).decode() for path, line in lines.items()}
        index = records.index(job)
        found = by_id(index, {owner for owner in owners.values() if owner})
        for path, owner in owners.items():
            place = Place(commit.repo, commit.id, path)
            datums = [found[owner]] if owner in found else []
            if not owner:
                datums = writers(records.core, index, path) or []
            if not datums:
                # Which datums it was made of cannot be told: all that the job read.
                records.made[place] = records.making(job.pipeline, job.id, datums=0)
                read = [Place(one.repo, one.commit) for one in job.inputs if one.commit]
                yield path, self._cut(list(dict.fromkeys(read)))
                continue
            one = datums[0]
            number = datum_id(one.key) if len(datums) == 1 else ""
            made_by = one.job if number else job.id
            records.made[place] = records.making(job.pipeline, made_by, number, len(datums))
            inputs = [p for line in datums[: self._limit] for p in inputs_of(records, job, line)]
            links = self._cut(list(dict.fromkeys(inputs)))
            yield path, links._replace(more=links.more + max(0, len(datums) - self._limit))

    def _cut(self, places: Sequence[Place]) -> Links:
        return Links(tuple(places[: self._limit]), max(0, len(places) - self._limit))


class _Uses:
    """One step down: what was made from commits, files and folders."""

    def __init__(self, records: Records, limit: int) -> None:
        self._records = records
        self._limit = limit

    def __call__(self, commit: Commit, paths: Sequence[str]) -> Iterator[tuple[str, Links]]:
        derived = self._records.derived(commit)
        shown, more = derived[: self._limit], len(derived[self._limit :])
        if "" in paths:
            self._records.look_at_commit(commit)
            yield "", Links(tuple(Place(one.repo, one.id) for one in shown), more)
        files, folders = self._records.look(commit, [path for path in paths if path], self._limit)
        yield from folders.items()
        made: dict[str, Links] = {path: Links(unread=more) for path in files}
        for one in shown if files else ():
            product = self._records.commit(one.repo, one.id)
            job = self._records.job(one.repo, one.id)
            if product is not None and job is not None and product.error is None:
                for path, places in self._products(commit, product, job, list(files)).items():
                    made[path] = self._joined(made[path], places)
        yield from made.items()

    def _joined(self, links: Links, places: Sequence[Place]) -> Links:
        room = self._limit - len(links.places)
        shown = (*links.places, *places[:room])
        return links._replace(places=shown, more=links.more + len(places[room:]))

    def _products(
        self, commit: Commit, product: Commit, job: Job, paths: Sequence[str]
    ) -> dict[str, list[Place]]:
        """For each path the files of a commit that were made from it."""
        tree = self._records.tree(product)
        read = [one for one in job.inputs if (one.repo, one.commit) == (commit.repo, commit.id)]
        if tree is None or not read:
            return {}
        found = touching(self._records, job, read, paths)
        version = self._records.version(job)
        made: dict[str, list[Place]] = {}
        if version is not None and version.spec.merge is Merge.CONCAT:
            owned = self._pieces(found)
        else:
            owned = _owned(tree, found)
        for path, owner in owned:
            place = Place(product.repo, product.id, path)
            line = IndexLine.decode(found[owner].line)
            if place not in self._records.made:
                making = self._records.making(job.pipeline, line.job, owner)
                self._records.made[place] = making
            for source in found[owner].paths:
                made.setdefault(source, []).append(place)
        return {source: list(dict.fromkeys(places)) for source, places in made.items()}

    def _pieces(self, found: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
        """Files that were put together of what several datums wrote have no owner."""
        for owner, one in list(found.items())[: self._limit]:
            for path in outputs(self._records.core, IndexLine.decode(one.line)):
                yield path, owner


class _Telling:
    """A trail as a tree. What was told in full once is only named again."""

    def __init__(self, records: Records, trail: Trail, code: bool = False) -> None:
        self._records = records
        self._trail = trail
        self._code = code
        self._told: set[Place | tuple[RepoName, int]] = set()

    def root(self, place: Place) -> LineageNode:
        return self._node(place, ())

    def below(self, place: Place) -> tuple[LineageNode, ...]:
        self._told.add(place)
        links = self._trail.get(place, Links())
        nodes = list(self._code_of(place))
        nodes += [self._full(one) for one in links.places]
        if links.more:
            text = f"and {links.more:,} more"
            nodes.append(LineageNode(text, "more", more=links.more))
        if links.unread:
            text = f"and {links.unread:,} earlier commits that read {_name(place)}"
            nodes.append(LineageNode(text, "more", more=links.unread))
        return tuple(nodes)

    def _full(self, place: Place) -> LineageNode:
        if place not in self._told:
            return self._node(place, self.below(place))
        return self._node(place, (), seen=True)

    def _code_of(self, place: Place) -> Iterator[LineageNode]:
        made = self._records.made.get(place)
        if not self._code or made is None or made.version is None:
            return
        if (made.pipeline, made.version) in self._told:
            return
        self._told.add((made.pipeline, made.version))
        repo = code_repo(made.pipeline)
        yield LineageNode(
            f"{repo}@v{made.version}",
            "code",
            repo=repo,
            commit=made.code,
            pipeline=made.pipeline,
            version=made.version,
        )

    def _node(
        self, place: Place, below: tuple[LineageNode, ...], seen: bool = False
    ) -> LineageNode:
        fact = self._records.facts.get(place, Fact())
        made = self._records.made.get(place)
        goes_on = any(self._trail.get(place, Links()))
        is_folder = place.path.endswith("/")
        kind = "folder" if is_folder else "file" if place.path else "commit"
        return LineageNode(
            f"{_name(place)}:{place.path}" if place.path else _name(place),
            kind,
            "shown above" if seen and goes_on else _detail(place, fact, made),
            below,
            repo=place.repo,
            commit=place.commit,
            path=(place.path.rstrip("/") or "/") if place.path else None,
            size=fact.size,
            files=fact.files,
            pipeline=made.pipeline if made else None,
            version=made.version if made else None,
            code=f"{code_repo(made.pipeline)}@v{made.version}" if made and made.version else None,
            job=made.job if made else None,
            datum=(made.datum or None) if made else None,
            seen=seen,
        )


def _detail(place: Place, fact: Fact, made: Made | None) -> str:
    parts = []
    if fact.files is not None:
        parts.append(f"{fact.files:,} file{'s' * (fact.files != 1)}")
    if fact.size is not None:
        parts.append(f"{fact.size:,} byte{'s' * (fact.size != 1)}")
    if made is not None:
        parts.append(f"by {made.pipeline} v{made.version}" if made.version else f"by {made.job}")
        if place.path and made.datum:
            parts.append(f"datum {made.datum[:12]}")
        if place.path and made.datums != 1:
            many = f"{made.datums:,}" if made.datums else "several"
            parts.append(f"put together from {many} datums")
        if made.job != place.commit:
            parts.append(f"kept from job {made.job[:12]}")
    return ", ".join([*parts, fact.note] if fact.note else parts)


def _owned(tree: Tree, found: Mapping[str, Found]) -> Iterator[tuple[str, str]]:
    """The files that the datums found own."""
    wanted = {owner.encode() for owner in found}
    for lines in tree.chunks() if wanted else ():
        for line in lines:
            owner = line_owner(line)
            if owner in wanted:
                yield line_path(line).decode(), owner.decode()


def _name(place: Place) -> str:
    return f"{place.repo}@{place.commit[:12]}"
