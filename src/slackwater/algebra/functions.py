"""What Spark says of its functions: which aggregate, rank, generate rows, or change their mind.

Facts about Spark 4.3's built-in functions, by Spark's own names. A function that is not listed is an ordinary scalar
function of its arguments; the binder can be told of a user's own aggregates (see `sql.bind`).
"""

from __future__ import annotations

AGGREGATES = frozenset(
    """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
    array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg bool_and bool_or
    collect_list collect_set collect_union corr count count_if count_min_sketch covar_pop covar_samp every first
    first_value grouping grouping_id histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis
    last last_value listagg max max_by mean measure median min min_by mode percentile percentile_approx
    percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy
    regr_syy schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
    theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum
    """.split()
)

WINDOW_ONLY = frozenset(
    "counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number".split()
)

GENERATORS = frozenset(
    "explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack variant_explode"
    " variant_explode_outer".split()
)

#: A new value at every call: no stable meaning, so nothing may move or repeat them.
RANDOM = frozenset(
    "input_file_block_length input_file_block_start input_file_name java_method monotonically_increasing_id rand randn"
    " random randstr reflect shuffle spark_partition_id try_reflect uniform uuid".split()
)

#: One value per query, of its moment or its session: pinned when a cycle starts (see `sql/pinned.py`). Functions of
#: one value have one name on the right. `unix_timestamp` is of the moment only without arguments.
PINNED = {
    "curdate": "current_date",
    "current_catalog": "current_catalog",
    "current_database": "current_schema",
    "current_date": "current_date",
    "current_path": "current_path",
    "current_schema": "current_schema",
    "current_time": "current_time",
    "current_timestamp": "current_timestamp",
    "current_timezone": "current_timezone",
    "current_user": "current_user",
    "localtime": "current_time",
    "localtimestamp": "localtimestamp",
    "now": "current_timestamp",
    "session_user": "current_user",
    "unix_timestamp": "unix_timestamp",
    "user": "current_user",
}

#: Those that Spark also calls without parentheses, where no column of the FROM clause has the name.
CALLED_BARE = frozenset(
    "current_date current_path current_time current_timestamp current_user localtime session_user user".split()
)

#: Aggregates of the values that are not null; without any, a count is zero and the others are null.
SIMPLE = frozenset("sum count min max avg".split())

#: Aggregates whose value does not depend on how often an equal argument occurs.
DUPLICATE_BLIND = frozenset(
    "any any_value bit_and bit_or bool_and bool_or collect_set every max min some approx_count_distinct".split()
)

#: Value of an aggregate over no rows, where it is not null.
ZERO_WHEN_EMPTY = frozenset("approx_count_distinct count count_if regr_count".split())
EMPTY_WHEN_EMPTY = frozenset("array_agg collect_list collect_set".split())

#: Our own: `average_of(total, count, type, scale)` is the average, as the engine's own avg would give it, of values
#: with so many digits after the point.
AVERAGE_OF = "average_of"
