"""Settings: precedence, origins, reading values, and which lake is meant."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trunkline import settings
from trunkline.errors import NotFound, Usage
from trunkline.settings import Source, load, setting


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / ".trunkline"
    folder.mkdir(parents=True)
    (folder / "lake.toml").write_text("")
    (folder / "config.toml").write_text("# ours\n")
    return folder


@pytest.fixture
def user(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    return settings.user_file()


class TestPrecedence:
    def test_flag_over_environment_over_lake_over_user_over_default(self, lake, user, monkeypatch):
        def project():
            value = load(lake, {"project": flag}).__getitem__("project")
            return value.value, value.source

        flag = None
        assert project() == ("default", Source.DEFAULT)
        settings.write_config(user, "project", "of-the-user")
        assert project() == ("of-the-user", Source.USER)
        settings.write_config(lake / "config.toml", "project", "of-the-lake")
        assert project() == ("of-the-lake", Source.LAKE)
        monkeypatch.setenv("TRUNKLINE_PROJECT", "of-the-environment")
        assert project() == ("of-the-environment", Source.ENVIRONMENT)
        flag = "of-the-flag"
        assert project() == ("of-the-flag", Source.FLAG)

    def test_origin_names_the_file_and_key(self, lake):
        settings.write_config(lake / "config.toml", "pack.limit", "2MiB")
        value = load(lake)["pack.limit"]
        assert value.value == 2 << 20
        assert value.where == f"{lake / 'config.toml'}: pack.limit"

    def test_every_setting_has_a_readable_default(self, monkeypatch):
        monkeypatch.delenv("TRUNKLINE_SPARK_LINGER")
        for name in settings.SETTINGS:
            assert load()[name].source is Source.DEFAULT

    def test_every_variable_is_its_own(self):
        variables = [setting.variable for setting in settings.SETTINGS.values()]
        assert len(set(variables)) == len(variables)

    def test_an_empty_variable_is_not_set(self, monkeypatch):
        monkeypatch.setenv("TRUNKLINE_PROJECT", "")
        assert load()["project"].source is Source.DEFAULT

    def test_the_author_is_someone(self):
        assert "@" in load().text("author")


class TestBadValues:
    @pytest.mark.parametrize(
        "name, text, complaint",
        [
            ("json", "perhaps", '"perhaps" is neither yes nor no'),
            ("put.workers", "-1", '"-1" is not a whole number'),
            ("pack.limit", "lots", '"lots" is not a size such as 64MiB'),
            ("gc.grace", "soon", '"soon" is not a duration such as 90s'),
            ("color", "mauve", '"mauve" is none of auto, always, never'),
        ],
    )
    def test_the_variable_is_named(self, name, text, complaint, monkeypatch):
        variable = setting(name).variable
        monkeypatch.setenv(variable, text)
        with pytest.raises(Usage) as caught:
            load()[name]
        assert caught.value.message.startswith(f"{variable}: {complaint}")

    def test_the_file_and_key_are_named(self, lake):
        (lake / "config.toml").write_text('[gc]\ngrace = "soon"\n')
        with pytest.raises(Usage, match=r"config\.toml: gc\.grace: "):
            load(lake)["gc.grace"]

    def test_a_file_that_is_not_toml(self, lake):
        (lake / "config.toml").write_text("[[[")
        with pytest.raises(Usage, match="not valid TOML"):
            load(lake)["project"]

    def test_unknown_keys_are_listed_not_fatal(self, lake):
        (lake / "config.toml").write_text('projekt = "x"\n')
        assert load(lake).text("project") == "default"
        assert load(lake).unknown() == [f"{lake / 'config.toml'}: projekt"]

    def test_an_unknown_name_meets_a_suggestion(self):
        with pytest.raises(Usage, match='Did you mean "project"'):
            setting("projekt")


class TestReading:
    @pytest.mark.parametrize(
        "text, size",
        [
            ("0", 0), ("512", 512), ("512B", 512), ("1k", 1024), ("1KiB", 1024), ("1kB", 1000),
            ("64MiB", 64 << 20), ("64 MiB", 64 << 20), ("64MB", 64_000_000), ("1.5GiB", 3 << 29),
            ("2T", 2 << 40),
        ],
    )  # fmt: skip
    def test_sizes(self, text, size):
        assert settings.parse_size(text) == size

    @pytest.mark.parametrize("text", ["", "MiB", "-1", "1XB", "1 2", "0x10", "1e3", True])
    def test_no_sizes(self, text):
        with pytest.raises(ValueError, match="not a size"):
            settings.parse_size(text)

    @pytest.mark.parametrize(
        "text, seconds",
        [("0", 0), ("90", 90), ("90s", 90), ("1m", 60), ("24h", 86400), ("1d", 86400),
         ("1h30m", 5400), ("500ms", 0.5), ("1.5h", 5400), ("2w", 1209600)],
    )  # fmt: skip
    def test_durations(self, text, seconds):
        assert settings.parse_duration(text) == pytest.approx(seconds)

    @pytest.mark.parametrize("text", ["", "h", "1y", "1h!", "-1h", "one day", True])
    def test_no_durations(self, text):
        with pytest.raises(ValueError, match="not a duration"):
            settings.parse_duration(text)

    @given(st.integers(0, 1 << 50))
    def test_bytes_are_taken_at_their_word(self, size):
        assert settings.parse_size(size) == settings.parse_size(f"{size}B") == size


class TestWriting:
    def test_the_rest_of_the_file_stays(self, lake):
        path = lake / "config.toml"
        path.write_text('# ours\nproject = "shop" # do not touch\n')
        settings.write_config(path, "pack.limit", "2MiB")
        settings.write_config(path, "put.workers", "3")
        assert path.read_text().startswith('# ours\nproject = "shop" # do not touch\n')
        assert settings.read_config(path) == {
            "project": "shop",
            "pack": {"limit": "2MiB"},
            "put": {"workers": 3},
        }
        settings.write_config(path, "pack.limit", None)
        assert load(lake)["pack.limit"].source is Source.DEFAULT

    def test_a_bad_value_is_refused_and_nothing_is_written(self, lake):
        before = (lake / "config.toml").read_text()
        with pytest.raises(Usage, match="not a size"):
            settings.write_config(lake / "config.toml", "pack.limit", "lots")
        assert (lake / "config.toml").read_text() == before
        assert sorted(f.name for f in lake.iterdir()) == ["config.toml", "lake.toml"]

    def test_taking_out_what_is_not_there_makes_no_section(self, lake):
        before = (lake / "config.toml").read_text()
        settings.write_config(lake / "config.toml", "pack.limit", None)
        assert (lake / "config.toml").read_text() == before


class TestFindLake:
    def test_the_nearest_upwards(self, lake):
        below = lake.parent / "a" / "b"
        below.mkdir(parents=True)
        assert settings.find_lake(below, environ={}) == lake
        assert settings.find_lake(lake, environ={}) == lake

    def test_named_by_its_folder_or_itself(self, lake, tmp_path):
        for named in (lake, lake.parent, str(lake)):
            assert settings.find_lake(tmp_path, named, environ={}) == lake

    def test_flag_over_variable_over_nearest(self, lake, tmp_path):
        other = tmp_path / "other" / ".trunkline"
        other.mkdir(parents=True)
        (other / "lake.toml").write_text("")
        environ = {"TRUNKLINE_LAKE": str(other)}
        assert settings.find_lake(lake.parent, None, environ) == other
        assert settings.find_lake(lake.parent, lake, environ) == lake

    def test_none_upwards(self, tmp_path):
        with pytest.raises(NotFound, match="no lake in") as caught:
            settings.find_lake(tmp_path, environ={})
        assert "trunkline init" in caught.value.hint

    def test_named_but_not_one(self, tmp_path):
        with pytest.raises(NotFound, match="is not a lake"):
            settings.find_lake(tmp_path, tmp_path, environ={})

    def test_an_address_is_refused_without_its_password(self, tmp_path):
        with pytest.raises(Usage, match="folders only") as caught:
            settings.find_lake(tmp_path, "https://me:secret@lake.example.org", environ={})
        assert "secret" not in caught.value.message
