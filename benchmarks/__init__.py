"""What Trunkline answers for, measured as ratios against its peers in one run.

One file per claim; its docstring says what is compared. `measure` times, `report` prints.
Every claim has `run(bench)`, which yields results as they come. Every peer does the same work
beside ours, in turns, with a warm page cache and a settled disk.
"""

CLAIMS = (
    "small_files",
    "large_files",
    "big_repo",
    "cold_start",
    "history",
    "memory",
    "catalog",
    "datums",
    "skipping",
    "chain",
    "tables_pipelines",
    "tables_partitions",
    "tables_tpch",
    "tables_planning",
    "tables_merge",
    "tables_chain",
    "tables_checks",
    "streams_throughput",
    "streams_latency",
    "streams_nexmark",
    "streams_history",
    "server_requests",
    "server_logins",
    "server_files",
    "server_s3",
    "console",
    "fields",
    "fields_shop",
    "world_sql",
)
