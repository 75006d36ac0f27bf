"""Spark's classes, ready to be mapped by the JVM (AppCDS): a start in less than half the time.

An archive fits one Java and one set of jars, which its name holds. Whoever starts Spark without
one leaves a process behind that makes it, at the lowest priority, for the next start. Nothing
here ever fails a start: without an archive Spark is slower, that is all.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from trunkline.engine.home import spark_home
from trunkline.engine.jar import jar_path
from trunkline.engine.java import Java

NEEDED_SPACE = 1 << 30
RETRY_AFTER = 86400.0
UNUSED_AFTER = 30 * 86400.0


def archive_path(cache: Path, java: Java, home: Path) -> Path:
    """Where the archive for that Java and these jars is, or would be."""
    own = jar_path(cache, home)
    digest = hashlib.sha256(f"{java.home}\0{java.version}\0{home}\0{own}\0".encode())
    with os.scandir(home / "jars") as jars:
        for jar in sorted(jars, key=lambda jar: jar.name):
            facts = jar.stat()
            digest.update(f"{jar.name}\0{facts.st_size}\0{facts.st_mtime_ns}\0".encode())
    return cache / f"classes-{java.major}-{digest.hexdigest()[:24]}.jsa"


def use_option(archive: Path) -> str:
    """The JVM's option to use it; a JVM that finds it unfit goes on without."""
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto -Xlog:disable -Xlog:all=error:stderr'


def is_ready(archive: Path) -> bool:
    try:
        os.utime(archive)  # in use, so not to be cleared away
    except PermissionError:
        return os.access(archive, os.R_OK)
    except OSError:
        return False
    return True


def make_in_background(cache: Path) -> None:
    """Leave a process behind that makes the archive, unless one is at it or there is no room."""
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        if not os.access(cache, os.W_OK) or shutil.disk_usage(cache).free < NEEDED_SPACE:
            return
        subprocess.Popen(
            [sys.executable, "-m", "trunkline.engine.archive", str(cache)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )


@contextlib.contextmanager
def _alone(cache: Path) -> Iterator[bool]:
    """Whether this process is the only one that makes an archive here. A crash frees the lock."""
    with open(cache / "making.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True


def make(cache: Path, *, patience: float = 300.0) -> bool:
    """Run Spark once and keep the classes it loaded. False when there was nothing to do."""
    from trunkline.engine import session
    from trunkline.engine.java import find_java

    cache.mkdir(parents=True, exist_ok=True)
    java = find_java()
    archive = archive_path(cache, java, spark_home())
    failed, part = archive.with_suffix(".failed"), archive.with_suffix(".part")
    with _alone(cache) as alone:
        if not alone or archive.exists() or _young(failed, RETRY_AFTER):
            return False
        part.unlink(missing_ok=True)
        failed.touch()  # until it worked
        try:
            option = f'"-XX:ArchiveClassesAtExit={part}" -Xlog:disable -Xlog:all=error:stderr'
            session.rehearse(cache, option, patience)
            part.chmod(0o600)
            os.replace(part, archive)
            failed.unlink(missing_ok=True)
        finally:
            part.unlink(missing_ok=True)
        for other in cache.glob("classes-*"):
            if other != archive and not _young(other, UNUSED_AFTER):
                other.unlink(missing_ok=True)
    return True


def _young(path: Path, age: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime < age
    except OSError:
        return False


if __name__ == "__main__":
    os.nice(19)
    make(Path(sys.argv[1]))
