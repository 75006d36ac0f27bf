"""Settings: what may be set, where a value came from, and which lake is meant.

A value is taken from the first place that has one:

    flag          --project shop
    environment   TRUNKLINE_PROJECT, TRUNKLINE_PACK_LIMIT (dots become underscores)
    lake          .trunkline/config.toml (the part before a dot is a TOML section)
    user          $XDG_CONFIG_HOME/trunkline/config.toml
    default       the table below

Standard library only; `errors` is all of Trunkline that is imported here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from trunkline.errors import Failed, NotFound, Usage

LAKE_FOLDER = ".trunkline"
LAKE_FILE = "lake.toml"
CONFIG_FILE = "config.toml"

Scalar = str | int | float | bool | None


class Kind(StrEnum):
    """How the text of a setting is read."""

    TEXT = "text"
    FLAG = "flag"
    NUMBER = "number"
    SIZE = "size"
    DURATION = "duration"
    CHOICE = "choice"
    PAIRS = "pairs"


class Source(StrEnum):
    """Where a value came from, strongest first."""

    FLAG = "flag"
    ENVIRONMENT = "environment"
    LAKE = "lake"
    USER = "user"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that may be set. `default` is written as a user would write it."""

    name: str
    kind: Kind
    default: str | None
    sentence: str
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return "TRUNKLINE_" + self.name.upper().replace(".", "_")


@dataclass(frozen=True, slots=True)
class Value:
    """A setting's value and its origin: `source` in general, `where` exactly."""

    name: str
    value: Scalar
    source: Source
    where: str


_ALL = (
    Setting("lake", Kind.TEXT, None, "The lake to use; else the nearest .trunkline upwards."),
    Setting("project", Kind.TEXT, "default", "The project of names without one."),
    Setting("author", Kind.TEXT, None, "Who commits are by; else login@host."),
    Setting("json", Kind.FLAG, "no", "Answer in JSON."),
    Setting("quiet", Kind.FLAG, "no", "Say nothing but results and errors."),
    Setting("color", Kind.CHOICE, "auto", "Colours.", ("auto", "always", "never")),
    Setting("log.level", Kind.CHOICE, "warning", "How much is logged to stderr.",
            ("debug", "info", "warning", "error")),
    Setting("pack.limit", Kind.SIZE, "1MiB", "Files up to this size are packed together."),
    Setting("pack.size", Kind.SIZE, "64MiB", "A pack is closed when it reaches this size."),
    Setting("put.workers", Kind.NUMBER, "0", "Processes that hash and copy; 0 is one per core."),
    Setting("worker.jobs", Kind.NUMBER, "2", "Jobs that a worker runs at once."),
    Setting("worker.lease", Kind.DURATION, "30s", "How soon others take a dead worker's jobs."),
    Setting("work.folder", Kind.TEXT, None, "Where commands work; else the system's."),
    Setting("sandbox.required", Kind.FLAG, "no", "Run people's code in sandboxes only."),
    Setting("sandbox.paths", Kind.TEXT, None, "Folders that sandboxes can read, by colons."),
    Setting("log.limit", Kind.SIZE, "1MiB", "How much of what a datum prints is kept."),
    Setting("results.keep", Kind.DURATION, "30d", "How long results that no commit has are kept."),
    Setting("logs.keep", Kind.DURATION, "30d", "How long what datums printed is kept."),
    Setting("gc.grace", Kind.DURATION, "1d", "What is younger than this, gc leaves alone."),
    Setting("url.allow_private", Kind.FLAG, "no", "Fetch from private addresses too."),
    Setting("url.allow_http", Kind.FLAG, "no", "Fetch over http:// too."),
    Setting("url.max_bytes", Kind.SIZE, "100GiB", "The most that is fetched from one URL."),
    Setting("url.timeout", Kind.DURATION, "1h", "How long a fetch from a URL may take in all."),
    Setting("spark.master", Kind.TEXT, "local[*]", "Where Spark runs: local[*], spark://host:port."),
    Setting("spark.remote", Kind.TEXT, None, "A Spark Connect server (sc://host:port) to use."),
    Setting("spark.memory", Kind.SIZE, None, "Memory of Spark's driver; else a quarter of all."),
    Setting("spark.packages", Kind.TEXT, None, "Maven coordinates that Spark fetches, by commas."),
    Setting("spark.conf", Kind.PAIRS, None, "Settings of Spark's own: spark.a=1;spark.b=2."),
    Setting("spark.archive", Kind.FLAG, "yes", "Keep Spark's classes ready, for a quick start."),
    Setting("spark.linger", Kind.DURATION, "15m", "How long Spark waits for the next command."),
    Setting("token", Kind.TEXT, None, "Who you are to a server; a context may have it."),
    Setting("server.host", Kind.TEXT, "127.0.0.1", "The address that serve listens on."),
    Setting("server.port", Kind.NUMBER, "8470", "The port of the API and the console."),
    Setting("server.s3_port", Kind.NUMBER, "8471", "The port of the S3 door; 0 closes it."),
    Setting("server.s3_url", Kind.TEXT, None, "The address that people reach the S3 door by."),
    Setting("server.iceberg.snapshots", Kind.NUMBER, "200", "Snapshots that are shown of a table."),
    Setting("server.url", Kind.TEXT, None, "The address that people reach the server by."),
    Setting("server.auth", Kind.FLAG, "no", "Ask everybody who they are."),
    Setting("server.log", Kind.CHOICE, "text", "How serve writes its log.", ("text", "json")),
    Setting("server.threads", Kind.NUMBER, "40", "Requests that are answered at once."),
    Setting("session.length", Kind.DURATION, "12h", "How long a login to the console holds."),
    Setting("audit.keep", Kind.DURATION, "365d", "How long the audit log is kept."),
    Setting("events.keep", Kind.DURATION, "30d", "How long events can be read again."),
    Setting("sql.timeout", Kind.DURATION, "10m", "How long a query to the server may take."),
    Setting("sql.memory", Kind.SIZE, None, "Memory of DuckDB in the server; else half of all."),
    Setting("sql.reserve", Kind.SIZE, None, "Disk that queries leave free; else 5 %, up to 2 GiB."),
    Setting("oidc.issuer", Kind.TEXT, None, "The address of the single sign-on to log in with."),
    Setting("oidc.client", Kind.TEXT, None, "The client id that it knows this server by."),
    Setting("oidc.claim", Kind.TEXT, "email", "The claim that is a user's name here."),
    Setting("oidc.create", Kind.FLAG, "no", "Make a user of everybody whom it lets in."),
    Setting("notify.on", Kind.TEXT, "failed,late,recovered,check_failed", "What is told."),
    Setting("notify.webhook", Kind.TEXT, None, "Where to send it as JSON."),
    Setting("notify.slack", Kind.TEXT, None, "Where to send it as a message for Slack."),
    Setting("notify.email", Kind.TEXT, None, "Whom to send it by e-mail, by commas."),
    Setting("notify.smtp", Kind.TEXT, None, "The mail server: smtp://user@host:587."),
    Setting("openlineage.url", Kind.TEXT, None, "Where OpenLineage events go."),
    Setting("openlineage.file", Kind.TEXT, None, "A file that OpenLineage events are added to."),
    Setting("openlineage.namespace", Kind.TEXT, None, "Their namespace; else the lake's address."),
    Setting("s3.endpoint", Kind.TEXT, None, "The address of an S3 server other than Amazon's."),
    Setting("s3.region", Kind.TEXT, None, "The region; else what the environment says."),
    Setting("s3.path_style", Kind.FLAG, "yes", "Name the bucket in the path, not in the host."),
    Setting("s3.allow_http", Kind.FLAG, "no", "Talk to the S3 server over http://."),
)  # fmt: skip

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in _ALL}


def setting(name: str) -> Setting:
    """The setting of that name, or `Usage` with the near miss."""
    if name in SETTINGS:
        return SETTINGS[name]
    from difflib import get_close_matches

    near = get_close_matches(name, SETTINGS, n=1)
    raise Usage(
        f'There is no setting "{name}".' + (f' Did you mean "{near[0]}"?' if near else ""),
        hint="trunkline config list shows all of them.",
    )


class Settings(Mapping[str, Value]):
    """Every setting with its value. Values are read, and found wrong, when they are asked for."""

    def __init__(
        self,
        flags: Mapping[str, Scalar] | None = None,
        environ: Mapping[str, str] | None = None,
        lake: Path | None = None,
        user: Path | None = None,
    ) -> None:
        self._flags = {k: v for k, v in (flags or {}).items() if v is not None}
        self._environ = os.environ if environ is None else environ
        self._files = ((Source.LAKE, lake), (Source.USER, user))
        self._read: dict[Path, dict[str, Scalar]] = {}

    def __getitem__(self, name: str) -> Value:
        wanted = setting(name)
        for source, where, raw in self._places(wanted):
            return Value(name, parse(wanted, raw, where), source, where)
        return Value(name, _default(wanted), Source.DEFAULT, "default")

    def __iter__(self) -> Iterator[str]:
        return iter(SETTINGS)

    def __len__(self) -> int:
        return len(SETTINGS)

    def text(self, name: str) -> str:
        value = self[name].value
        return "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        return bool(self[name].value)

    def number(self, name: str) -> int:
        return int(self[name].value or 0)

    def seconds(self, name: str) -> float:
        return float(self[name].value or 0)

    def pairs(self, name: str) -> dict[str, str]:
        return parse_pairs(self.text(name))

    def unknown(self) -> list[str]:
        """Keys in the files that no setting has: typing errors, or another version's."""
        return [
            f"{path}: {key}"
            for _, path in self._files
            if path is not None
            for key in self._file(path)
            if key not in SETTINGS
        ]

    def _places(self, wanted: Setting) -> Iterator[tuple[Source, str, Scalar]]:
        if wanted.name in self._flags:
            yield Source.FLAG, f"--{wanted.name}", self._flags[wanted.name]
        if text := self._environ.get(wanted.variable):
            yield Source.ENVIRONMENT, wanted.variable, text
        for source, path in self._files:
            if path is not None and wanted.name in (values := self._file(path)):
                yield source, f"{path}: {wanted.name}", values[wanted.name]

    def _file(self, path: Path) -> dict[str, Scalar]:
        if path not in self._read:
            self._read[path] = _join_pairs(dict(_flatten(read_config(path), "")))
        return self._read[path]


def load(
    lake: Path | None = None,
    flags: Mapping[str, Scalar] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    """The settings in force for the lake in the folder `lake` (`…/.trunkline`), if there is one."""
    return Settings(flags, environ, lake / CONFIG_FILE if lake else None, user_file(environ))


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CONFIG_HOME") or os.path.join(environ.get("HOME") or "~", ".config")
    return Path(base).expanduser() / "trunkline" / CONFIG_FILE


def read_config(path: Path) -> dict[str, Any]:
    """A TOML file as a dict; empty when there is no such file."""
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Usage(f"{path} is not valid TOML: {error}.") from None
    except OSError as error:
        raise Failed(f"{path} cannot be read: {error.strerror}.") from None


def write_config(path: Path, name: str, value: str | None) -> None:
    """Set one value in a file, or take it out (None). The rest of the file stays as it is."""
    wanted = setting(name)
    parsed = None if value is None else parse(wanted, value, f"the value for {name}")
    import tomlkit

    held = dict(_flatten(read_config(path), ""))  # refuses what is not TOML
    if value is None and name not in held:
        return
    document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    table: Any = document
    *parents, key = name.split(".")
    for parent in parents:
        table = table.setdefault(parent, tomlkit.table())
    if value is None:
        del table[key]
    else:
        # Sizes and durations stay as they were typed: "64MiB" says more than 67108864.
        typed = wanted.kind in (Kind.FLAG, Kind.NUMBER)
        table[key] = parsed if typed else value
    _replace(path, tomlkit.dumps(document))


def _replace(path: Path, text: str) -> None:
    """Old text or new text, never half of it, whatever happens meanwhile."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            # An address to send notices to may be a secret.
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise Failed(f"{path} cannot be written: {error.strerror}.") from None


def _flatten(table: object, prefix: str) -> Iterator[tuple[str, Scalar]]:
    if not isinstance(table, dict):
        return
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        elif isinstance(value, str | int | float | bool):
            yield prefix + key, value
        else:
            yield prefix + key, str(value)


def _join_pairs(values: dict[str, Scalar]) -> dict[str, Scalar]:
    """A table such as [spark.conf] as the one text that its setting would have."""
    for wanted in (one for one in _ALL if one.kind is Kind.PAIRS):
        prefix = wanted.name + "."
        inside = [key for key in values if key.startswith(prefix)]
        lines = [f"{key.removeprefix(prefix)}={_word(values.pop(key))}\n" for key in inside]
        if lines:
            values[wanted.name] = "".join(lines)
    return values


def _word(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(wanted: Setting) -> Scalar:
    if wanted.name == "author":
        return default_author()
    return None if wanted.default is None else parse(wanted, wanted.default, "default")


def default_author() -> str:
    import getpass

    try:
        login = getpass.getuser()
    except (KeyError, OSError):
        login = str(os.getuid())
    return f"{login}@{os.uname().nodename}"


# Reading values ---------------------------------------------------------------------------

_YES = frozenset(("1", "true", "yes", "on"))
_NO = frozenset(("0", "false", "no", "off"))
# Compiled when first needed: most commands read no size and no duration.
_SIZE = r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)b?"
_DURATION_PART = r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)"
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse(wanted: Setting, raw: Scalar, where: str) -> Scalar:
    """The typed value, or `Usage` that names where the text stands."""
    if raw is None:
        return None
    try:
        match wanted.kind:
            case Kind.FLAG:
                return parse_flag(raw)
            case Kind.NUMBER:
                return parse_number(raw)
            case Kind.SIZE:
                return parse_size(raw)
            case Kind.DURATION:
                return parse_duration(raw)
            case Kind.CHOICE:
                return parse_choice(raw, wanted.choices)
            case Kind.PAIRS:
                parse_pairs(str(raw))
                return str(raw)
            case Kind.TEXT:
                return str(raw)
    except ValueError as error:
        raise Usage(f"{where}: {error}.") from None


def parse_flag(raw: Scalar) -> bool:
    if isinstance(raw, bool):
        return raw
    word = str(raw).strip().lower()
    if word in _YES | _NO:
        return word in _YES
    raise ValueError(f'"{raw}" is neither yes nor no')


def parse_number(raw: Scalar) -> int:
    text = str(raw).strip()
    if not isinstance(raw, bool) and text.isascii() and text.isdigit():
        return int(text)
    raise ValueError(f'"{raw}" is not a whole number')


def parse_size(raw: Scalar) -> int:
    """`64MiB`, `64M` and `65536K` are powers of 1024; `64MB` is one of 1000; `64` is bytes."""
    found = None if isinstance(raw, bool) else re.fullmatch(_SIZE, str(raw).strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f'"{raw}" is not a size such as 64MiB or 100kB')
    number, prefix, binary = found.groups()
    decimal = not binary and str(raw).strip().lower().endswith("b") and prefix
    power = " kmgtp".index(prefix.lower() or " ")
    return int(float(number) * (1000 if decimal else 1024) ** power)


def parse_duration(raw: Scalar) -> float:
    """Seconds from `90s`, `24h`, `1h30m`, `500ms`; a plain number is seconds."""
    text = str(raw).strip().lower()
    if not isinstance(raw, bool) and re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if not text or re.sub(_DURATION_PART, "", text).strip():
        raise ValueError(f'"{raw}" is not a duration such as 90s, 24h or 1d')
    return sum(float(n) * _SECONDS[unit] for n, unit in re.findall(_DURATION_PART, text))


def parse_choice(raw: Scalar, choices: tuple[str, ...]) -> str:
    if str(raw) in choices:
        return str(raw)
    raise ValueError(f'"{raw}" is none of {", ".join(choices)}')


def parse_pairs(text: str) -> dict[str, str]:
    """`a=1;b=2`, or one pair in each line where a value holds a semicolon."""
    pairs = {}
    for part in text.split("\n" if "\n" in text else ";"):
        name, equals, value = part.partition("=")
        if part.strip() and not (name.strip() and equals):
            raise ValueError(f'"{part.strip()}" is not of the form name=value')
        if part.strip():
            pairs[name.strip()] = value.strip()
    return pairs


# Which lake -------------------------------------------------------------------------------


def find_lake(
    start: Path | None = None,
    explicit: str | Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Path:
    """The `.trunkline` folder meant: `explicit`, else TRUNKLINE_LAKE, else the nearest upwards.

    Lakes behind servers, and contexts, are known to `sdk.places`.
    """
    environ = os.environ if environ is None else environ
    named = explicit or environ.get(SETTINGS["lake"].variable)
    if named:
        return named_lake(str(named))
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / LAKE_FOLDER / LAKE_FILE).is_file():
            return folder / LAKE_FOLDER
    raise NotFound(
        f"There is no lake in {here} or any folder above it.",
        hint="trunkline init makes one here; --lake names one elsewhere.",
    )


def named_lake(text: str) -> Path:
    """The `.trunkline` folder that a path means: itself, or one in it."""
    if "://" in text:
        raise Usage(
            f"{without_password(text)} is an address, and lakes are opened here in folders only.",
            hint="Name the folder that holds .trunkline.",
        )
    path = Path(text).expanduser().absolute()
    for folder in (path / LAKE_FOLDER, path):
        if (folder / LAKE_FILE).is_file():
            return folder
    hint = f"trunkline init {text} makes one there."
    if path.is_file():
        hint = "A lake is a folder."
    elif re.fullmatch(r"[A-Za-z0-9.-]+:\d+/?", text):
        hint = f"The address of a server starts with http: http://{text}"
    raise NotFound(f"{path} is not a lake.", hint=hint)


def without_password(url: str) -> str:
    return re.sub(r"//[^/@]*@", "//", url)
