"""What the next format could bring: a table, a column, facts moved, the number at the end."""

import os
import signal
from pathlib import Path

import sqlalchemy as sa
from alembic import op

from trunkline.storage import catalog

_LATEST = max((Path(catalog.__file__).parent / "migrations" / "versions").glob("[0-9]*.py"))

revision = "next"
down_revision = _LATEST.stem.partition("_")[0]


def upgrade() -> None:
    op.create_table("notes", sa.Column("id", sa.Text, primary_key=True))
    op.add_column("every_repo", sa.Column("color", sa.Text))
    op.execute("INSERT INTO notes (id) SELECT id FROM commits")
    if os.environ.get("DIE_IN_MIGRATION"):
        os.kill(os.getpid(), signal.SIGKILL)
    op.create_table("more_notes", sa.Column("id", sa.Text, primary_key=True))
    op.execute("UPDATE meta SET value = value + 1 WHERE name = 'format'")
