"""The files that travel with ingests, on the disk of this computer."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path

from trunkline.lake.core import Core
from trunkline.lake.files import read
from trunkline.lake.versions import code_of
from trunkline.model.commits import RepoName
from trunkline.model.entries import Entry
from trunkline.storage.catalog.pipelines import VersionRow


class CodeFolders:
    """The code of ingests on this computer's disk, by version."""

    def __init__(self, core: Core, work_folder: Path | None) -> None:
        self._core = core
        self._work = work_folder
        self._folders: dict[str, Path] = {}
        self._lock = threading.Lock()

    def of(self, name: RepoName, version: VersionRow) -> Path:
        with self._lock:
            folder = self._folders.get(version.code)
            if folder is None:
                folder = Path(tempfile.mkdtemp(prefix="ingest-code-", dir=self._work))
                for line in code_of(self._core, name, version.code):
                    entry = Entry.decode(line)
                    target = folder / entry.path.lstrip("/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(b"".join(read(self._core, entry)))
                self._folders[version.code] = folder
            return folder

    def close(self) -> None:
        with self._lock:
            for folder in self._folders.values():
                shutil.rmtree(folder, ignore_errors=True)
            self._folders.clear()
