"""Trunkline in a notebook: `%load_ext trunkline`.

`%tl` is the command line, `%%tl sql` a cell of SQL whose answer is a value, and results look like
tables. What is displayed without the extension is said by `_repr_html_` of each result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load(shell: InteractiveShell) -> None:
    """What `%load_ext trunkline` does."""
    from trunkline.notebook.display import show_lists
    from trunkline.notebook.magics import LakeMagics

    shell.register_magics(LakeMagics)
    show_lists(shell)
