"""Each mistake: one line, the exit code of its class, nothing changed."""

import json
import os
import re
import tarfile
from itertools import takewhile

import pytest

from tests.strangers import modes_respected

CASES = [
    # what, arguments, exit code, what the line says
    ("unknown repo", ["ls", "ordrs@main"], 3, r'ordrs.*Did you mean "orders"'),
    ("unknown branch", ["ls", "orders@mian"], 3, r'mian.*Did you mean "main"'),
    ("unknown path", ["cat", "orders@main:/a.cvs"], 3, r'a\.cvs.*Did you mean "/?a\.csv"'),
    ("a folder is no file", ["cat", "orders@main:/day=1"], (2, 3), r"day=1"),
    ("unknown project", ["ls", "shop/orders@main"], 3, r"shop"),
    ("empty ref", ["ls", ""], 2, r"empty"),
    ("ref without repo", ["ls", "@main"], 2, r"names no repo"),
    ("two @", ["ls", "orders@main@x"], 2, r'second "@"'),
    ("nothing after @", ["ls", "orders@"], 2, r'nothing after "@"'),
    ("before the first commit", ["ls", "orders@main~7"], 3, r"first"),
    ("bad repo name", ["repo", "create", "a b"], 2, r"a b"),
    ("repo name too long", ["repo", "create", "x" * 64], 2, r"6[34]"),
    ("repo exists", ["repo", "create", "orders"], 4, r"orders"),
    ("bad branch name", ["branch", "create", "orders@a^b"], 2, r"a\^b"),
    ("..", ["put", "orders@main:/../x", "in/a.csv"], 2, r"\.\."),
    ("control character", ["put", "orders@main:/a\x01b", "in/a.csv"], 2, r"\\x01|control"),
    ("path too long", ["put", "orders@main:/" + "x" * 1100, "in/a.csv"], 2, r"1,?101 bytes long"),
    ("file that is a folder", ["put", "orders@main:/day=1", "in/a.csv"], 4, r"day=1"),
    ("folder that is a file", ["put", "orders@main:/a.csv/b", "in/a.csv"], 4, r"a\.csv"),
    ("no such source", ["put", "orders@main:/x", "in/none.csv"], 3, r"none\.csv"),
    ("folder without -r", ["put", "orders@main:/x", "in"], 2, r"folder"),
    ("moved branch", ["put", "orders@main:/x", "in/a.csv", "--if-head", "none"], 4, r"orders@main"),
    ("private address", ["put", "orders@main:/x", "https://127.0.0.1/x"], 5, r"127\.0\.0\.1"),
    ("plain http", ["put", "orders@main:/x", "http://example.org/x"], (2, 5), r"http"),
    ("archive with a link", ["put", "orders@main:/x", "link.tar", "--untar"], 5, r"link"),
    ("archive with ..", ["put", "orders@main:/x", "dots.tar", "--untar"], (2, 5), r"\.\."),
    ("write to a tag", ["put", "orders@v1:/x", "in/a.csv"], (4, 5, 6), r"v1"),
    ("finish nothing", ["commit", "finish", "orders@main"], 6, r"no unfinished commit"),
    ("squash a head", ["commit", "squash", "orders@main"], 6, r"head"),
    ("bad strategy", ["merge", "orders@v1", "orders@main", "--strategy", "mine"], 2, r"mine"),
    ("bad range", ["cat", "orders@main:/a.csv", "--range", "9-3"], 2, r"9-3"),
    ("bad grace", ["gc", "--grace", "soon"], 2, r"soon"),
    ("unknown setting", ["config", "set", "projekt", "x"], 2, r'Did you mean "project"'),
    ("bad setting", ["config", "set", "pack.limit", "lots"], 2, r"not a size"),
    ("no commit of that id", ["show", "0123456789abcdef"], 3, r"0123456789abcdef"),
    ("bad glob", ["glob", "orders@main:/[a"], 2, r"\[a|pattern"),
    ("not a lake", ["status", "--lake", "in"], 3, r"not a lake"),
    ("get over a file", ["get", "orders@main:/a.csv", "in/a.csv"], 4, r"in/a\.csv"),
    ("tag exists", ["tag", "create", "orders@v1", "orders@main"], 4, r"v1"),
    ("branch exists", ["branch", "create", "orders@main"], 4, r"main"),
    ("delete a project with repos", ["project", "delete", "default", "--yes"], 6, r"default"),
]


@pytest.fixture
def troubled(cli, lake):
    cli.ok("tag", "create", "orders@v1", "orders@main")
    with tarfile.open("link.tar", "w") as archive:
        info = tarfile.TarInfo("link")
        info.type, info.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(info)
    with tarfile.open("dots.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("../../x"))
    return lake


def state(cli) -> object:
    parts = (["repo", "list"], ["branch", "list", "orders"], ["tag", "list", "orders"],
             ["log", "orders"], ["ls", "-r", "orders@main"], ["config", "list"])  # fmt: skip
    return [cli.json(*args) for args in parts]


@pytest.mark.parametrize("args, codes, message", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_mistake(cli, troubled, args, codes, message):
    before = state(cli)
    result = cli(*args)
    assert result.code in (codes if isinstance(codes, tuple) else (codes,)), result.err
    lines = result.err.splitlines()
    assert lines[0].startswith("error: ")
    assert re.search(message, lines[0]), lines[0]
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert result.out == ""
    error = json.loads(cli(*args, "--json").err)
    assert error.keys() >= {"code", "message", "hint"}
    assert state(cli) == before


def test_an_unreadable_source(cli, lake):
    os.chmod("in/a.csv", 0)
    with modes_respected():
        result = cli("put", "orders@main:/x", "in/a.csv")
    assert result.code == 1
    assert "a.csv" in result.err


def test_an_ambiguous_id(cli, lake):
    same = ""
    while len(same) < 8:
        # Ids begin with the time, in steps of a minute and more.
        cli.ok("put", "orders@main:/x", "in/a.csv")
        first, second, *_ = (commit["id"] for commit in cli.json("log", "orders"))
        pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=True))
        same = "".join(digit for digit, _ in pairs)
    result = cli("ls", f"orders@{same[:8]}")
    assert result.code == 4
    assert "not unique" in result.err


def test_a_corrupt_object(cli, lake):
    for pack in (lake / ".trunkline").rglob("*.pack"):
        pack.chmod(0o600)
        pack.write_bytes(pack.read_bytes().replace(b"one", b"won"))
    result = cli("cat", "orders@main:/day=1/b.csv")
    assert result.code == 1
    assert "/day=1/b.csv" in result.err
    assert cli("fsck", "--deep").code == 1
    assert cli.ok("cat", "orders@main:/a.csv") == "a\n"
