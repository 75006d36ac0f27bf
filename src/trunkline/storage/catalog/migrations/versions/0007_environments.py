"""Environments: branches of all repos of a project, and the versions of pipelines in them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "environments",
        sa.Column("project", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("base", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
    )
