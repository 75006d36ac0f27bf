"""Bodies of requests: commits: log, sets, merges, reverts; open commits; diffs."""
