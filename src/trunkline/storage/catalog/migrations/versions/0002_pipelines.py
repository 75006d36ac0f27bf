"""Pipelines: their versions and inputs, jobs, triggers, schedules, pools and backfills."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

BigKey = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _number(name: str, default: int = 0) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=str(default))


def _text(name: str, default: str = "") -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=False, server_default=default)


def upgrade() -> None:
    op.create_table(
        "pipelines",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("code_repo", BigKey, sa.ForeignKey("repos.key"), nullable=False),
        _number("version"),
        _number("paused"),
        _number("pending"),
        sa.Column("results", sa.Text),
        sa.Column("results_hash", sa.Text),
        _number("created"),
        _number("updated"),
    )
    op.create_table(
        "pipeline_versions",
        sa.Column("repo", BigKey, sa.ForeignKey("pipelines.repo"), primary_key=True),
        sa.Column("version", sa.BigInteger, primary_key=True),
        _text("spec"),
        _text("digest"),
        _text("salt"),
        _text("code"),
        _number("created"),
        _text("author"),
    )
    op.create_table(
        "pipeline_inputs",
        sa.Column("repo", BigKey, sa.ForeignKey("pipelines.repo"), primary_key=True),
        sa.Column("position", sa.BigInteger, primary_key=True),
        _text("name"),
        sa.Column("source_repo", BigKey, sa.ForeignKey("repos.key"), nullable=False),
        _text("branch"),
        _number("propagation", 1),
        _number("is_leaf", 1),
    )
    op.create_index("pipeline_inputs_by_source", "pipeline_inputs", ["source_repo", "branch"])
    op.create_table(
        "jobs",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("id", sa.Text, primary_key=True),
        _number("version"),
        _text("branch"),
        _text("state"),
        _text("reason"),
        _text("cause"),
        _number("created"),
        sa.Column("started", sa.BigInteger),
        sa.Column("finished", sa.BigInteger),
        _number("attempt"),
        _number("not_before"),
        _number("priority"),
        _text("pool"),
        sa.Column("holder", sa.Text),
        _number("expires"),
        _number("fence"),
        _text("counts", "{}"),
        _text("inputs", "[]"),
        sa.Column("index_key", sa.Text),
        sa.Column("index_hash", sa.Text),
        _text("digest"),
        sa.Column("spark_application", sa.Text),
        sa.Column("backfill", sa.Text),
    )
    op.create_index("jobs_by_time", "jobs", ["created", "id"])
    op.create_index("jobs_of_pipeline", "jobs", ["repo", "created"])
    op.create_index("jobs_by_id", "jobs", ["id"])
    unfinished = sa.text("finished IS NULL")
    op.create_index(
        "jobs_unfinished",
        "jobs",
        ["repo", "branch", "created"],
        sqlite_where=unfinished,
        postgresql_where=unfinished,
    )
    op.create_table(
        "triggers",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("branch", sa.Text, primary_key=True),
        _text("spec"),
        _text("verdict"),
        sa.Column("evaluated", sa.BigInteger),
        sa.Column("slot", sa.BigInteger),
        _number("created"),
    )
    op.create_table(
        "crons",
        sa.Column("repo", BigKey, sa.ForeignKey("repos.key"), primary_key=True),
        sa.Column("pipeline", BigKey, sa.ForeignKey("pipelines.repo"), nullable=False),
        _text("spec"),
        _number("started"),
        sa.Column("slot", sa.BigInteger),
    )
    op.create_table(
        "pools",
        sa.Column("name", sa.Text, primary_key=True),
        _number("slots", 1),
    )
    op.create_table(
        "backfills",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("repo", BigKey, sa.ForeignKey("pipelines.repo"), nullable=False),
        _text("branch"),
        _text("span"),
        _text("state", "running"),
        _number("created"),
        _text("author"),
    )
