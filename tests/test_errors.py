from __future__ import annotations

from slackwater.errors import BindError, InternalError, Place, SlackwaterError, UserError, did_you_mean


def test_place_counts_what_is_known() -> None:
    assert str(Place("daily.sql", 3, 14)) == "daily.sql, line 3, column 14"
    assert str(Place("daily.sql")) == "daily.sql"
    assert str(Place(line=3)) == "query, line 3"


def test_user_error_says_where_what_and_what_to_try() -> None:
    error = BindError("no column `prise`", place=Place("daily.sql", 3), hint="did you mean `price`?")
    assert str(error) == "daily.sql, line 3: no column `prise`\n  did you mean `price`?"
    assert str(UserError("the catalog is empty")) == "the catalog is empty"


def test_every_error_has_one_root_and_ours_are_not_the_users() -> None:
    assert issubclass(BindError, UserError)
    assert issubclass(UserError, SlackwaterError)
    assert issubclass(InternalError, SlackwaterError)
    assert not issubclass(InternalError, UserError)


def test_hint_names_the_nearest_candidates() -> None:
    assert did_you_mean("PRISE", ["price", "cost"]) == "did you mean `price`?"
    assert did_you_mean("pric", ["price", "prices"]) == "did you mean `price` or `prices`?"


def test_hint_lists_candidates_when_none_is_near() -> None:
    assert did_you_mean("xyzzy", ["b", "a", "b"]) == "there is `a`, `b`"
    assert did_you_mean("xyzzy", [f"column{i:02}" for i in range(15)]) == (
        "there is " + ", ".join(f"`column{i:02}`" for i in range(12)) + " and 3 more"
    )


def test_no_hint_without_candidates() -> None:
    assert did_you_mean("price", []) is None
