"""What a command finds in its environment: what it is told, and nothing of the server's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from trunkline.engine.runner.task import DatumInput, DatumTask, Work

_INHERITED = ("PATH", "LANG", "TZ")
SCRATCH_NAMES = ("TMPDIR", "TMP", "TEMP")


def common_environment(work: Work, home: str, scratch: str) -> dict[bytes, bytes]:
    """What is the same for all datums of a job."""
    found = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    found.setdefault("PATH", os.defpath)
    found |= {
        "HOME": home,
        **dict.fromkeys(SCRATCH_NAMES, scratch),
        "TL_JOB_ID": work.job,
        "TL_OUTPUT_COMMIT": work.output_commit,
        "TL_PIPELINE": work.pipeline,
        "TL_PROJECT": work.project,
        "PACH_JOB_ID": work.job,
        "PACH_OUTPUT_COMMIT": work.output_commit,
        "PACH_OUTPUT_COMMIT_ID": work.output_commit,
        "PPS_PIPELINE_NAME": work.pipeline,
        "PPS_PROJECT_NAME": work.project,
    }
    found.update(work.env)
    found.update(work.secrets)
    return {os.fsencode(name): os.fsencode(value) for name, value in found.items()}


def add_datum(
    found: dict[bytes, bytes], datum: DatumTask, path_of: Callable[[DatumInput], str]
) -> None:
    """What is said of one datum. Where an input has several files, its name has the first.

    What is there already stays: an input called PATH does not hide the programs.
    """
    add = found.setdefault
    id_ = datum.id.encode()
    add(b"TL_DATUM_ID", id_)
    add(b"PACH_DATUM_ID", id_)
    for one in datum.inputs:
        name = one.name.encode()
        add(name, path_of(one).encode())
        add(name + b"_COMMIT", one.commit.encode())
        if one.join_on:
            value = one.join_on.encode()
            add(b"TL_DATUM_" + name + b"_JOIN_ON", value)
            add(b"PACH_DATUM_" + name + b"_JOIN_ON", value)
        if one.group_by:
            value = one.group_by.encode()
            add(b"TL_DATUM_" + name + b"_GROUP_BY", value)
            add(b"PACH_DATUM_" + name + b"_GROUP_BY", value)


@contextmanager
def scratch_in(folder: str) -> Iterator[None]:
    """Have what runs in this process, and what it starts, leave its scratch in a folder."""
    before, known = tempfile.tempdir, {name: os.environ.get(name) for name in SCRATCH_NAMES}
    tempfile.tempdir = folder
    os.environ.update(dict.fromkeys(SCRATCH_NAMES, folder))
    try:
        yield
    finally:
        tempfile.tempdir = before
        for name, value in known.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
