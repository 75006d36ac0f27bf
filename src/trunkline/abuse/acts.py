"""What clients do to files and history. Each knows what the lake must hold afterwards."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from trunkline.abuse.client import SHARED, Act, Astray, Client, Refused
from trunkline.abuse.memory import MARK, Changes, Parts, changed, data_of, hashes, told
from trunkline.errors import AlreadyExists, NotFound

if TYPE_CHECKING:
    from trunkline.sdk import Lake

OWN, SIDE = "own@main", "own@side"
_FOLDERS = {OWN: "/m", SIDE: "/s"}
"""Each branch writes to a folder of its own, so that merging them never is a conflict."""


def prepare(client: Client, lake: Lake) -> None:
    """Repos and branches of one client."""
    lake.create_project(client.project)
    for repo in ("own", "secret"):
        lake.create_repo(client.whole(repo))
    with lake.commit(client.whole(OWN), "First") as commit:
        commit.put("/first", data_of(_first(client)))
    lake.create_branch(client.whole(SIDE), "main")
    for ref in (OWN, SIDE):
        client.trees[ref] = {"/first": _first(client)}
        client.memory.note(
            "change", client=client.number, ref=client.whole(ref), commit=commit.result.id,
            files=told(client.trees[ref]),
        )  # fmt: skip
    client.trees["secret@main"] = {}


def _first(client: Client) -> Parts:
    return ((f"first of {client.number}", 100),)


def put(client: Client, draw: Random) -> None:
    """A few files, some anew, some over others, some large."""
    ref = draw.choice((OWN, SIDE))
    files = {f"{_FOLDERS[ref]}/{draw.randrange(40):02}": _some(client, draw, path)
             for path in range(draw.randint(1, 5))}  # fmt: skip
    _commit(client, ref, files)


def append(client: Client, draw: Random) -> None:
    """More at the end of a file: twice would show."""
    ref = draw.choice((OWN, SIDE))
    path = f"{_FOLDERS[ref]}/log"
    more = ((f"{client.number}/{client.act}", draw.randint(1, 2000)),)
    files = {path: client.trees[ref].get(path, ()) + more}

    def call(lake: Lake) -> str:
        with lake.commit(ref) as commit:
            commit.put(path, data_of(more), append=True)
        return commit.result.id

    client.change(ref, files, call)


def rm(client: Client, draw: Random) -> None:
    ref = draw.choice((OWN, SIDE))
    path = _any_path(client, draw, ref)
    client.change(ref, {path: None}, lambda lake: lake.rm(f"{ref}:{path}").id)


def cp(client: Client, draw: Random) -> None:
    path = _any_path(client, draw, SIDE)
    target = f"/m/copy{draw.randrange(5)}"
    parts = client.trees[SIDE][path]
    client.change(
        OWN, {target: parts}, lambda lake: lake.cp(f"{SIDE}:{path}", f"{OWN}:{target}").id
    )


def read(client: Client, draw: Random) -> None:
    """A file, all of it: what was acknowledged is there at once, by every server."""
    ref = draw.choice((OWN, SIDE))
    path = _any_path(client, draw, ref)
    found = client.ask(lambda lake: lake.read(f"{ref}:{path}"))
    if found != data_of(client.trees[ref][path]):
        raise Astray(f"{client.whole(ref)}:{path} has other bytes than were put")


def merge(client: Client, draw: Random) -> None:
    side, main = client.trees[SIDE], client.trees[OWN]
    paths = {path for path in (*side, *main) if path.startswith("/s/")}
    changes = {path: side.get(path) for path in paths if side.get(path) != main.get(path)}
    if not changes:
        raise Refused

    def call(lake: Lake) -> str:
        made = lake.merge(SIDE, OWN).commit
        if made is None:
            raise Astray(f"merging {SIDE} made no commit, though {sorted(changes)[0]} differs")
        return made.id

    client.change(OWN, changes, call)
    if SIDE in client.undo:
        client.needed.add(client.undo[SIDE][0])


def cherry_pick(client: Client, draw: Random) -> None:
    """What a branch began with, on main, where nothing is in its way."""
    if not client.picks:
        raise Refused
    name = draw.choice(sorted(client.picks))
    commit, path, before = client.picks[name]
    parts, here = client.trees[name][path], client.trees[OWN].get(path)
    if here != before or here == parts:
        raise Refused
    client.change(
        OWN, {path: parts}, lambda lake: lake.cherry_pick(f"own@{commit}", OWN).id
    )  # fmt: skip


def squash(client: Client, draw: Random) -> None:
    """A commit of main goes, and the one after it keeps its data."""
    head = client.ask(lambda lake: lake.commit_info(OWN).id)
    plain = [one for one in client.plain if one != head and one not in client.needed]
    if not plain:
        raise Refused
    commit = draw.choice(plain)
    client.once(
        lambda lake: lake.squash(f"own@{commit}"), lambda lake: _is_removed(lake, commit)
    )  # fmt: skip
    client.plain.remove(commit)
    client.undo.pop(OWN, None)  # it may undo both now
    client.memory.note("removed", ref=client.whole(OWN), commit=commit)


def drop(client: Client, draw: Random) -> None:
    """A head goes with its data."""
    ref = draw.choice((OWN, SIDE))
    commit, back = client.undo.get(ref, ("", {}))
    if not commit or commit in client.needed:
        raise Refused
    client.once(
        lambda lake: bool(lake.drop(f"own@{commit}")), lambda lake: _is_removed(lake, commit)
    )  # fmt: skip
    del client.undo[ref]
    if commit in client.plain:
        client.plain.remove(commit)
    client.trees[ref] = changed(client.trees[ref], back)
    client.memory.note("removed", ref=client.whole(ref), commit=commit, files=told(back))


def _is_removed(lake: Lake, commit: str) -> bool | None:
    try:
        lake.commit_info(f"own@{commit}")
    except NotFound:
        return True
    return None


def revert(client: Client, draw: Random) -> None:
    ref = draw.choice((OWN, SIDE))
    if ref not in client.undo:
        raise Refused
    commit, back = client.undo[ref]
    name, branch = ref.split("@")
    client.change(ref, back, lambda lake: lake.revert(f"{name}@{commit}", f"{name}@{branch}").id)


def branch(client: Client, draw: Random) -> None:
    """A branch from where ours is, with a commit of its own; then it stays, or goes."""
    number = draw.randrange(3)
    name = f"own@b{number}"
    start = draw.choice((OWN, SIDE))
    if name in client.trees:
        client.once(lambda lake: lake.delete_branch(name), lambda lake: _is_gone(lake, name))
        client.memory.note("gone", ref=client.whole(name))
        del client.trees[name], client.picks[name]
        return
    head = client.ask(lambda lake: lake.commit_info(start).id)

    def create(lake: Lake) -> str:
        with suppress(AlreadyExists):  # by the request that was cut off
            lake.create_branch(name, head)
        return head

    client.ask(create)
    client.needed.add(head)
    client.trees[name] = dict(client.trees[start])
    client.memory.note(
        "change", client=client.number, ref=client.whole(name), commit=head,
        files=told(client.trees[name]),
    )  # fmt: skip
    path = f"/m/b{number}"
    before = client.trees[name].get(path)
    commit = _commit(client, name, {path: _some(client, draw, 0)})
    client.picks[name] = (commit, path, before)


def _is_gone(lake: Lake, ref: str) -> bool | None:
    repo, name = ref.split("@")
    return True if all(one.name != name for one in lake.branches(repo)) else None


def tag(client: Client, draw: Random) -> None:
    ref = draw.choice((OWN, SIDE))
    name = f"own@t{client.act}"
    head = client.ask(lambda lake: lake.commit_info(ref).id)

    def create(lake: Lake) -> None:
        with suppress(AlreadyExists):
            lake.create_tag(name, head)

    client.ask(create)
    client.needed.add(head)
    files = told(client.trees[ref])
    client.memory.note("tag", ref=client.whole(name), commit=head, files=files)


def share(client: Client, draw: Random) -> None:
    """A file on a branch that all write to."""
    path, parts = f"/{client.number}/{client.act}", _some(client, draw, 0)

    def call(lake: Lake) -> str:
        # The same key for every attempt: what was done is not done again.
        with lake.commit(SHARED, key=f"share-{client.number}-{client.act}") as commit:
            commit.put(path, data_of(parts))
        return commit.result.id

    commit = client.ask(call)
    client.memory.note("shared", ref=SHARED, commit=commit, files=told({path: parts}))


def together(client: Client, draw: Random) -> None:
    """A commit of ours and one of the shared branch, as one: both or none."""
    path, parts = f"/m/both{draw.randrange(5)}", _some(client, draw, 0)
    shared = f"/{client.number}/{client.act}"

    def call(lake: Lake) -> str:
        with lake.transaction() as transaction:
            transaction.commit(OWN).put(path, data_of(parts))
            transaction.commit(SHARED).put(shared, data_of(parts))
        return transaction.id

    commit = client.change(OWN, {path: parts}, call)
    client.memory.note("shared", ref=SHARED, commit=commit, files=told({shared: parts}))


def erase(client: Client, draw: Random) -> None:
    """A secret is put, and erased later: then its bytes are nowhere."""
    ref = "secret@main"
    paths = sorted(client.trees[ref])
    if len(paths) < 2:
        secret = (MARK, (f"secret {client.number}/{client.act}", 500))
        _commit(client, ref, {f"/{client.act}": secret})
        return
    path = draw.choice(paths)
    parts = client.trees[ref][path]

    # Cut off, it is asked for again: until it says done, it is not.
    client.ask(lambda lake: lake.erase(f"{ref}:{path}", "abuse"))
    client.trees[ref] = changed(client.trees[ref], {path: None})
    client.memory.note("erased", ref=client.whole(ref), path=path, parts=parts)


def gc(client: Client, draw: Random) -> None:
    grace = draw.choice((0.0, 0.0, 3600.0))
    client.ask(lambda lake: lake.gc(grace=grace))


def backup(client: Client, draw: Random) -> None:
    """All that was acknowledged before it begins is in it."""
    before = client.memory.lines
    made = client.ask_home(lambda lake: lake.backup(client.folder / "backups"))
    client.memory.note("backup", id=made.id, after=before)


ACTS: dict[Act, float] = {
    put: 20,
    append: 8,
    rm: 6,
    cp: 4,
    read: 10,
    merge: 6,
    revert: 5,
    cherry_pick: 3,
    squash: 4,
    drop: 4,
    branch: 3,
    tag: 2,
    share: 8,
    together: 4,
    erase: 6,
    gc: 2,
    backup: 1,
}


def _commit(client: Client, ref: str, files: Changes) -> str:
    before = client.trees[ref]

    def call(lake: Lake) -> str:
        with lake.commit(ref) as commit:
            for path, parts in files.items():
                assert parts is not None
                commit.put(path, data_of(parts))
        return commit.result.id

    commit = client.change(ref, files, call)
    if hashes(changed(before, files)) != hashes(before):
        client.undo[ref] = (commit, {path: before.get(path) for path in files})
    if ref == OWN:
        client.plain.append(commit)
    return commit


def _some(client: Client, draw: Random, number: int) -> Parts:
    size = int(10 ** draw.uniform(0, 4)) if draw.random() < 0.97 else draw.randint(1, 3 << 20)
    return ((f"{client.number}/{client.act}/{number}", size),)


def _any_path(client: Client, draw: Random, ref: str) -> str:
    paths = sorted(path for path in client.trees[ref] if path.startswith(_FOLDERS[ref]))
    if not paths:
        raise Refused
    return draw.choice(paths)
