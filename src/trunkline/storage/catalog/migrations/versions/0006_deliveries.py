"""What jobs deliver to the world outside: one row for each target of each job."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "deliveries",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("commit_id", sa.Text, primary_key=True),
        sa.Column("target", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False, server_default="waiting"),
        sa.Column("reason", sa.Text, nullable=False, server_default=""),
        sa.Column("attempt", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("not_before", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("holder", sa.Text),
        sa.Column("expires", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("fence", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("started", sa.BigInteger),
        sa.Column("finished", sa.BigInteger),
        sa.Column("receipt", sa.Text, nullable=False, server_default="{}"),
    )
    op.create_index("deliveries_order", "deliveries", ["repo", "target", "position"])
    unfinished = sa.text("finished IS NULL")
    op.create_index(
        "deliveries_unfinished",
        "deliveries",
        ["repo", "target", "position"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
