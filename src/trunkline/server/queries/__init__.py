"""Queries that run: waiting for their turn, spooled to disk, kept for a while, cancelled.

`keeper` has them all, `query` is one of them, `spool` its rows on disk. `processes` are those that
DuckDB runs in (`process` is one of them, from within), `forwarding` is the way to the worker's,
which has the Spark. Routes see `keeper` alone.
"""
