"""The job file: its sections, their values, and what is wrong with them, with line and column."""
