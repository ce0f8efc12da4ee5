"""By what a job is known again: a cycle goes on only with the job that it began with.

What makes no difference to a plan or to an answer, such as `expect`, `check`, `spark`, `tolerance`, `verify`, a comment
or white space in the query, may change in between. Settings of Spark that answers depend on may not: see `settings.py`.
When to run may change too: then the rest of the cycle is planned anew.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

from slackwater.job.file.sections import JobConfig, JobQuery, SourceConfig
from slackwater.sql.tokens import without_comments


def fingerprint(config: JobConfig) -> dict[str, str]:
    """What must not change during a cycle, by the words that name it; of several queries each by its own."""
    timeline, goals = config.timeline, {"final_work": config.final_work, "latency": config.latency}

    def each(what: str, value_of: Callable[[JobQuery], str]) -> dict[str, str]:
        return {f"{what} {name}".rstrip(): value_of(query) for name, query in config.queries.items()}

    return {
        **each("query", lambda query: _digest(without_comments(query.text))),
        "schedule": ", ".join(timeline.times),
        "weights": ", ".join(map(str, timeline.weights)),
        **{key: str(asked) for key, asked in goals.items() if asked is not None},
        **each("deliver", lambda query: ", ".join(map(str, sorted(timeline.due(query.name))))),
        "refresh": config.refresh.value,
        "sources": _digest(*(f"{name}:{_source(source)}" for name, source in config.sources.items())),
        **each("output", lambda query: f"{query.output.path} {query.output.format}"),
    }


def _source(source: SourceConfig) -> str:
    said = {"arrives_with": source.arrives_with, "arrives_after": source.arrives_after}
    unsaid = {name for name, references in said.items() if not references}  # cycles of older versions do not know it
    return source.model_dump_json(exclude={"expect", "check", *unsaid}, warnings=False)


def is_about_time(word: str) -> bool:
    """Whether a change is one of when to run and to deliver: then the rest of a cycle can be planned anew."""
    return word.split()[0] in ("schedule", "weights", "final_work", "latency", "deliver")


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The words for what is not as it was, come or gone included."""
    return [key for key in {**now, **before} if before.get(key) != now.get(key)]


def _digest(*texts: str) -> str:
    return hashlib.blake2s("\x00".join(texts).encode(), digest_size=10).hexdigest()
