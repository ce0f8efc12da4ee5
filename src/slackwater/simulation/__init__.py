"""Plans tried out in memory, on DuckDB."""
