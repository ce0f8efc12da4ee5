"""The types of Spark's functions: those that are the same for all arguments, and those that follow from them.

Facts about Spark 4.3, by Spark's own names; a test holds them against Spark for every example in its manual. What is
not here is `UNKNOWN` without Spark: sketches and variants, and what depends on the value of an argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from slackwater.algebra import types as t
from slackwater.algebra.types import Type

_STRINGS = """
    array_join base64 bin char chr collation conv current_catalog current_database current_path current_schema
    current_timezone current_user date_format dayname decode format_number format_string from_unixtime get_json_object
    hex initcap input_file_name java_method lcase listagg lower ltrim make_valid_utf8 mask md5 monthname parse_url
    printf quote randstr reflect regexp_extract regexp_replace regexp_substr repeat replace right rtrim schema_of_csv
    schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml session_user sha sha1 sha2 soundex split_part
    string_agg substring_index to_base32 to_char to_csv to_json to_varchar to_xml translate trim btrim try_parse_url
    try_reflect try_url_decode try_validate_utf8 typeof ucase upper url_decode url_encode user uuid validate_utf8
    version xpath_string concat_ws
"""
_INTS = """
    array_size ascii bit_count bit_length cardinality char_length character_length charindex date_diff datediff day
    dayofmonth dayofweek dayofyear dense_rank find_in_set hash hour instr json_array_length len length levenshtein
    locate minute month ntile octet_length position quarter rank regexp_count regexp_instr row_number second size
    spark_partition_id unix_date weekday weekofyear xpath_int year
"""
_BIGINTS = """
    approx_count_distinct array_position bitmap_bit_position bitmap_bucket_number bitmap_count count count_if crc32
    factorial grouping_id hll_sketch_estimate input_file_block_length input_file_block_start kll_sketch_get_n_bigint
    kll_sketch_get_n_double kll_sketch_get_n_float monotonically_increasing_id regr_count theta_sketch_estimate
    unix_micros unix_millis unix_seconds unix_timestamp to_unix_timestamp width_bucket xpath_long xxhash64
"""
_DOUBLES = """
    acos acosh asin asinh atan atan2 atanh cbrt corr cos cosh cot covar_pop covar_samp csc cume_dist degrees e exp expm1
    hypot jaro_winkler_similarity kurtosis ln log log10 log1p log2 months_between percent_rank pi pow power radians
    rand randn random regr_intercept regr_r2 regr_slope rint sec sign signum sin sinh skewness sqrt std stddev
    stddev_pop stddev_samp tan tanh tuple_sketch_estimate_double tuple_sketch_estimate_integer var_pop var_samp
    variance xpath_double xpath_number
"""
_DATES = """
    add_months curdate current_date date_add date_from_unix_date date_sub dateadd last_day make_date next_day to_date
    trunc try_to_date
"""
_TIMESTAMPS = """
    current_timestamp make_timestamp_ltz now timestamp_micros timestamp_millis timestamp_seconds to_timestamp
    to_timestamp_ltz to_utc_timestamp from_utc_timestamp try_make_timestamp_ltz date_trunc
"""
_BOOLEANS = """
    any array_contains arrays_overlap bool_and bool_or contains endswith equal_null every exists forall is_valid_utf8
    isnan isnotnull isnull luhn_check map_contains_key regexp regexp_like some startswith xpath_boolean
"""
_BINARIES = """
    aes_decrypt aes_encrypt bitmap_and_agg bitmap_construct_agg bitmap_or_agg count_min_sketch encode from_base32
    hll_sketch_agg hll_union hll_union_agg to_binary try_aes_decrypt try_to_binary unbase64 unhex
"""

FIXED: Mapping[str, Type] = {
    **dict.fromkeys(_STRINGS.split(), t.STRING),
    **dict.fromkeys(_INTS.split(), t.INT),
    **dict.fromkeys(_BIGINTS.split(), t.BIGINT),
    **dict.fromkeys(_DOUBLES.split(), t.DOUBLE),
    **dict.fromkeys(_DATES.split(), t.DATE),
    **dict.fromkeys(_TIMESTAMPS.split(), t.TIMESTAMP),
    **dict.fromkeys(_BOOLEANS.split(), t.BOOLEAN),
    **dict.fromkeys(_BINARIES.split(), t.BINARY),
    **dict.fromkeys(
        "localtimestamp make_timestamp_ntz to_timestamp_ntz try_make_timestamp_ntz".split(), t.TIMESTAMP_NTZ
    ),
    **dict.fromkeys("bit_get getbit grouping".split(), t.TINYINT),
    **dict.fromkeys("json_object_keys regexp_extract_all split xpath".split(), Type("array<string>")),
    **dict.fromkeys("assert_true raise_error void".split(), t.VOID),
    "sentences": Type("array<array<string>>"),
    "str_to_map": Type("map<string,string>"),
    "xpath_float": t.FLOAT,
    "xpath_short": Type("smallint"),
}


def _text_or_bytes(kinds: Sequence[Type]) -> Type:
    """Of bytes bytes, of anything else a text."""
    return t.BINARY if kinds[0] == t.BINARY else t.STRING if kinds[0].is_known else t.UNKNOWN


def _joined(kinds: Sequence[Type]) -> Type:
    """Arrays, bytes or texts one behind the other."""
    if not all(kind.is_known for kind in kinds):
        return t.UNKNOWN
    if kinds[0].text.startswith("array<"):
        return t.common_type(list(kinds))
    return t.BINARY if all(kind == t.BINARY for kind in kinds) else t.STRING


def _reversed(kinds: Sequence[Type]) -> Type:
    return kinds[0] if kinds[0].text.startswith("array<") or not kinds[0].is_known else t.STRING


def _by_extreme(kinds: Sequence[Type]) -> Type:
    """min_by and max_by: one value, or so many of them."""
    return t.array_of(kinds[0]) if len(kinds) > 2 else kinds[0]


def _of_numbers(kinds: Sequence[Type]) -> Type:
    """What is a double of numbers, and else an interval."""
    return t.DOUBLE if kinds[0].is_numeric or kinds[0].is_string else t.UNKNOWN


def _with_element(kinds: Sequence[Type]) -> Type:
    """An array with one more element, where the element has its type."""
    return kinds[0] if kinds[0].element == kinds[-1] else t.UNKNOWN


def _arithmetic(operator: str) -> Callable[[Sequence[Type]], Type]:
    return lambda kinds: t.arithmetic(operator, kinds[0], kinds[1])


Rule = Callable[[Sequence[Type]], Type]

BY_ARGUMENTS: Mapping[str, Rule] = {
    **dict.fromkeys(
        "min max abs any_value first last first_value last_value lag lead nth_value mode negative positive nullif"
        " bit_and bit_or bit_xor array_distinct sort_array slice filter array_compact array_except array_intersect"
        " array_remove array_sort collect_union map_filter nullifzero shuffle shiftrightunsigned".split(),
        lambda kinds: kinds[0],
    ),
    **dict.fromkeys("coalesce ifnull nvl greatest least array_union".split(), lambda kinds: t.common_type(list(kinds))),
    **dict.fromkeys(
        "array_max array_min element_at flatten get try_element_at".split(), lambda kinds: kinds[0].element
    ),
    **dict.fromkeys(
        "array_agg array_repeat collect_list collect_set sequence".split(), lambda kinds: t.array_of(kinds[0])
    ),
    **dict.fromkeys("left lpad overlay rpad substr substring".split(), _text_or_bytes),
    **dict.fromkeys("min_by max_by".split(), _by_extreme),
    **dict.fromkeys("median percentile percentile_cont".split(), _of_numbers),
    **dict.fromkeys("array_append array_prepend array_insert".split(), _with_element),
    **dict.fromkeys("sum try_sum".split(), lambda kinds: t.sum_type(kinds[0])),
    **dict.fromkeys("avg try_avg mean".split(), lambda kinds: t.average_type(kinds[0])),
    "concat": _joined,
    "reverse": _reversed,
    "nvl2": lambda kinds: t.common_type(list(kinds[1:])),
    "zeroifnull": lambda kinds: t.common_type([kinds[0], t.INT]),
    "nanvl": lambda kinds: t.common_type(list(kinds)) if all(kind.is_floating for kind in kinds) else t.DOUBLE,
    "try_add": _arithmetic("+"),
    "try_subtract": _arithmetic("-"),
    "try_multiply": _arithmetic("*"),
    "try_divide": _arithmetic("/"),
    "try_mod": _arithmetic("%"),
    "pmod": _arithmetic("%"),
    "elt": lambda kinds: t.STRING if any(kind.is_string for kind in kinds[1:]) else t.UNKNOWN,
    "map_keys": lambda kinds: t.array_of(kinds[0].key),
    "map_values": lambda kinds: t.array_of(kinds[0].element),
}
