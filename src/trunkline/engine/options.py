"""How Spark is to be started: our settings as Spark's. Imports no pyspark."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trunkline.errors import Usage
from trunkline.pipelines.sparksettings import OURS, is_foreign
from trunkline.settings import Settings
from trunkline.storage.objects.outside import PREFIX

TRIES = 4
LEAST_MEMORY = 512 << 20  # Spark itself refuses less than 450 MiB
_GIB = 1 << 30
HADOOP_CONF = {
    "fs.tlslice.impl": "io.trunkline.SliceFileSystem",
    # It opens objects with the settings of whoever asks, not of who asked first.
    "fs.tlslice.impl.disable.cache": "true",
    # Damaged bytes are an error, never wrong rows.
    "parquet.page.verify-checksum.enabled": "true",
}


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where Spark runs and with what. `conf` holds settings of Spark's own, and wins."""

    master: str = "local[*]"
    remote: str = ""
    memory: int = 0
    packages: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    app_name: str = "trunkline"
    cache: Path = field(default_factory=lambda: cache_folder())
    archive: bool = True
    linger: float = 0.0
    """How long it stays for another command after the one that started it, in seconds."""
    bucket: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What Hadoop must know of the lake's bucket, with credentials."""
    outside: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How buckets are reached that the lake refers to."""

    @property
    def is_local(self) -> bool:
        return not self.remote and self.master.startswith("local")

    @property
    def driver_memory(self) -> int:
        return self.memory or default_memory()

    @classmethod
    def of(
        cls, settings: Settings, store: tuple[str, Mapping[str, str]] | None = None
    ) -> SparkOptions:
        """The options that the settings ask for, or `Usage` that names the setting.

        `store` is the address of the lake's store, if Spark is to read and write it.
        """
        from trunkline.engine.buckets import hadoop_conf

        conf = settings.pairs("spark.conf")
        for name in conf:
            if not name.startswith("spark."):
                raise Usage(
                    f'spark.conf: "{name}" is not a setting of Spark.',
                    hint="Their names start with spark., as spark.sql.shuffle.partitions.",
                )
            if is_foreign(name) and OURS.get(name) != conf[name]:
                raise Usage(
                    f"spark.conf: {name} decides results, so it cannot be another for each Spark.",
                    hint="Say it in the pipelines that need it: spark: in the spec.",
                )
        memory = int(settings["spark.memory"].value or 0)
        if 0 < memory < LEAST_MEMORY:
            raise Usage(f"{settings['spark.memory'].where}: Spark needs 512MiB or more.")
        packages = [p.strip() for p in settings.text("spark.packages").split(",") if p.strip()]
        for package in packages:
            if not re.fullmatch(r"[\w.-]+:[\w.-]+:[\w.-]+", package):
                raise Usage(
                    f'spark.packages: "{package}" is not a Maven coordinate.',
                    hint="Write group:artifact:version.",
                )
        return cls(
            master=conf.pop("spark.master", settings.text("spark.master")),
            remote=conf.pop("spark.remote", settings.text("spark.remote")),
            memory=memory,
            packages=tuple(packages),
            conf=conf,
            archive=settings.flag("spark.archive"),
            linger=settings.seconds("spark.linger"),
            bucket=hadoop_conf(store),
            outside=_outside(store),
        )

    def spark_conf(self) -> dict[str, str]:
        """What Spark is told, ours first and the user's over it."""
        conf = {
            "spark.master": retrying(self.master),
            "spark.app.name": self.app_name,
            "spark.driver.memory": f"{self.driver_memory >> 20}m",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.scheduler.mode": "FAIR",
            "spark.task.maxFailures": str(TRIES),
            "spark.python.worker.reuse": "true",
            "spark.python.daemon.module": "trunkline.engine.daemon",
            # A cancelled task's Python is killed at once: its guardian then ends the commands.
            "spark.python.task.killTimeout": "100ms",
            # Over TCP a task waits some 40 ms for acknowledgements between small messages.
            "spark.python.unix.domain.socket.enabled": "true",
            # Small files share tasks: with 4 MiB, as it is otherwise, a thousand make dozens.
            "spark.sql.files.openCostInBytes": str(64 << 10),
            # A few partitions are written side by side, without sorting the rows first.
            "spark.sql.maxConcurrentOutputFileWriters": "8",
            **OURS,
            **{f"spark.hadoop.{name}": value for name, value in HADOOP_CONF.items()},
        }
        if self.is_local:
            conf["spark.driver.host"] = conf["spark.driver.bindAddress"] = "127.0.0.1"
            conf["spark.sql.shuffle.partitions"] = str(max(2, local_cores(self.master)))
        if self.packages:
            conf["spark.jars.packages"] = ",".join(self.packages)
            conf["spark.jars.ivy"] = str(self.cache / "ivy")
        return {**conf, **self.conf}


def retrying(master: str) -> str:
    """A local master that retries failed tasks, which a plain local[N] never does."""
    if master == "local":
        return f"local[1,{TRIES}]"
    return re.sub(r"^local\[([^,\]]+)\]$", rf"local[\1,{TRIES}]", master)


def local_cores(master: str) -> int:
    """The cores that a local master uses."""
    found = re.match(r"local\[(\d+)", master)
    if found:
        return int(found[1])
    return 1 if master == "local" else available_cores()


def available_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def default_memory() -> int:
    """A quarter of the machine's memory, or the container's, from 1 to 8 GiB."""
    return min(max(machine_memory() // 4, _GIB), 8 * _GIB) >> 20 << 20


def machine_memory() -> int:
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            sizes.append(int(Path(limit).read_text(encoding="ascii")))
        except (OSError, ValueError):  # none, or "max"
            continue
    return min(sizes)


def cache_folder(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or "~", ".cache")
    return Path(base).expanduser() / "trunkline" / "spark"


def _outside(store: tuple[str, Mapping[str, str]] | None) -> dict[str, str]:
    if store is None:
        return {}
    named = {name: value for name, value in store[1].items() if name.startswith(PREFIX)}
    if not named and store[0].startswith("s3://"):
        return dict(store[1])
    return {name.removeprefix(PREFIX): value for name, value in named.items()}
