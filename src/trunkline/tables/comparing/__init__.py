"""What differs between two versions of a table, row by row."""
