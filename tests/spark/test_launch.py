"""What of a session other users of the machine can see: no settings on the command line, files by the user's umask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slackwater.spark.launch import _escaped, umask, without_secrets

SEEN = r"""
import json, os, sys
from pathlib import Path
os.umask(0o027)
import pyarrow.parquet as pq
from pyspark import SparkContext
from slackwater.errors import UnsupportedError
from slackwater.compile.views import quoted_text
from slackwater.spark.session import local_session
from slackwater.spark.statements import run_statement

top = Path(sys.argv[1])
odd = "a b=c:d\\e#f!g"
settings = {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.odd": odd, "spark.driver.memory": "900m"}
session = local_session(master="local[1]", **settings)
process = SparkContext._gateway.proc.pid
told = Path(f"/proc/{process}/cmdline").read_bytes().decode() + Path(f"/proc/{process}/environ").read_bytes().decode()
target = top / "out ${spark.ui.enabled}"
insert = f"INSERT OVERWRITE DIRECTORY {quoted_text(str(target))} USING parquet"
run_statement(session, f"{insert} SELECT '${{spark.ui.enabled}}' AS x")
session.conf.set("spark.sql.variable.substitute", "true")
run_statement(session, f"{insert} SELECT {quoted_text('${spark.ui.enabled}')} AS x")
try:
    run_statement(session, f"{insert} SELECT 1 AS `${{spark.ui.enabled}}`")
except UnsupportedError as error:
    refused = error.message
print(json.dumps({
    "told": told,
    "known": [session.sparkContext.getConf().get(key) for key in settings],
    "here": sorted(path.name for path in top.iterdir()),
    "refused": refused,
    "rows": pq.read_table(target).to_pylist(),
    "modes": sorted({oct(path.stat().st_mode & 0o777) for path in (target, *target.iterdir())}),
    "scratch": [path.name for path in Path(session.conf.get("spark.local.dir")).parent.iterdir()],
}))
"""


@pytest.mark.spark
def test_settings_are_on_no_command_line_and_files_keep_to_the_umask(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SEEN, str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["known"] == ["hunter2", "a b=c:d\\e#f!g", "900m"]
    assert "-Xmx900m" in report["told"]
    assert "hunter2" not in report["told"]
    assert "spark.odd" not in report["told"]
    assert report["here"] == ["out ${spark.ui.enabled}"]
    assert report["rows"] == [{"x": "${spark.ui.enabled}"}]
    assert "replaces `${…}`" in report["refused"]
    assert report["modes"] == ["0o640", "0o750"]
    assert "spark.properties" not in report["scratch"]


def test_secrets_are_hidden_in_what_is_shown() -> None:
    settings = {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.ssl.keyPassword": "p4ss", "spark.x": "plain"}
    assert without_secrets("no hunter2, no p4ss, but plain", settings) == "no *****, no *****, but plain"


def test_values_are_written_as_properties() -> None:
    assert _escaped("a=b c\\d\ne") == "a\\=b\\ c\\\\d\\ne"


def test_the_umask_is_that_of_the_process() -> None:
    before = os.umask(0o027)
    try:
        assert umask() == "027"
    finally:
        os.umask(before)
