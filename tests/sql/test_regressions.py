"""Queries that once came back wrong, as small as they could be made; `test_random_queries` found them."""

from __future__ import annotations

from collections.abc import Mapping

from tests.strategies.queries import Case
from tests.strategies.regenerated import check
from tests.strategies.tables import Database, Row

from slackwater.catalog.table import table

ROWS: Mapping[str, tuple[Row, ...]] = {
    "t": ((1, 1, "a"), (2, None, "b"), (None, 3, "a"), (1, 2, None), (1, 2, None)),
    "u": ((1, 2), (3, 1), (None, 2)),
    "empty": (),
}
TABLES = Database(
    (
        table("t", {"k": "int", "i": "int", "name": "string"}),
        table("u", {"k": "int", "i": "int"}),
        table("empty", {"k": "int"}),
    ),
    ROWS,
)


def answers_alike(sql: str, *ordered_by: int) -> None:
    check(Case(sql, TABLES, ordered_by))


def test_a_column_selected_twice_is_two_keys_of_a_rollup() -> None:
    answers_alike("SELECT x, y, count(*) AS n FROM (SELECT k AS x, k AS y FROM t) AS q GROUP BY ROLLUP (x, y)")


def test_an_expression_selected_twice_is_two_keys_of_a_cube() -> None:
    answers_alike("SELECT x, y, count(*) AS n FROM (SELECT k + 1 AS x, k + 1 AS y FROM t) AS q GROUP BY CUBE (x, y)")


def test_two_names_of_one_column_stay_two_keys_when_a_join_brings_the_second() -> None:
    answers_alike(
        "SELECT q.x AS a, k AS b FROM (SELECT k, k AS x FROM t) AS q JOIN u USING (k)"
        " GROUP BY ROLLUP (q.x, k) HAVING count(*) > 0"
    )


def test_a_sub_query_selects_a_column_of_the_query_around() -> None:
    answers_alike("SELECT t.i FROM t WHERE t.i IN (SELECT t.i FROM u WHERE u.k = t.k)")


def test_a_sub_query_above_a_rollup_reads_its_key() -> None:
    answers_alike(
        "SELECT t.k AS a, (SELECT count(*) FROM u WHERE u.k = t.k) AS n FROM t"
        " GROUP BY ROLLUP (t.k) HAVING sum(t.i) > (SELECT min(u.i) FROM u WHERE u.k >= t.k)"
    )


def test_a_sub_query_above_a_rollup_reads_the_hidden_side_of_using() -> None:
    answers_alike(
        "SELECT (SELECT count(*) FROM t AS v WHERE v.k = u.k) AS n FROM t JOIN u USING (k) GROUP BY ROLLUP (u.k)"
    )


def test_grouping_of_a_single_grouping_set() -> None:
    answers_alike("SELECT k AS a, grouping(k) AS g FROM t GROUP BY GROUPING SETS ((k))")


def test_the_same_grouping_set_twice_beside_one_that_has_more() -> None:
    answers_alike("SELECT k AS a, i AS b, count(*) AS n FROM t GROUP BY GROUPING SETS ((k), (i), (k), (k, i))")


def test_order_by_position_means_the_sub_query_of_the_item() -> None:
    answers_alike("SELECT DISTINCT (SELECT max(u.i) FROM u WHERE u.k = t.k) AS m FROM t ORDER BY 1", 0)


def test_a_window_over_groups_counts_groups_even_where_having_counts_rows() -> None:
    answers_alike("SELECT k AS a, count(*) OVER () AS n FROM t GROUP BY k HAVING count(*) >= 1")


def test_a_global_aggregate_gives_its_row_though_nothing_of_it_is_read() -> None:
    answers_alike("SELECT 'x' AS a FROM (SELECT count(*) AS n FROM empty) AS q")


def test_values_count_though_none_is_read() -> None:
    answers_alike("SELECT (SELECT max(1) FROM (VALUES ('a'), ('b')) AS v(name) WHERE 1 = t.k) AS m FROM t")


def test_a_constant_to_order_by_is_no_position() -> None:
    answers_alike("SELECT 7 AS a, a + 1 AS b, k AS c FROM t ORDER BY 2, 3, 1 LIMIT 3", 2)


def test_marks_of_two_sub_queries_are_told_apart() -> None:
    answers_alike(
        "SELECT t.i FROM t WHERE NOT (t.k IN (SELECT u.k FROM u WHERE u.k = 1))"
        " OR t.k NOT IN (SELECT v.k FROM t AS v WHERE v.i = 1)"
    )


def test_an_aggregate_of_which_nothing_is_read_keeps_the_columns_of_the_call_it_keeps() -> None:
    answers_alike(
        "SELECT t.k FROM t WHERE EXISTS"
        " (SELECT 1 FROM (SELECT min(v.x) AS y, count(*) OVER () AS n FROM (VALUES (1), (2)) AS v(x)) AS q)"
    )
