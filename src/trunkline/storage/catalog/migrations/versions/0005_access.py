"""Who may do what, what was done, and how far followers of events have come."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("password", sa.Text),
        sa.Column("email", sa.Text, nullable=False, server_default=""),
        sa.Column("identity", sa.Text, unique=True),
        sa.Column("disabled", sa.Integer, nullable=False, server_default="0"),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "grants",
        sa.Column("subject", sa.Text, sa.ForeignKey("users.name"), primary_key=True),
        sa.Column("scope", sa.Text, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False, server_default=""),
        sa.Column("limits", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger),
        sa.Column("last_used", sa.BigInteger),
        sa.Column("revoked", sa.BigInteger),
    )
    op.create_index("tokens_by_owner", "tokens", ["owner"])
    op.create_table(
        "audit",
        sa.Column("position", BigKey, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False, server_default=""),
        sa.Column("request", sa.Text, nullable=False, server_default=""),
        sa.Column("detail", sa.Text, nullable=False, server_default=""),
    )
    op.create_index("audit_by_time", "audit", ["at"])
    # Answers to requests that came with a key of their own, to be given again.
    op.create_table(
        "requests",
        sa.Column("owner", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("body", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "followers",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, nullable=False),
    )
