"""Names of the files that we write: they follow from what is in them."""

from __future__ import annotations

from trunkline.model.paths import join


class Namer:
    """Names for the files of one write, none twice in a folder."""

    def __init__(self, suffix: str = "") -> None:
        self._suffix = f"-{suffix}" if suffix else ""
        self._taken: dict[str, int] = {}

    def path(self, folder: str, below: str, digest: str) -> str:
        """A new path in `folder`/`below` for a file with that hash.

        The middle of a fingerprint tells more than its start, which counts the rows.
        """
        name = join(folder, *([below] if below else []), f"part-{digest[16:28]}{self._suffix}")
        count = self._taken[name] = self._taken.get(name, 0) + 1
        return f"{name}.parquet" if count == 1 else f"{name}-{count}.parquet"
