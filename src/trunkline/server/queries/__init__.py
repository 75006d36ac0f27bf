"""Queries that run: waiting for their turn, spooled to disk, kept for a while, cancelled.

`keeper` has them all, `query` is one of them, `spool` its rows on disk, `forwarding` the way to
the worker's process, which has the Spark. Routes see `keeper` alone.
"""
