"""Rows into a table: which modes and columns fit, the files, and what is recorded of them."""
