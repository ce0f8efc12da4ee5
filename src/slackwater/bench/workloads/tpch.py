"""The tables of TPC-H as its generator makes them: nothing is ever null; orders and their line items change."""

from __future__ import annotations

from typing import Final

from slackwater.bench.workloads.workload_schema import Role, Schema, table

SCHEMA: Final = Schema(
    (
        table(
            "region",
            """
            r_regionkey int, r_name string, r_comment string
            """,
            key="r_regionkey",
            nullable=False,
        ),
        table(
            "nation",
            """
            n_nationkey int, n_name string, n_regionkey int, n_comment string
            """,
            key="n_nationkey",
            references={
                "n_regionkey": "region",
            },
            nullable=False,
        ),
        table(
            "supplier",
            """
            s_suppkey bigint, s_name string, s_address string, s_nationkey int, s_phone string,
            s_acctbal decimal(15,2), s_comment string
            """,
            key="s_suppkey",
            references={
                "s_nationkey": "nation",
            },
            nullable=False,
        ),
        table(
            "customer",
            """
            c_custkey bigint, c_name string, c_address string, c_nationkey int, c_phone string,
            c_acctbal decimal(15,2), c_mktsegment string, c_comment string
            """,
            key="c_custkey",
            references={
                "c_nationkey": "nation",
            },
            nullable=False,
        ),
        table(
            "part",
            """
            p_partkey bigint, p_name string, p_mfgr string, p_brand string, p_type string, p_size int,
            p_container string, p_retailprice decimal(15,2), p_comment string
            """,
            key="p_partkey",
            nullable=False,
        ),
        table(
            "partsupp",
            """
            ps_partkey bigint, ps_suppkey bigint, ps_availqty bigint, ps_supplycost decimal(15,2), ps_comment string
            """,
            key="ps_partkey ps_suppkey",
            references={
                "ps_partkey": "part",
                "ps_suppkey": "supplier",
            },
            nullable=False,
        ),
        table(
            "orders",
            """
            o_orderkey bigint, o_custkey bigint, o_orderstatus string, o_totalprice decimal(15,2), o_orderdate date,
            o_orderpriority string, o_clerk string, o_shippriority int, o_comment string
            """,
            key="o_orderkey",
            role=Role.SALES,
            references={
                "o_custkey": "customer",
            },
            skew_by="o_custkey",
            measure="o_totalprice",
            nullable=False,
        ),
        table(
            "lineitem",
            """
            l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber bigint, l_quantity decimal(15,2),
            l_extendedprice decimal(15,2), l_discount decimal(15,2), l_tax decimal(15,2), l_returnflag string,
            l_linestatus string, l_shipdate date, l_commitdate date, l_receiptdate date, l_shipinstruct string,
            l_shipmode string, l_comment string
            """,
            key="l_orderkey l_linenumber",
            role=Role.SALES,
            references={
                "l_orderkey": "orders",
                "l_partkey": "part",
                "l_suppkey": "supplier",
                "l_partkey l_suppkey": "partsupp",
            },
            owner="orders",
            skew_by="l_partkey",
            measure="l_extendedprice",
            nullable=False,
        ),
    )
)
