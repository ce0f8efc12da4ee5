"""The settings of a session that answers depend on.

Settings that change only speed, such as the number of partitions or the size of a broadcast, are not among them. Those
listed by name are read with their effective values, so that a setting that is given its default is no change. Spark's
`legacy` settings are more than a hundred and rarely used: they count where they are set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

if TYPE_CHECKING:
    from slackwater.spark.session import Session

PREFIX = "spark.sql."
TIME_ZONE = f"{PREFIX}session.timeZone"
ANSI = f"{PREFIX}ansi.enabled"
LEGACY = f"{PREFIX}legacy."
UNSET = "<undefined>"
"""What Spark says of a setting without a value."""

_OF_THE_LANGUAGE = """
    ansi.doubleQuotedIdentifiers ansi.enabled ansi.enforceReservedKeywords ansi.relationPrecedence caseSensitive
    charAsVarchar chunkBase64String.enabled crossJoin.enabled decimalOperations.allowPrecisionLoss defaultCatalog
    function.concatBinaryAsString function.eltOutputAsString groupByAliases groupByOrdinal icu.caseMappings.enabled
    lateralColumnAlias.enableImplicitResolution mapKeyDedupPolicy orderByOrdinal parser.escapedStringLiterals
    parser.quotedRegexColumnNames preserveCharVarcharTypeInfo session.timeZone stableDerivedColumnAlias.enabled
    storeAssignmentPolicy timestampType variant.allowDuplicateKeys
"""
_OF_FILES = """
    columnNameOfCorruptRecord csv.parser.columnPruning.enabled files.ignoreCorruptFiles
    files.ignoreInvalidPartitionPaths files.ignoreMissingFiles files.ignoredPathSegmentRegex
    files.supportSecondOffsetFormat json.enableExactStringParsing json.enablePartialResults
    jsonGenerator.ignoreNullFields orc.mergeSchema parquet.binaryAsString parquet.datetimeRebaseModeInRead
    parquet.datetimeRebaseModeInWrite parquet.fieldId.read.enabled parquet.inferTimestampNTZ.enabled
    parquet.int96AsTimestamp parquet.int96RebaseModeInRead parquet.int96RebaseModeInWrite
    parquet.int96TimestampConversion parquet.mergeSchema parquet.respectSummaryFiles readSideCharPadding
    sources.partitionColumnTypeInference.enabled
"""
BY_NAME = tuple(PREFIX + name for name in (_OF_THE_LANGUAGE + _OF_FILES).split())


def settings_of_results(session: Session) -> dict[str, str]:
    """The settings that answers depend on, with the values that they have in a session.

    Spark is asked for each of them only if something was set or reset since the last time: it takes dozens of calls.
    """
    explicit = explicit_settings(session)
    time_zone = setting(session, TIME_ZONE)  # by default the JVM's, which may change
    entry = _KNOWN.get(session)
    if entry is None or entry[0] != explicit:
        legacy = sorted(key for key in explicit if key.startswith(LEGACY))
        values = {key: setting(session, key) for key in (*BY_NAME, *legacy)}
        entry = explicit, {key: value for key, value in values.items() if value != UNSET}
        _KNOWN[session] = entry
    return {**entry[1], TIME_ZONE: time_zone}


_KNOWN: WeakKeyDictionary[Session, tuple[dict[str, str], dict[str, str]]] = WeakKeyDictionary()
"""What a session had been set to when it was asked last, and what it answered."""


def explicit_settings(session: Session) -> dict[str, str]:
    """What is set in a session; where the driver is in reach, as one text: each pair would be a call of its own."""
    java: Any = getattr(session, "_jsparkSession", None)
    if java is None:
        return dict(session.conf.getAll)
    text = str(java.conf().getAll().mkString(_BETWEEN))
    return dict(pair.split(" -> ", 1) for pair in text.split(_BETWEEN) if " -> " in pair)


_BETWEEN = "\x1e"


def setting(session: Session, key: str) -> str:
    """The value of a setting, its default where it is not set; `UNSET` where this Spark does not have it."""
    try:
        value = session.conf.get(key)
    except (PySparkException, Py4JError):
        return UNSET
    return UNSET if value is None else str(value)
