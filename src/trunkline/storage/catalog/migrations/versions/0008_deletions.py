"""What was deleted and can be had back: repos that are only hidden, and where refs pointed."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    # Whoever looks for repos by name, or for all that there are, sees those that were not deleted.
    op.rename_table("repos", "every_repo")
    op.add_column("every_repo", sa.Column("deleted", sa.BigInteger))
    op.execute(
        """CREATE VIEW repos AS SELECT key, project, name, kind, description, created
           FROM every_repo WHERE deleted IS NULL"""
    )
    op.create_table(
        "deletions",
        sa.Column("position", BigKey, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("ref", sa.Text, nullable=False, server_default=""),
        sa.Column("repo", BigKey, sa.ForeignKey("every_repo.key"), nullable=False),
        sa.Column("commit_id", sa.Text),
        sa.Column("content", sa.Text, nullable=False, server_default="{}"),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("part_of", BigKey),
        sa.ForeignKeyConstraint(["repo", "commit_id"], ["commits.repo", "commits.id"]),
    )
    op.create_index("deletions_by_name", "deletions", ["project", "name"])
    op.create_index("deletions_by_commit", "deletions", ["repo", "commit_id"])
