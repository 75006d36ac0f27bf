"""A command to call, and a lake to call it in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import trunkline as tl
from tests.cli.run import Cli, home_of
from tests.served import DOOR

# What is typed here is also typed by somebody who has only the address of a server and a token,
# in another folder and with another home.
PUBLIC = (
    "test_bad_input.py",
    "test_complete.py",
    "test_draw.py",
    "test_graph.py",
    "test_jobs.py",
    "test_journey.py",
    "test_pipelines.py",
    "test_protected.py",
    "test_sql.py",
    "test_streams.py",
    "test_streamviews.py",
    "test_table.py",
    "test_tablechanges.py",
    "test_tablediff.py",
    "test_text.py",
)
# A maintainer types it, but for these, by parts of their names.
ADMINS = (
    "delete a project with repos",
    "fsck --deep",
    "gc --dry-run",
    "test_a_secret_comes_from_stdin",
    "test_deletes",
    "test_forget_and_erase",
    "test_get_says_what_erasure_left_out",
    "unknown secret",
)
AT_HOME = {
    "bad setting": "the settings of a lake are in its folder",
    "unknown setting": "the settings of a lake are in its folder",
    "test_config": "the settings of a lake are in its folder",
    "migrate": "a lake is migrated where it is",
    "test_a_corrupt_object": "damages its files: see tests/sdk/test_fsck.py",
    "test_a_graph_from_apply_to_lineage": "runs jobs itself",
    "test_ctrl_c_lets_go_of_what_runs": "runs jobs itself",
    "test_a_worker_stops_when_asked_to": "is a worker",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "lake" in metafunc.fixturenames and metafunc.definition.path.name in PUBLIC:
        metafunc.parametrize("lake", ["local", "http"], indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not through_a_server(item) or not at_home(item.name)]


def through_a_server(item: pytest.Item) -> bool:
    callspec = getattr(item, "callspec", None)
    return (
        item.path.parent == Path(__file__).parent
        and callspec is not None
        and callspec.params.get("lake") == "http"
    )


def at_home(test: str) -> bool:
    return any(name in test for name in AT_HOME)


@pytest.fixture
def cli(capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    return Cli(capfdbinary)


@pytest.fixture
def lake(
    request: pytest.FixtureRequest, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """A folder with a lake and the repo orders: /a.csv and /day=1/b.csv on main."""
    if getattr(request, "param", "local") == "local":
        monkeypatch.chdir(tmp_path)
        cli.ok("init")
        fill(cli, tmp_path)
        yield tmp_path
        return
    test = request.node.name
    role = "admin" if any(name in test for name in ADMINS) else "maintainer"
    folder = tmp_path / "away"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with tl.init(home_of(folder)) as made, DOOR.to(made, authenticated=True) as url:
        made.create_user("ada", roles={"lake": role})
        monkeypatch.setenv("TRUNKLINE_LAKE", url)
        monkeypatch.setenv("TRUNKLINE_TOKEN", made.create_token(owner="ada").token)
        fill(cli, folder)
        yield folder


def fill(cli: Cli, folder: Path) -> None:
    (folder / "in" / "day=1").mkdir(parents=True)
    (folder / "in" / "a.csv").write_text("a\n")
    (folder / "in" / "day=1" / "b.csv").write_text("one,two\n")
    cli.ok("repo", "create", "orders", "-d", "What is sold")
    cli.ok("put", "-r", "orders@main:/", "in", "-m", "first")
