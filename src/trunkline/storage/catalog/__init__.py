"""The catalog: repos, branches, commits, leases and events, in one database.

Two small layers. `database` runs SQL in transactions on SQLite (standard library, so that
a cold start stays short) or PostgreSQL (SQLAlchemy). The modules named by nouns (`repos`,
`commits`, `refs`, `leases`, `events`) each hold that noun's statements, written once for both.

Always true: one writer at a time; a write transaction is durable when it returns; times come
from the database's clock. Facts about single files are never rows here: they live in manifests.
"""

from trunkline.storage.catalog.database import Database, Row, Session
from trunkline.storage.catalog.open import (
    FORMAT,
    create,
    is_new,
    migrate,
    open_database,
    read_format,
)

__all__ = [
    "FORMAT",
    "Database",
    "Row",
    "Session",
    "create",
    "is_new",
    "migrate",
    "open_database",
    "read_format",
]
