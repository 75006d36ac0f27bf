"""Rows of a table changed in place. Only the files that hold such rows are rewritten."""
