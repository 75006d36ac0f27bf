"""Another user of the computer, who cannot see the lake, and has an address and a token."""

from pathlib import Path

import pytest

import trunkline as tl
from tests.serving import serving
from tests.spark import SHORT_LIVED_CONF
from tests.strangers import can_be_another, stranger

pytestmark = pytest.mark.slow

JOURNEY = """
import os, sys
from pathlib import Path
import trunkline as tl

assert os.getuid() == 65534
try:
    os.listdir(sys.argv[1])
except PermissionError:
    pass
else:
    raise AssertionError("the lake can be seen")

Path("words").mkdir()
Path("words/a.csv").write_text("word,n\\nsea,1\\nsky,2\\n")
with tl.open() as lake:
    lake.create_repo("words")
    first = lake.put("words@main", "words", recursive=True)
    lake.apply({
        "pipeline": {"name": "lines"},
        "input": {"pfs": {"repo": "words", "glob": "/*"}},
        "transform": {"cmd": ["sh", "-c", "wc -l < pfs/words/a.csv > pfs/out/count"]},
    })
    with lake.commit("words@main", message="more") as commit:
        commit.put("/a.csv", b"sun,3\\n", append=True)
    jobs = lake.wait(commit.id, 200)
    assert [str(job.state) for job in jobs] == ["success"], jobs
    assert lake.read("lines@main:/count").strip() == b"4"
    assert lake.sql("SELECT sum(n) AS n FROM words").rows() == [(6,)]
    (change,) = lake.diff(f"words@{first.id}", "words@main")
    assert (change.path, str(change.change)) == ("/a.csv", "modified")
    assert "words" in str(lake.lineage("lines@main:/count").up)
    lake.get("lines@main:/", "out")
    assert Path("out/count").read_text().strip() == "4"
    assert lake.commit_info("words").author == "bob"
print("done")
"""


@pytest.mark.timeout(300)
def test_everything_with_an_address_and_a_token(tmp_path: Path):
    if not can_be_another():
        pytest.skip("only root may be somebody else")
    with tl.init(tmp_path / "lake") as lake:
        lake.create_user("bob", roles={"default": "maintainer"})
        token = lake.create_token(owner="bob").token
    environ = {"TRUNKLINE_SPARK_MASTER": "local[2]", "TRUNKLINE_SPARK_CONF": SHORT_LIVED_CONF}
    with (
        serving(tmp_path / "lake", "--auth", "--workers", "1", environ=environ) as server,
        stranger(TRUNKLINE_LAKE=server.url, TRUNKLINE_TOKEN=token) as bob,
    ):
        ran = bob.python("-c", JOURNEY, str(tmp_path / "lake"))
        assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
        shown = bob.python("-m", "trunkline", "cat", "lines@main:/count")
        assert shown.stdout.strip() == "4", shown.stderr
        refused = bob.python("-m", "trunkline", "gc")
        assert refused.returncode == 5, refused.stderr
        assert server.stop() == 0
