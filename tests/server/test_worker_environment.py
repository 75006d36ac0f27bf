"""What the environment of `serve` holds: who gets which part of it, and by which way."""

from __future__ import annotations

import json
import os
import textwrap
from pathlib import Path

import pytest

import trunkline as tl
from tests.serving import children_of, is_alive, serving
from tests.waiting import until
from trunkline.engine.environ import plain_environment
from trunkline.server.worker_environment import split

PRIVATE = {
    "PGPASSWORD": "private-pg",
    "AWS_SECRET_ACCESS_KEY": "private-aws",
    "TRUNKLINE_SECRET_CHAT": "private-chat",
}
SERVERS = {
    "TRUNKLINE_SERVER_KEY": "private-" + "k" * 32,
    "TRUNKLINE_OIDC_SECRET": "private-oidc",
    "TRUNKLINE_NOTIFY_SLACK": "https://127.0.0.1:9/private-slack",
    "COMPANY_PASSWORD": "private-company",
}


def test_secrets_go_in_private_and_the_servers_own_do_not_go():
    open_ = {"PATH": "/bin", "HOME": "/h", "TRUNKLINE_WORKER_JOBS": "3", "LC_ALL": "C", "TZ": "UTC"}
    begun, told = split({**open_, **PRIVATE, **SERVERS, "TRUNKLINE_X": "postgres://u:p@h/d"})
    assert begun == open_
    assert told == {**PRIVATE, "TRUNKLINE_X": "postgres://u:p@h/d"}
    assert plain_environment({**PRIVATE, **SERVERS}) == {}


CODE = """
import os, json
def files(datum):
    datum.write("/env", json.dumps(dict(os.environ)))
def frames(words):
    rows = [(json.dumps(dict(os.environ)),)]
    return words.sparkSession.createDataFrame(rows, "e string")
"""


@pytest.mark.slow
def test_no_process_of_a_job_has_them(tmp_path: Path):
    code = tmp_path / "code.py"
    code.write_text(textwrap.dedent(CODE))
    with tl.init(tmp_path / "lake") as lake:
        lake.create_repo("words")
        table = {"pfs": {"repo": "words", "glob": "/"}}
        of_code = {"code": str(code)}
        lake.apply(
            {"pipeline": {"name": "command"}, "input": {"pfs": {"repo": "words", "glob": "/*"}},
             "transform": {"cmd": ["sh", "-c", "env > pfs/out/env; test $CHAT = private-chat"],
                           "secrets": [{"name": "chat", "env_var": "CHAT"}]}},
            {"pipeline": {"name": "files"}, "input": {"pfs": {"repo": "words", "glob": "/*"}},
             "transform": {"python": "code.py:files", **of_code}},
            {"pipeline": {"name": "frames"}, "input": table,
             "transform": {"spark": "code.py:frames", **of_code}},
        )  # fmt: skip
    lake_folder = tmp_path / "lake"
    with serving(lake_folder, "--workers", "1", environ={**PRIVATE, **SERVERS}) as server:
        with tl.open(server.url) as remote:
            with remote.commit("words@main") as commit:
                commit.put("/a.csv", b"n\n1\n")
            until(lambda: [job.finished is not None for job in remote.jobs()] == [True] * 3,
                  seconds=240)  # fmt: skip
            assert [job.reason for job in remote.jobs() if job.is_failure] == []
        children = [pid for pid in children_of(server.pid) if is_alive(pid)]
        below = [one for pid in children for one in children_of(pid) if is_alive(one)]
        started = [*children, *below]
        assert below
        assert len(server.children()) == 1
        for pid in started:
            told = Path(f"/proc/{pid}/environ").read_text()
            # Spark's tasks reach the store by the credentials of the machine.
            shown = [value for value in (*PRIVATE.values(), *SERVERS.values()) if value in told]
            assert set(shown) <= {"private-aws"}
            assert pid not in children or not shown
    with tl.open(lake_folder) as lake:
        assert lake.read("command@main:/env").decode().count("private-") == 1
        env = json.loads(lake.read("files@main:/env"))
        assert not (env.keys() & {*SERVERS, "PGPASSWORD", "TRUNKLINE_SECRET_CHAT"})
        (row,) = lake.table("frames@main").arrow().to_pylist()
        assert not (json.loads(row["e"]).keys() & SERVERS.keys())
    assert os.environ.get("PGPASSWORD") is None
