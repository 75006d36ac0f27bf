"""SQL of people: tables by name at any version, read only, on DuckDB or Spark."""
