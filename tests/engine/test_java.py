"""Which Java is taken, and what is said when there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest

from trunkline.engine import java
from trunkline.engine.java import Java, find_java
from trunkline.errors import Precondition


@pytest.fixture(autouse=True)
def only_here(monkeypatch, tmp_path):
    """Nothing of this machine's own is found."""
    monkeypatch.setattr(java, "_FOLDERS", (f"{tmp_path}/jvm/*", "~/.sdkman/candidates/java/*"))


def runtime(home: Path, version: str, modules: str = "java.base jdk.incubator.vector") -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    (home / "release").write_text(
        f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\nMODULES="{modules}"\n'
    )
    return home


def test_java_home_goes_first(tmp_path):
    home = runtime(tmp_path / "mine", "21.0.2")
    runtime(tmp_path / "jvm" / "java-17", "17.0.1")
    assert find_java({"JAVA_HOME": str(home)}) == Java(home, "21.0.2")


def test_then_the_path_through_links(tmp_path):
    home = runtime(tmp_path / "real", "17.0.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")
    assert find_java({"PATH": str(tmp_path / "bin")}).home == home


def test_then_the_usual_places_the_oldest_that_will_do(tmp_path):
    for version in ("8", "11", "17", "21", "25"):
        runtime(tmp_path / "jvm" / f"java-{version}", f"{version}.0.1")
    assert find_java({"PATH": ""}).major == 17


def test_the_home_of_who_asks(tmp_path):
    home = runtime(tmp_path / ".sdkman" / "candidates" / "java" / "17.0.9-tem", "17.0.9")
    assert find_java({"PATH": "", "HOME": str(tmp_path)}).home == home


def test_one_that_is_too_old_is_passed_over(tmp_path):
    old = runtime(tmp_path / "old", "1.8.0_302")
    new = runtime(tmp_path / "jvm" / "new", "17.0.1")
    assert find_java({"JAVA_HOME": str(old), "PATH": ""}).home == new


def test_one_without_the_module_is_passed_over(tmp_path):
    small = runtime(tmp_path / "small", "25.0.1", modules="java.base java.sql")
    with pytest.raises(Precondition, match="lacks the module jdk.incubator.vector"):
        find_java({"JAVA_HOME": str(small), "PATH": ""})


def test_too_old_is_said_in_one_line(tmp_path):
    old = runtime(tmp_path / "old", "11.0.2")
    with pytest.raises(Precondition) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": ""})
    assert str(caught.value) == f"Spark needs Java 17 or newer; {old}/bin/java is Java 11.0.2."
    assert "JAVA_HOME" in caught.value.hint


def test_none_at_all(tmp_path):
    with pytest.raises(Precondition) as caught:
        find_java({"PATH": "", "JAVA_HOME": str(tmp_path / "gone")})
    assert str(caught.value) == "Spark needs Java 17 or newer, and there is none here."


@pytest.mark.parametrize(
    "platform, tool, words",
    [
        ("linux", "apt-get", "apt-get install"),
        ("linux", "dnf", "dnf install"),
        ("linux", "apk", "apk add"),
        ("darwin", "", "brew install openjdk@17"),
        ("linux", "", "Install a Java 17 runtime"),
    ],
)
def test_the_hint_is_the_command_of_this_system(monkeypatch, platform, tool, words):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name, **_: name == tool or None)
    with pytest.raises(Precondition) as caught:
        find_java({})
    assert words in caught.value.hint


def test_a_runtime_without_a_release_file_is_asked(tmp_path):
    home = runtime(tmp_path / "odd", "x")
    (home / "release").unlink()
    (home / "bin" / "java").write_text("#!/bin/sh\necho 'openjdk version \"17.0.3\"' >&2\n")
    assert find_java({"JAVA_HOME": str(home), "PATH": ""}).version == "17.0.3"


def test_one_that_cannot_say_is_passed_over(tmp_path):
    home = runtime(tmp_path / "broken", "x")
    (home / "release").unlink()
    with pytest.raises(Precondition):
        find_java({"JAVA_HOME": str(home), "PATH": ""})


class TestInstalling:
    """scripts/java.sh, with programs of ours in the place of the system's."""

    @pytest.fixture
    def run(self, tmp_path):
        programs = tmp_path / "programs"
        programs.mkdir()
        for name in ("sh", "grep", "tail", "echo"):
            (programs / name).symlink_to(shutil.which(name))

        def run(**stubs: str) -> subprocess.CompletedProcess[str]:
            for name, body in stubs.items():
                path = programs / name.replace("_", "-")
                path.write_text(f"#!/bin/sh\n{body}\n")
                path.chmod(0o755)
            script = Path(__file__).parents[2] / "scripts" / "java.sh"
            return subprocess.run(
                [script], capture_output=True, text=True, env={"PATH": str(programs)}
            )

        return run

    def test_root_installs_what_the_system_carries(self, run, tmp_path):
        done = run(
            id="echo 0",
            apt_get=f'echo "$@" >> {tmp_path}/asked',
            apt_cache='case "$2" in *-21-*) echo Package: x;; *) exit 100;; esac',
        )
        assert done.returncode == 0, done.stderr
        asked = (tmp_path / "asked").read_text().splitlines()
        assert asked == ["install -y --no-install-recommends openjdk-21-jre-headless"]

    def test_lists_are_fetched_first_where_there_are_none(self, run, tmp_path):
        done = run(id="echo 0", apt_get=f'echo "$@" >> {tmp_path}/asked', apt_cache="exit 100")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "asked").read_text().splitlines()[0] == "update -qq"

    def test_sudo_that_asks_nothing_is_used(self, run, tmp_path):
        done = run(
            id="echo 1000",
            sudo='shift; [ "$1" = true ] || exec "$@"',
            dnf=f"echo >{tmp_path}/asked",
        )
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "asked").exists()

    def test_without_the_right_the_command_is_printed(self, run):
        done = run(id="echo 1000", sudo="exit 1", dnf="exit 9")
        assert done.returncode == 1
        assert "hint: sudo dnf install -y java-17-openjdk-headless" in done.stderr

    def test_a_failure_says_why(self, run):
        done = run(id="echo 0", apk="echo no network; exit 1")
        assert done.returncode == 1
        assert "no network" in done.stderr
        assert "hint: apk add openjdk17-jre-headless" in done.stderr

    def test_a_system_we_do_not_know(self, run):
        done = run(id="echo 0")
        assert done.returncode == 1
        assert "set JAVA_HOME" in done.stderr


def test_no_runtime_is_started_that_says_what_it_is(monkeypatch, tmp_path):
    """Starting one takes half a second, and there may be many."""
    mark = tmp_path / "started"
    for number in (8, 11, 17):
        home = runtime(tmp_path / "jvm" / f"java-{number}", f"{number}.0.1")
        (home / "bin" / "java").write_text(f"#!/bin/sh\ntouch {mark}\n")
    assert find_java({"PATH": ""}).version == "17.0.1"
    assert not mark.exists()
    (home / "release").unlink()
    with pytest.raises(Precondition):
        find_java({"PATH": ""})
    assert mark.exists()
    monkeypatch.undo()
    assert find_java().major >= java.OLDEST
