"""Tab: what is offered, in the words of each shell, and silence when anything is wrong."""

import json
from pathlib import Path

import pytest

from tests.cli.run import process
from trunkline.cli.complete import PREFIX_VARIABLE, rejoin_bash_words


def bash(*words: str) -> list[str]:
    result = process(
        COMP_WORDS="\n".join(["trunkline", *words]),
        COMP_CWORD=str(len(words)),
        _TRUNKLINE_COMPLETE="complete_bash",
    )
    assert result.err == ""
    return result.out.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, offers",
    [
        (["bra"], ["branch"]),
        (["back"], ["backfill", "backup"]),
        (["ls", "ord"], ["orders@main"]),
        (["ls", "orders", "@"], ["main"]),
        (["ls", "orders", "@", "ma"], ["main"]),
        (["ls", "orders", "@", "main", ":", "/"], ["/a.csv", "/day=1/"]),
        (["ls", "orders", "@", "main", ":", "/day=1/"], ["/day=1/b.csv"]),
        (["diff", "orders", "@", "main", "orders", "@", "m"], ["main"]),
        (["repo", "inspect", ""], ["orders"]),
        (["config", "get", "pack."], ["pack.limit", "pack.size"]),
        (["ls", "nothing", "@"], []),
        (["ls", "--lake", "/nowhere", "ord"], []),
    ],
    ids=lambda words: " ".join(words),
)
def test_bash(lake, words, offers):
    assert sorted(bash(*words)) == offers


def test_zsh_gets_whole_words(lake):
    result = process(
        _TYPER_COMPLETE_ARGS="trunkline ls orders@main:/day", _TRUNKLINE_COMPLETE="complete_zsh"
    )
    assert "orders@main" in result.out
    assert "/day=1/" in result.out


def test_outside_a_lake_there_is_nothing_to_offer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert bash("ls", "ord") == []


@pytest.mark.parametrize(
    "words, index, joined, prefix",
    [
        ("tl ls orders @ main : /d", 6, "tl ls /d", "orders@main:"),
        ("tl ls orders @", 3, "tl ls ", "orders@"),
        ("tl cp a @ b : /c d @", 8, "tl cp a@b:/c ", "d@"),
        ("tl ls", 2, "tl ls ", ""),
        ("tl ls x y z", 3, "tl ls x y", ""),
    ],
)
def test_pieces_are_glued(words, index, joined, prefix):
    environ = {
        "_TL_COMPLETE": "complete_bash",
        "COMP_WORDS": words.replace(" ", "\n"),
        "COMP_CWORD": str(index),
    }
    rejoin_bash_words(environ)
    assert environ["COMP_WORDS"].replace("\n", " ") == joined
    assert environ[PREFIX_VARIABLE] == prefix


@pytest.mark.slow
def test_pipelines_and_jobs(cli, lake):
    spec = {
        "pipeline": {"name": "sizes"},
        "input": {"pfs": {"repo": "orders", "glob": "/*"}},
        "transform": {"cmd": ["true"]},
    }
    Path("sizes.json").write_text(json.dumps(spec))
    job = cli.json("pipeline", "apply", "sizes.json")["applied"][0]["job"]
    assert bash("pipeline", "inspect", "si") == ["sizes"]
    assert bash("job", "list", "--pipeline", "") == ["sizes"]
    assert bash("job", "inspect", "") == [f"sizes@{job[:12]}"]
    assert bash("job", "inspect", "sizes", "@") == [job[:12]]
    assert bash("datum", "list", job[:6]) == [job]
    assert bash("pipeline", "inspect", "x") == []
