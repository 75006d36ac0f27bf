"""Streams and ingests: how far each has come, and what is known of each of their commits."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "flows",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False, server_default="1"),
        sa.Column("number", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("position", sa.Text, nullable=False, server_default="{}"),
        sa.Column("state", sa.Text, nullable=False, server_default="idle"),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("facts", sa.Text, nullable=False, server_default="{}"),
        sa.Column("updated", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("holder", sa.Text),
        sa.Column("expires", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("fence", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "batches",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("first", sa.BigInteger, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
    )
    op.create_index("batches_by_number", "batches", ["repo", "epoch", "number"])
    op.add_column("jobs", sa.Column("lane", sa.Text, nullable=False, server_default=""))
