"""TPC-H and TPC-DS: tables, data at any scale factor, query texts, and arrivals through a day.

    work = workload("tpch")
    data = work.generate(0.01)
    arrivals = split(data, parse_pattern("60/20/20", work.tables))
    arrivals.changes("lineitem")[0].inserts

Start reading at `workload.py`; `pattern.py` says what an arrival pattern can ask for, `timetable.py` how it is kept.
"""

from slackwater.bench.workloads.arrivals import Arrivals, split
from slackwater.bench.workloads.dataset import Dataset, default_cache
from slackwater.bench.workloads.pattern import ArrivalPattern, parse_pattern, preset
from slackwater.bench.workloads.query import WorkloadQuery
from slackwater.bench.workloads.workload import Workload, tpcds, tpch, workload
from slackwater.bench.workloads.workload_schema import Reference, Role, Schema, WorkloadColumn, WorkloadTable
from slackwater.catalog.arrival import CHANGE_TYPE, Change

__all__ = [
    "CHANGE_TYPE",
    "ArrivalPattern",
    "Arrivals",
    "Change",
    "Dataset",
    "Reference",
    "Role",
    "Schema",
    "Workload",
    "WorkloadColumn",
    "WorkloadQuery",
    "WorkloadTable",
    "default_cache",
    "parse_pattern",
    "preset",
    "split",
    "tpcds",
    "tpch",
    "workload",
]
