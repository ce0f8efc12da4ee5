"""Every function that Spark lists, by the examples of its manual: bound, written and analyzed with Spark's types."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from slackwater.algebra.types import Type
from slackwater.catalog.table import Catalog
from slackwater.errors import UserError
from slackwater.spark.expressions import expression_type
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.typing import check_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLE = re.compile(r"> ((?:SELECT|VALUES|FROM|WITH)\b.*?);\s*(?=\n|$)", re.DOTALL | re.IGNORECASE)
NOTHING = Catalog.of([])
BOUND_AT_LEAST, OF_ARGUMENTS_AT_LEAST = 1_150, 900
"""How many of some 1,250 examples are bound with Spark, and how many have types that follow without it."""


def _examples(spark: SparkSession, name: str) -> list[str]:
    manual = "\n".join(row[0] for row in spark.sql(f"DESCRIBE FUNCTION EXTENDED `{name}`").collect())
    return EXAMPLE.findall(manual.partition("Examples:")[2])


def _types(spark: SparkSession, text: str) -> list[Type]:
    return [Type.parse(field.dataType.simpleString()) for field in spark.sql(text).schema.fields]


@pytest.fixture(scope="module")
def examples(spark: SparkSession) -> dict[str, list[Type]]:
    """The examples that Spark takes, and the types that it gives their columns."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    types: dict[str, list[Type]] = {}
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        for text in _examples(spark, name):
            try:
                types[text] = _types(spark, text)
            except (PySparkException, Py4JError):
                continue  # of files that are not there, or of settings that are not made
    return types


def test_types_that_follow_without_spark(examples: dict[str, list[Type]]) -> None:
    count = 0
    for text, wanted in examples.items():
        try:
            outputs = bind(text, NOTHING).outputs
        except UserError:
            continue
        if all(output.type.is_known for output in outputs):
            assert [output.type for output in outputs] == wanted, text
            count += 1
    assert count >= OF_ARGUMENTS_AT_LEAST


def test_types_that_spark_is_asked_for(examples: dict[str, list[Type]], spark: SparkSession) -> None:
    bound = 0
    for text, wanted in examples.items():
        try:
            query = bind(text, NOTHING, ask=partial(expression_type, spark))
            check_types(query.relation)
        except UserError:
            continue
        assert [output.type for output in query.outputs] == wanted, text
        assert _types(spark, emit(query)) == wanted, text
        bound += 1
    assert bound >= BOUND_AT_LEAST
