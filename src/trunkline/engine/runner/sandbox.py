"""`/pfs` for programs that were written for it: a view of the file system of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Protocol

from trunkline.engine.runner.code import Code, mentions_pfs
from trunkline.engine.runner.failure import DatumFailed
from trunkline.engine.runner.folder import Folder
from trunkline.engine.runner.log import Log
from trunkline.engine.runner.process import Processes
from trunkline.engine.runner.task import Work
from trunkline.engine.runner.workspace import Workspace
from trunkline.model.pipelines import Sandbox as Choice

# A new root that has everything of the old one and pfs besides: the old one need not be
# writable. It is made once; the datums come and go below the folder that is bound there.
_HOLDER = r"""
set -e
root=$1 pfs=$2 cwd=$3
mount -t tmpfs -o mode=755 tmpfs "$root"
for place in /* /.[!.]*; do
  [ -e "$place" ] || [ -L "$place" ] || continue
  [ "$place" = /pfs ] && continue
  if [ -L "$place" ]; then cp -P "$place" "$root$place"
  elif [ -d "$place" ]; then mkdir "$root$place"; mount --rbind "$place" "$root$place"
  else : > "$root$place"; mount --bind "$place" "$root$place"
  fi
done
mkdir "$root/pfs"
mount --bind "$pfs" "$root/pfs"
cd "$root$cwd"
exec chroot "$root" /bin/sh -c 'cd "$1" && echo ready && read -r _' sh "$cwd"
"""


class Sandbox(Protocol):
    """A way to run a command so that it sees the datum's pfs folder at /pfs."""

    def wrap(self, command: Sequence[str]) -> list[str]:
        """The command that runs this command inside."""

    def close(self) -> None: ...


def choose_sandbox(
    work: Work, code: Code, space: Workspace, folder: Folder, processes: Processes, log: Log
) -> Sandbox | None:
    """The sandbox of a job, or None if it needs none or none can be had."""
    if work.sandbox is Choice.OFF:
        return None
    if work.sandbox is Choice.AUTO and not _is_wanted(work, code):
        return None
    reasons: list[str] = []
    for kind in (Bubblewrap, Namespace):
        try:
            return kind(space, folder, processes)
        except _Unusable as unusable:
            reasons.append(str(unusable))
    why = "; ".join(reasons)
    if work.sandbox is Choice.ON:
        raise DatumFailed(f"no sandbox can be had: {why}", is_final=True)
    log.note(f"there is no /pfs here, only pfs/ in the working folder: {why}")
    return None


def _is_wanted(work: Work, code: Code) -> bool:
    texts = (*work.cmd, *work.stdin, *work.err_cmd, *work.err_stdin, *work.env.values())
    return code.wants_pfs or any(mentions_pfs(text.encode()) for text in texts)


class _Unusable(Exception):
    pass


class Bubblewrap:
    """A new view for each command; all but the working folder and /tmp is read-only."""

    def __init__(self, space: Workspace, folder: Folder, processes: Processes) -> None:
        program = shutil.which("bwrap")
        if program is None:
            raise _Unusable("bubblewrap is not installed")
        self._start = [program, "--die-with-parent", *_views()]
        self._start += ["--bind", space.path, space.path, "--bind", folder.pfs, "/pfs"]
        self._start += ["--chdir", folder.cwd, "--"]
        done = subprocess.run([*self._start, "true"], capture_output=True, text=True)
        if done.returncode:
            raise _Unusable(f"bubblewrap does not work here: {_last_line(done.stderr)}")

    def wrap(self, command: Sequence[str]) -> list[str]:
        return [*self._start, *command]

    def close(self) -> None:
        pass


def _views() -> list[str]:
    """Options that show each folder of the root where it is."""
    found: list[str] = []
    for entry in sorted(os.scandir("/"), key=lambda entry: entry.name):
        if entry.is_symlink():
            found += ["--symlink", os.readlink(entry.path), entry.path]
        elif entry.name == "dev":
            found += ["--dev-bind", "/dev", "/dev"]
        elif entry.name == "tmp":
            found += ["--bind", "/tmp", "/tmp"]
        elif entry.name != "pfs":
            found += ["--ro-bind", entry.path, entry.path]
    return found


class Namespace:
    """One mount namespace for all commands, held by a process that waits for our end."""

    def __init__(self, space: Workspace, folder: Folder, processes: Processes) -> None:
        unshare, enter = shutil.which("unshare"), shutil.which("nsenter")
        if unshare is None or enter is None:
            raise _Unusable("unshare or nsenter is not installed")
        self._space = space
        self._folder = folder
        self._processes = processes
        self._is_root = os.geteuid() == 0
        self._unshare = [unshare, "-m" if self._is_root else "-rm", "--propagation", "private"]
        self._enter = enter
        self._holder: subprocess.Popen[bytes] | None = None
        self._generation = -1
        self._hold()

    def wrap(self, command: Sequence[str]) -> list[str]:
        if self._generation != self._folder.generation:
            self.close()
            self._hold()
        assert self._holder is not None
        target = str(self._holder.pid)
        user = [] if self._is_root else ["-U", "--preserve-credentials"]
        return [self._enter, "-t", target, *user, "-m", "-r", "-w", "--", *command]

    def close(self) -> None:
        if self._holder is not None:
            with self._holder as holder:  # closes the pipes
                holder.kill()
            self._holder = None

    def _hold(self) -> None:
        root = self._space.path + "/root"
        os.makedirs(root, exist_ok=True)
        arguments = [*self._unshare, "/bin/sh", "-c", _HOLDER, "sh", root]
        self._holder = subprocess.Popen(
            [*arguments, self._folder.pfs, self._folder.cwd],
            env={"PATH": os.environ.get("PATH", os.defpath)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self._holder.stdout is not None
        assert self._holder.stderr is not None
        answer = self._holder.stdout.readline()
        self._processes.adopt(self._holder.pid)
        self._generation = self._folder.generation
        if answer.strip() != b"ready":
            why = _last_line(self._holder.stderr.read().decode(errors="replace"))
            self.close()
            raise _Unusable(f"a mount namespace cannot be had: {why}")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "no reason was given"
