"""Nexmark, the common benchmark of stream processors: an auction site.

`generator` makes the events, `queries` asks in Structured Streaming, `answers` asks DuckDB the
same of the same events. `pipelines` has the queries as stream pipelines; `plain` runs them in
Spark alone, from files to files, and is what the pipelines are measured against.
"""
