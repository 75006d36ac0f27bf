"""Rows of a table without Spark: as Arrow, in DuckDB, and as text for people."""
