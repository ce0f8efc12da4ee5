"""Plans that once gave a wrong answer or none, each by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
from tests.compare import differences, rows_of
from tests.strategies.scattered import ScatteredCost

from slackwater import Change, Options, Simulator, simulate

SEEDS = range(40)
"""Prices under which at least one of the plans went wrong."""


def numbers(*values: int | None) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int32())})


def delivers_what_batch_answers(sql: str, arrivals: Mapping[str, Sequence[pa.Table | Change]]) -> None:
    simulator = Simulator(arrivals)
    wanted = simulator.batch(sql)
    for seed in SEEDS:
        options = Options(model=ScatteredCost(seed), check_memo=True)
        simulation = simulator.simulate(sql, deliver="every", options=options, batch=False)
        for result, answer in zip(simulation.results[1:], wanted, strict=True):
            assert result is not None
            assert not differences(rows_of(answer), rows_of(result)), f"seed {seed}"


def test_no_grand_total_over_no_rows() -> None:
    """Spark's grouping sets give no row for no rows; a plan tried on DuckDB must not either."""
    empty = pa.table({"k": pa.array([], pa.string()), "v": pa.array([], pa.int64())})
    later = pa.table({"k": ["a", "b"], "v": [1, 2]})
    for seed in range(6):
        result = simulate(
            "SELECT k, sum(v) AS s FROM t GROUP BY ROLLUP (k)",
            {"t": [empty, later]},
            deliver="every",
            options=Options(model=ScatteredCost(seed)),
        )
        first, second = result.results[1], result.results[2]
        assert first is not None
        assert second is not None
        assert (first.num_rows, second.num_rows) == (0, 3)


def test_rows_written_in_the_query_are_read_at_a_later_run() -> None:
    """There is nothing to save of them, though the cheapest run to have them at may be an earlier one."""
    delivers_what_batch_answers(
        "SELECT t.n FROM t JOIN (VALUES (1), (2)) AS v(x) ON t.n = v.x", {"t": [numbers(1, 2), numbers(2, 3)]}
    )


def doubles(*rows: tuple[str, float]) -> pa.Table:
    return pa.table(
        {"k": pa.array([k for k, _ in rows], pa.string()), "v": pa.array([v for _, v in rows], pa.float64())}
    )


def test_a_sum_of_doubles_is_not_undone_by_subtraction() -> None:
    """1e16 + 1 − 1e16 is 0, and infinity does not go away."""
    huge = Change(doubles(("a", 2.0)), doubles(("a", 1e16), ("b", float("inf"))))
    delivers_what_batch_answers(
        "SELECT k, sum(v) AS s, avg(v) AS a FROM t GROUP BY k",
        {"t": [doubles(("a", 1e16), ("a", 1.0), ("b", float("inf")), ("b", 3.0)), huge]},
    )


def test_a_retracted_average_finds_the_row_it_was() -> None:
    """On DuckDB an average of decimals is a double; read off partial sums it must be the same double."""
    price = pa.decimal128(7, 2)

    def prices(*rows: tuple[str, str]) -> pa.Table:
        return pa.table(
            {
                "k": pa.array([k for k, _ in rows], pa.string()),
                "p": pa.array([Decimal(p) for _, p in rows], price),
            }
        )

    first = prices(*((f"k{i % 7}", f"{i * 37 % 991}.{i % 100:02}") for i in range(60)))
    later = prices(*((f"k{i % 7}", f"{i * 53 % 787}.{i % 97:02}") for i in range(20)))
    for sql in (
        "SELECT a, count(*) AS n FROM (SELECT k, avg(p) AS a FROM t GROUP BY k) GROUP BY a",
        "SELECT k, sum(p / 7) AS s, avg(p) + sum(p / 7) AS q FROM t GROUP BY k",
        "SELECT x.k, x.a FROM (SELECT k, avg(p) AS a FROM t GROUP BY k) AS x JOIN t ON x.k = t.k WHERE t.p > x.a",
    ):
        delivers_what_batch_answers(sql, {"t": [first, Change(later, first.slice(3, 9)), prices(("k1", "5.55"))]})


def test_a_limit_below_a_join_is_not_filtered_by_the_join() -> None:
    """DuckDB 1.5.5 applied what it knew of a join's one side below a LIMIT on the other, now and then (#22963)."""
    rows = pa.table({"n": pa.array(range(5), pa.int32()), "x": pa.array(range(5), pa.int32())})
    simulator = Simulator({"t": [rows], "u": [numbers(3)]})
    first_two = "(SELECT n, x FROM t ORDER BY x, n DESC LIMIT 2)"
    answers = [simulator.batch(f"SELECT q.x FROM {first_two} q JOIN u ON q.n = u.n") for _ in range(100)]
    assert [answer.num_rows for (answer,) in answers] == [0] * 100


def test_an_anti_join_with_nothing_keeps_every_row() -> None:
    """DuckDB 1.5.5 sees in statistics that a comparison always holds, and forgets that there may be no row."""
    some = pa.field("n", pa.int32(), nullable=False)
    one = pa.table([pa.array([2], pa.int32())], schema=pa.schema([some]))
    other = pa.table([one["n"], pa.array([None], pa.bool_())], schema=pa.schema([some, pa.field("flag", pa.bool_())]))
    simulator = Simulator({"t": [one], "u": [other]})
    (answer,) = simulator.batch("SELECT n FROM t WHERE n < ALL (SELECT n FROM u WHERE flag)")
    assert rows_of(answer) == [(2,)]


def test_two_readers_of_one_relation_keep_their_columns_apart() -> None:
    """Only rows that the join asks for are grouped, but not where both sides of it are made of the same columns."""

    def sold(*rows: tuple[int, int, int]) -> pa.Table:
        return pa.table(
            {name: pa.array(values, pa.int32()) for name, values in zip("csv", zip(*rows, strict=True), strict=True)}
        )

    delivers_what_batch_answers(
        """
        WITH total AS (SELECT c, s, sum(v) AS t FROM sold GROUP BY c, s)
        SELECT one.c FROM total AS one
        WHERE one.t > (SELECT avg(t) FROM total AS other WHERE other.s = one.s) ORDER BY one.c LIMIT 5
        """,
        {"sold": [sold((1, 1, 5), (2, 1, 9), (3, 2, 1)), sold((1, 1, 9), (4, 2, 7))]},
    )


def test_a_relation_without_columns_meets_itself() -> None:
    """A table of which no column is read, beside an aggregate of the same table: an IndexError once."""
    delivers_what_batch_answers(
        "SELECT b.n FROM t AS a, t AS b, (SELECT n FROM t GROUP BY n HAVING count(n) < 2) AS q WHERE b.n < 3",
        {"t": [numbers(1, 2), numbers(2, 3)]},
    )


def test_the_spread_of_large_numbers_is_not_lost_in_their_squares() -> None:
    """Sums of squares of two millions and their neighbours differ by less than a double tells apart."""
    far = 2_000_000
    delivers_what_batch_answers(
        "SELECT stddev(n) AS s, var_pop(n) AS v FROM t",
        {"t": [numbers(far, far + 1, far + 3, None), Change(numbers(far + 7, -far), numbers(far + 1)), numbers()]},
    )
    delivers_what_batch_answers("SELECT stddev(n) AS s FROM t", {"t": [numbers(far, far + 1), numbers(far + 3)]})


def test_the_spread_of_large_decimals_is_not_lost_in_their_squares() -> None:
    def priced(*values: str) -> pa.Table:
        return pa.table({"p": pa.array([Decimal(value) for value in values], pa.decimal128(10, 4))})

    delivers_what_batch_answers(
        "SELECT stddev_samp(p) AS s, variance(p) AS v FROM t",
        {"t": [priced("900000.0001", "900000.0003"), Change(priced("900000.0009"), priced("900000.0001"))]},
    )


def test_an_average_of_large_numbers_does_not_overflow() -> None:
    """The sum of three such numbers is no bigint, and their average is a double all the same."""
    most = 2**63 - 1

    def large(*rows: tuple[int, int]) -> pa.Table:
        groups, numbers = [g for g, _ in rows], [b for _, b in rows]
        return pa.table({"g": pa.array(groups, pa.int32()), "b": pa.array(numbers, pa.int64())})

    sql = "SELECT g, avg(b) AS a, count(*) AS n FROM t GROUP BY g"
    arriving = [large((1, most), (1, most), (2, 5)), large((1, most), (2, 7)), large((1, -5), (3, 1))]
    delivers_what_batch_answers(sql, {"t": arriving})
    changing = [
        arriving[0],
        Change(large((1, most)), large((1, most))),
        Change(large((2, -most)), large((2, 5))),
    ]
    delivers_what_batch_answers(sql, {"t": changing})


def test_a_function_keeps_its_type_through_states_and_empty_inputs() -> None:
    """A null for an empty input once made a text of it, and '9' is more than '31'."""
    arriving = [
        pa.table({"g": pa.array(g, pa.int32()), "b": pa.array(b, pa.int64())})
        for g, b in (([1, 1], [2**31 - 1, 2**9 - 1]), ([1], [2**9 - 1]), ([2], [7]))
    ]
    sql = "SELECT g, max(bit_count(b)) AS most FROM t GROUP BY g"
    delivers_what_batch_answers(sql, {"t": arriving})
    result = simulate(sql, {"t": arriving}, options=Options(model=ScatteredCost(1))).results[3]
    assert result is not None
    assert sorted(result.to_pylist(), key=str) == [{"g": 1, "most": 31}, {"g": 2, "most": 3}]


def test_groups_by_an_expression_that_holds_a_sub_query() -> None:
    """The key is written twice, and both mean the same sub-query."""
    rows = pa.table({"g": pa.array([1, 1, 2], pa.int32()), "b": pa.array([1, 2, 3], pa.int32())})
    key = "g + (SELECT min(b) FROM t)"
    for clause in (key, f"ROLLUP ({key})"):
        text = f"SELECT {key} AS k, count(*) AS n FROM t WHERE b >= (SELECT min(b) FROM t) GROUP BY {clause}"
        delivers_what_batch_answers(text, {"t": [rows, rows]})


def test_an_order_of_joins_that_is_the_join_itself_is_not_read_by_it() -> None:
    """A projection of a relation was added to it as one more way to compute it, and exploring it did not end."""

    def rows(*pairs: tuple[int, int]) -> pa.Table:
        return pa.table(
            {"k": pa.array([k for k, _ in pairs], pa.int32()), "i": pa.array([i for _, i in pairs], pa.int32())}
        )

    other = "EXISTS (SELECT * FROM t AS {0} WHERE {0}.k = {1}.k AND {0}.i <> {1}.i AND {0}.k = 1)"
    delivers_what_batch_answers(
        f"""
        SELECT a.k AS x, u.i AS y FROM t AS a JOIN u ON a.k = u.i
        WHERE {other.format("b", "a")} AND NOT EXISTS (
            SELECT * FROM t AS c WHERE c.k = a.k AND c.i <> a.i AND {other.format("b", "c")}
        )
        """,
        {"t": [rows((1, 1), (1, 2), (2, 1)), rows((1, 1), (2, 2))], "u": [rows((1, 1)), rows((3, 1), (3, 2))]},
    )
