"""Environments: branches of all repos of a project, and the versions of pipelines in them."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "environments",
        sa.Column("project", sa.Text, sa.ForeignKey("projects.name"), primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("base", sa.Text, nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
    )
    op.create_table(
        "environment_pipelines",
        sa.Column("repo", BigKey, sa.ForeignKey("pipelines.repo"), primary_key=True),
        sa.Column("environment", sa.Text, primary_key=True),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("base_version", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "environment_inputs",
        sa.Column("repo", BigKey, sa.ForeignKey("pipelines.repo"), primary_key=True),
        sa.Column("environment", sa.Text, primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("source_repo", BigKey, sa.ForeignKey("repos.key"), nullable=False),
        sa.Column("branch", sa.Text, nullable=False),
        sa.Column("propagation", sa.BigInteger, nullable=False),
        sa.Column("is_leaf", sa.BigInteger, nullable=False),
    )
    op.create_index("environment_inputs_by_source", "environment_inputs", ["source_repo", "branch"])
    for table in ("jobs", "pipeline_versions"):
        op.add_column(table, sa.Column("environment", sa.Text, nullable=False, server_default=""))
