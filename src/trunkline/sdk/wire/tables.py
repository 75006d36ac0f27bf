"""Bodies of requests: tables: described, read, written, compared; checks."""
