"""Relations as text: every operator, shared work once, two columns of one name apart."""

from __future__ import annotations

import pytest
from tests.sql.warehouse import CATALOG

from slackwater.algebra.relation_text import show
from slackwater.sql.bind import bind

CASES = [
    (
        "SELECT store, sum(qty) AS n FROM sales WHERE qty > 1 AND (item = 'tea' OR store = 2)"
        " GROUP BY store ORDER BY n DESC NULLS FIRST, store LIMIT 3 OFFSET 1",
        """
query store, n  order by n desc nulls first, store
└─ limit 3 offset 1 by n desc nulls first, store
   └─ project store, n
      └─ aggregate n := sum(qty) by store
         └─ filter qty > 1 and (item = 'tea' OR store = 2)
            └─ scan sales
""",
    ),
    (
        "WITH t AS (SELECT store, count(*) AS n FROM sales GROUP BY store)"
        " SELECT a.store, b.n FROM t a LEFT JOIN t b ON a.n < b.n",
        """
query store_2 as store, n_3 as n
└─ project store_2, n_3
   └─ left join on n_2 < n_3
      ├─ project store_2 := store, n_2 := n
      │  └─ #1 project store, n
      │     └─ aggregate n := count(*) by store
      │        └─ scan sales
      └─ project store_3 := store, n_3 := n
         └─ #1 (see above)
""",
    ),
    (
        "SELECT store, item, count(DISTINCT qty) AS n, max(price) FILTER (WHERE qty > 1) AS p"
        " FROM sales GROUP BY ROLLUP (store, item)",
        """
query store_2 as store, item_2 as item, n, p
└─ project store_2, item_2, n, p
   └─ aggregate n := count(distinct qty), p := max(price) filter (qty > 1) by store_2, item_2, grouping_id
      └─ expand store_2 := store, item_2 := item for sets 00, 01, 11
         └─ scan sales
""",
    ),
    (
        "SELECT listagg(item, '+') WITHIN GROUP (ORDER BY qty DESC, item) AS l, first(qty) IGNORE NULLS AS f"
        " FROM sales",
        """
query l, f
└─ project l, f
   └─ aggregate l := listagg(item, '+') within (qty desc, item), f := first(qty) ignoring nulls
      └─ scan sales
""",
    ),
    (
        "SELECT id, sum(qty) OVER (PARTITION BY store ORDER BY id DESC ROWS 1 PRECEDING) AS s, tag"
        " FROM (SELECT s.id, s.store, s.qty, b.tags FROM sales s JOIN baskets b ON s.id = b.id) x"
        " LATERAL VIEW OUTER explode(tags) t AS tag",
        """
query id, sum as s, tag
└─ project id, sum, tag
   └─ window sum := sum(qty) over (by store order id desc ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
      └─ generate tag := explode(tags) keeping empty
         └─ project id, store, qty, tags
            └─ inner join on id = id_2
               ├─ scan sales
               └─ scan baskets
""",
    ),
    (
        "SELECT DISTINCT id FROM sales UNION ALL SELECT x FROM VALUES (1), (2), (3), (4), (5), (6) AS v(x)",
        """
query id_2 as id
└─ union all id_2
   ├─ distinct id
   │  └─ project id
   │     └─ scan sales
   └─ project x
      └─ values [x] (1), (2), (3), (4), (5), … 6 rows
""",
    ),
    (
        "SELECT s.id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM returns r WHERE r.id = s.id)",
        """
query id
└─ project id
   └─ anti join on id_2 = id
      ├─ scan sales
      └─ project value := 1, id_2
         └─ scan returns
""",
    ),
    (
        "SELECT 1 AS one",
        """
query one
└─ project one := 1
   └─ values [] ()
""",
    ),
]


@pytest.mark.parametrize("text,shown", CASES, ids=[text for text, _ in CASES])
def test_show(text: str, shown: str) -> None:
    assert show(bind(text, CATALOG)) == shown.strip("\n")


def test_a_bare_relation_has_no_outputs() -> None:
    assert show(bind("SELECT id FROM sales", CATALOG).relation) == "project id\n└─ scan sales"


def test_the_same_query_reads_the_same_every_time() -> None:
    text = CASES[1][0]
    assert show(bind(text, CATALOG)) == show(bind(text, CATALOG))
