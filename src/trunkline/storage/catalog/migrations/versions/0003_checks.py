"""What became of expectations, job by job; and jobs that run again what was quarantined."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "checks",
        sa.Column("repo", BigKey, primary_key=True),
        sa.Column("job", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("of_table", sa.Text, nullable=False),
        sa.Column("row_count", sa.BigInteger, nullable=False),
        sa.Column("broken", sa.BigInteger, nullable=False),
        sa.Column("said", sa.Text, nullable=False),
        sa.Column("samples", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["repo", "job"], ["jobs.repo", "jobs.id"]),
    )
    op.create_index("checks_by_time", "checks", ["repo", "at"])
    op.add_column("jobs", sa.Column("replay", sa.Text, nullable=False, server_default=""))
