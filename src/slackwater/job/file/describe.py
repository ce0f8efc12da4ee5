"""A short description of a job, as a line and as a table."""

from __future__ import annotations

from slackwater.errors import counted
from slackwater.job.file.sections import JobConfig
from slackwater.job.text_table import Table


def job_line(config: JobConfig) -> str:
    queries = f"{len(config.queries)} queries" if len(config.queries) > 1 else "1 query"
    return f"Job {config.name}: {queries}, {counted(config.timeline.last, 'run')}, {config.file}"


def job_table(config: JobConfig) -> Table:
    """What it reads, asks and delivers, and when; nothing is looked up."""
    sources = [(f"source {name}", str(source.path or source.table)) for name, source in config.sources.items()]
    outputs = [(f"output {name}".rstrip(), str(query.output.path)) for name, query in config.queries.items()]
    runs = ("schedule", ", ".join(config.schedule))
    return Table(("job", config.name), (("file", str(config.file)), runs, *sources, *outputs), left=2)
