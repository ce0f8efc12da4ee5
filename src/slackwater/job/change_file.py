"""Changes of a job file by commands."""

from __future__ import annotations

from slackwater.errors import Place, UserError
from slackwater.job.file.edit import with_key
from slackwater.job.file.sections import JobConfig
from slackwater.job.store.disk import write_text


def write_final_work(config: JobConfig, share: float) -> str:
    """Writes a goal on the last run into a job file; the line that is there now."""
    value, after = f"{100 * share:.6g}%", "schedule" if config.window is None else "window"
    try:
        text = config.file.read_text(encoding="utf-8")
        write_text(config.file, with_key(text, "final_work", value, after, config.file))
    except OSError as error:
        raise UserError(f"cannot write the job file: {error.strerror}", place=Place(str(config.file))) from error
    return f"final_work: {value}"
