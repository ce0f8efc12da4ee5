"""Spark looks into the files of a source once, as long as they and its settings are the same."""

from __future__ import annotations

import os
from pathlib import Path
from unittest.mock import patch

from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.job.inputs import job_sources
from slackwater.job.inputs.job_sources import JobSources


def test_columns_are_remembered_by_files_and_settings(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    with without_spark() as (duck, session):
        job = room.job(session)
        sources = JobSources(job.config, job.store, job.session)
        look = vars(job_sources)["columns_of_files"]
        with patch.object(job_sources, "columns_of_files", side_effect=look) as asked:
            first = sources.now()
            looks = asked.call_count
            assert looks
            assert sources.now() == first
            assert asked.call_count == looks
            name, source = next((n, s) for n, s in first.items() if s.config.schema_text is None)
            file = source.directory / source.listed()[0].path
            os.utime(file, ns=(1, 1))
            assert sources.now()[name].fields == source.fields
            assert asked.call_count == looks + 1
            duck.settings["spark.sql.caseSensitive"] = "true"
            assert sources.now() == first
            assert asked.call_count == 2 * looks + 1
