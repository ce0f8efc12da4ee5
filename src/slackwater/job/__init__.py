"""Jobs: a query with its schedule, sources, output and states, as one file states them (`config.py`)."""
