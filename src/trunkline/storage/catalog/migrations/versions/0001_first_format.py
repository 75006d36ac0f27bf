"""The first format: projects, repos, commits, refs, leases, events, erasures."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite gives row ids only to INTEGER keys; PostgreSQL should not run out of them.
BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "meta",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
    op.create_table(
        "projects",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "repos",
        sa.Column("key", BigKey, primary_key=True),
        sa.Column("project", sa.Text, sa.ForeignKey("projects.name"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("project", "name"),
    )
    op.create_table(
        "commits",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("parent", sa.Text),
        sa.Column("merged", sa.Text, nullable=False, server_default=""),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("finished", sa.BigInteger),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("root", sa.Text),
        sa.Column("root_hash", sa.Text),
        sa.Column("files", sa.BigInteger, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("depth", sa.BigInteger, nullable=False),
        sa.Column("generation", sa.BigInteger, nullable=False),
        sa.Column("jump", sa.Text),
        sa.Column("request", sa.Text),
        sa.Column("unreferenced", sa.BigInteger),
        sa.Column("forgotten", sa.BigInteger),
        sa.UniqueConstraint("repo", "request"),
    )
    op.create_index("commits_by_id", "commits", ["id"])
    op.create_index("commits_by_parent", "commits", ["repo", "parent"])
    op.create_table(
        "provenance",
        sa.Column("repo", BigKey, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("source_repo", BigKey, primary_key=True),
        sa.Column("source_id", sa.Text, primary_key=True),
        sa.ForeignKeyConstraint(["repo", "id"], ["commits.repo", "commits.id"]),
        sa.ForeignKeyConstraint(["source_repo", "source_id"], ["commits.repo", "commits.id"]),
    )
    op.create_index("provenance_by_source", "provenance", ["source_repo", "source_id"])
    op.create_table(
        "branches",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("head", sa.Text),
        sa.Column("open", sa.Text),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["repo", "head"], ["commits.repo", "commits.id"]),
        sa.ForeignKeyConstraint(["repo", "open"], ["commits.repo", "commits.id"]),
    )
    op.create_table(
        "tags",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("commit_id", sa.Text, nullable=False),
        sa.Column("message", sa.Text, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["repo", "commit_id"], ["commits.repo", "commits.id"]),
    )
    op.create_table(
        "staged",
        sa.Column("repo", BigKey, primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(["repo", "id"], ["commits.repo", "commits.id"]),
    )
    op.create_table(
        "leases",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("started", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("repo", BigKey),
        sa.Column("commit_id", sa.Text),
    )
    op.create_table(
        "reflog",
        sa.Column("position", BigKey, primary_key=True),
        sa.Column("repo", BigKey, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("old", sa.Text),
        sa.Column("new", sa.Text),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("position", BigKey, primary_key=True),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("project", sa.Text, nullable=False),
        sa.Column("repo", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
    )
    op.create_table(
        "erasures",
        sa.Column("position", BigKey, primary_key=True),
        sa.Column("repo", BigKey, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("hash", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
    )
    op.create_index("erasures_by_key", "erasures", ["key"])
    op.execute("INSERT INTO meta (name, value) VALUES ('format', '1')")
