from __future__ import annotations

import pytest

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.compile.views import (
    Files,
    change_of_feed,
    quoted_name,
    quoted_text,
    version_of_feed,
    view_of_files,
    view_of_nothing,
)

FIELDS = (Field("id", Type.parse("int")), Field("a b", Type.parse("string")))


def test_one_file_and_several() -> None:
    one = view_of_files("v", Files("parquet", "/data/s", ("a.parquet",)), FIELDS)
    assert one == (
        "CREATE OR REPLACE TEMPORARY VIEW v (id int, `a b` string)\nUSING parquet OPTIONS (path '/data/s/a.parquet')"
    )
    several = view_of_files("v", Files("csv", "/data/s", ("a", "b"), {"header": "true"}), None)
    assert several == "CREATE OR REPLACE TEMPORARY VIEW v\nUSING csv OPTIONS (path '/data/s/{a,b}', header 'true')"


def test_partitions_are_told_where_they_begin() -> None:
    text = view_of_files("v", Files("parquet", "/data/{s}", ("k=1/a", "k=2/a")), FIELDS)
    # The pattern is escaped, the base is not a pattern.
    assert text.endswith(r"OPTIONS (path '/data/\\{s\\}/{k=1/a,k=2/a}', basePath '/data/{s}')")


@pytest.mark.parametrize(
    "name, shown",
    [
        ("a,b", r"a\\,b"),
        ("a{b}", r"a\\{b\\}"),
        ("a[b]*?", r"a\\[b\\]\\*\\?"),
        ("a^b", r"a\\^b"),
        ("it's", r"it\'s"),
        ("back\\slash", r"back\\\\slash"),
        ('"quoted" $x %20 ü;#', '"quoted" $x %20 ü;#'),
    ],
)
def test_names_in_which_something_is_special(name: str, shown: str) -> None:
    text = view_of_files("v", Files("parquet", "/d", (name, "b")), None)
    assert text.endswith(f"OPTIONS (path '/d/{{{shown},b}}')")


def test_no_files_are_no_rows() -> None:
    text = view_of_files("v", Files("parquet", "/d", ()), FIELDS)
    assert text == view_of_nothing("v", FIELDS)
    assert text.endswith("SELECT CAST(NULL AS int) AS id, CAST(NULL AS string) AS `a b` WHERE false")


def test_the_change_of_a_feed_has_weights() -> None:
    text = change_of_feed("t__d1", "t__d1__feed", FIELDS)
    assert text.startswith("CREATE OR REPLACE TEMPORARY VIEW t__d1 AS\nSELECT id, `a b`, CASE WHEN _change_type IN ")
    assert "('insert', 'update_postimage') THEN 1L" in text
    assert "('delete', 'update_preimage') THEN -1L" in text
    assert "raise_error" in text
    assert text.endswith("AS multiplicity\nFROM t__d1__feed")


def test_the_version_of_a_feed_has_each_row_as_often_as_it_is_left() -> None:
    fields = (Field("times", Type.parse("int")), Field("copy", Type.parse("int")))
    text = version_of_feed("t__v1", "f", fields, unique=False)
    assert "SELECT times, copy\nFROM" in text
    assert "GROUP BY times, copy" in text
    assert text.endswith("LATERAL VIEW explode(sequence(1L, slackwater__times)) AS slackwater__copy")
    assert "explode" not in version_of_feed("t__v1", "f", fields, unique=True)


def test_quotes() -> None:
    assert quoted_name("plain_1") == "plain_1"
    assert quoted_name("1a") == "`1a`"
    assert quoted_name("a`b") == "`a``b`"
    assert quoted_name("größe") == "`größe`"
    assert quoted_text("a'b\\c") == r"'a\'b\\c'"
