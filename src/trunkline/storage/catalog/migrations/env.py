"""How Alembic runs our migrations: on the connection, and in the transaction, it is handed."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
