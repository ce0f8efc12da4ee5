"""What a user's mistake is told: what was found, where, and what to try; never a Python traceback."""

from __future__ import annotations

import random

import pytest
from sqlglot import exp
from tests.sql.cells import all_cells
from tests.sql.warehouse import CATALOG

from slackwater.errors import BindError, ParseError, Place, UnsupportedError, UserError
from slackwater.sql.bind import bind
from slackwater.sql.parse import parse
from slackwater.sql.spark4 import Spark4


def error_of(text: str) -> UserError:
    with pytest.raises(UserError) as caught:
        bind(text, CATALOG, file="q.sql")
    return caught.value


def check(text: str, kind: type[UserError], message: str, hint: str | None) -> None:
    """The place of the error is where the mark « stands in the text."""
    before, mark, after = text.partition("«")
    error = error_of(before + after)
    assert type(error) is kind
    assert message in error.message
    if mark:
        line = before.count("\n") + 1
        assert error.place == Place("q.sql", line, len(before) - before.rfind("\n"))
    assert hint is None or hint in (error.hint or "")


@pytest.mark.parametrize(
    "text,message,hint",
    [
        ("SELECT id FROM «sale", "no table `sale`", "did you mean `sales`?"),
        ("SELECT id FROM «db.zzz", "no table `db.zzz`", "there is `baskets`, `nothing`, `odd names`"),
        ("SELECT «prise FROM sales", "no column `prise`", "did you mean `price`?"),
        ("SELECT «s.prise FROM sales s", "`s` has no column `prise`", "did you mean `price`?"),
        ("SELECT «sales.id FROM sales s", "no table or alias `sales` here", "there is `s`"),
        ("SELECT «x.* FROM sales s", "no table or alias `x` here", "there is `s`"),
        ("SELECT «info.nme FROM baskets", "`info` has no field `nme`", "did you mean `name`?"),
        ("SELECT «b.info.spot.z FROM baskets b", "`info.spot` has no field `z`", "there is `x`, `y`"),
        ("SELECT * EXCEPT («qtty) FROM sales", "EXCEPT names no column `qtty`", "did you mean `qty`?"),
        ("SELECT id FROM sales WHERE qty > (SELECT max(«prise) FROM sales)", "no column `prise`", "`price`"),
        ("SELECT qty AS q FROM sales WHERE «q > 1", "no column `q`", "there is `id`"),
        ("SELECT id FROM sales UNION SELECT 1 ORDER BY «qty", "no column `qty`", "there is `id`"),
        ("SELECT transform(scores, x -> x + «nope) FROM baskets", "no column `nope`", None),
        ("SELECT sum(qty) OVER «nope FROM sales", "no window `nope`", None),
        ("VALUES («a)", "no column `a`", None),
    ],
)
def test_unknown_names(text: str, message: str, hint: str | None) -> None:
    check(text, BindError, message, hint)


@pytest.mark.parametrize(
    "text,hint",
    [
        ("SELECT «store FROM sales s JOIN stores t ON s.store = t.store", "write `s.store` or `t.store`"),
        ("SELECT s.store, t.store FROM sales s, stores t ORDER BY «store", "write `s.store` or `t.store`"),
        ("SELECT 1 FROM sales s, stores t GROUP BY «store", "write `s.store` or `t.store`"),
        ("SELECT «sales.id FROM sales, sales", "give them other names"),
        ("SELECT id AS x, qty AS x, «x + 1 AS y FROM sales", "give them other names"),
        ("SELECT id AS x, qty AS x FROM sales ORDER BY «x", "give them other names"),
        ("SELECT «a FROM (SELECT 1 AS a, 2 AS A) t", "give them other names"),
    ],
)
def test_ambiguous_names(text: str, hint: str) -> None:
    check(text, BindError, "is ambiguous", hint)


@pytest.mark.parametrize(
    "text,message",
    [
        ("SELECT item, «qty FROM sales GROUP BY item", "column `qty` is neither grouped nor aggregated"),
        ("SELECT «item, sum(qty) FROM sales", "column `item` is neither grouped nor aggregated"),
        ("SELECT item FROM sales GROUP BY item HAVING «qty > 1", "column `qty` is neither grouped nor aggregated"),
        ("SELECT item FROM sales GROUP BY item ORDER BY «qty", "column `qty` is neither grouped nor aggregated"),
        (
            "SELECT item, (SELECT «city FROM stores t WHERE t.store = sales.store) FROM sales GROUP BY item",
            "a sub-query reads `store`, which is neither grouped nor aggregated",
        ),
        ("SELECT id FROM sales WHERE «sum(qty) > 1", "the aggregate `sum` cannot stand in WHERE"),
        ("SELECT id FROM sales GROUP BY «sum(qty)", "an aggregate cannot stand in GROUP BY"),
        ("SELECT sum(qty) AS s FROM sales GROUP BY «s", "an aggregate cannot stand in GROUP BY"),
        ("SELECT sum(qty) FROM sales GROUP BY «1", "an aggregate cannot stand in GROUP BY"),
        ("SELECT s.id FROM sales s JOIN stores t ON «sum(s.qty) = t.store", "cannot stand in ON of INNER JOIN"),
        ("SELECT s.id FROM sales s LEFT JOIN stores t ON «max(s.qty) > 1", "cannot stand in ON of LEFT JOIN"),
        ("SELECT «sum(max(qty)) FROM sales", "an aggregate inside an aggregate"),
        ("SELECT «sum(row_number() OVER (ORDER BY id)) FROM sales", "a window function inside an aggregate"),
        ("SELECT «rank() OVER (ORDER BY rank() OVER (ORDER BY id)) FROM sales", "inside a window function"),
        ("SELECT id FROM sales WHERE «row_number() OVER (ORDER BY id) = 1", "a window function cannot stand in WHERE"),
        ("SELECT 1 FROM sales GROUP BY «ntile(2) OVER (ORDER BY id)", "a window function cannot stand in GROUP BY"),
        ("SELECT 1 FROM sales HAVING «rank() OVER (ORDER BY max(id)) = 1", "a window function cannot stand in HAVING"),
        ("SELECT «upper(item) OVER (ORDER BY id) FROM sales", "`upper` cannot stand before OVER"),
        ("SELECT «grouping(store) FROM sales GROUP BY store", "grouping() needs ROLLUP, CUBE or GROUPING SETS"),
        ("SELECT «grouping(item) FROM sales GROUP BY ROLLUP (store)", "grouping() needs one grouping column"),
        ("SELECT «grouping_id(item, store) FROM sales GROUP BY CUBE (store, item)", "in their order"),
        ("SELECT «explode(tags) + 1 FROM baskets", "explode makes rows, so it cannot stand here"),
        ("SELECT id FROM baskets WHERE «explode(tags) = 'a'", "explode makes rows, so it cannot stand here"),
        ("SELECT sum(«*) FROM sales", "`*` cannot stand here"),
        ("SELECT id FROM sales ORDER BY «*", "`*` cannot stand here"),
    ],
)
def test_what_cannot_stand_where_it_is(text: str, message: str) -> None:
    check(text, BindError, message, None)


@pytest.mark.parametrize(
    "text,message",
    [
        ("SELECT id FROM sales UNION ALL SELECT «id, qty FROM sales", "UNION of 1 column with 2 columns"),
        ("SELECT id, qty FROM sales EXCEPT SELECT «id FROM sales", "EXCEPT of 2 columns with 1 column"),
        ("SELECT * FROM sales JOIN stores USING («cty)", "USING column `cty` does not exist on the left side"),
        ("SELECT * FROM sales JOIN stores USING («id)", "USING column `id` does not exist on the right side"),
        ("SELECT id FROM sales ORDER BY «2", "ORDER BY 2: the select list has 1 column"),
        ("SELECT id FROM sales ORDER BY «0", "ORDER BY 0: the select list has 1 column"),
        ("SELECT id, qty FROM sales GROUP BY «7", "GROUP BY 7: the select list has 2 columns"),
        ("SELECT id FROM sales UNION SELECT 1 ORDER BY «3", "ORDER BY 3: the query has 1 column"),
        ("SELECT DISTINCT store FROM sales ORDER BY «id", "ORDER BY of a SELECT DISTINCT must use its columns"),
        ("VALUES («1, 2), (3)", "VALUES rows differ in length"),
        ("SELECT * FROM VALUES («1, 2) AS t(a)", "1 name for 2 columns"),
        ("SELECT * FROM (SELECT «1, 2) AS t(a, b, c)", "3 names for 2 columns"),
        ("WITH «t(a) AS (SELECT 1, 2) SELECT * FROM t", "1 name for 2 columns"),
        ("SELECT (SELECT «id, qty FROM sales) FROM stores", "a sub-query used as a value has 2 columns, not one"),
        (
            "SELECT id FROM sales WHERE id IN (SELECT «id, qty FROM sales)",
            "1 value compared with a sub-query of 2 columns",
        ),
        ("SELECT id FROM sales WHERE (id, qty) IN (SELECT «id FROM sales)", "2 values compared with a sub-query of 1"),
        ("SELECT id FROM sales WHERE «id IN ()", "IN needs a list or a sub-query"),
        ("SELECT «posexplode(tags) AS (a) FROM baskets", "posexplode makes 2 columns, not 1"),
        ("SELECT «qty AS (a, b) FROM sales", "2 names for one value"),
        ("SELECT «*", "`*` without a FROM clause"),
        ("SELECT FROM «sales", "SELECT without columns"),
        ("SELECT cast(«1 AS decimal(x, 2))", "no type `DECIMAL(X, 2)`"),
    ],
)
def test_shapes_that_do_not_fit(text: str, message: str) -> None:
    check(text, BindError, message, None)


@pytest.mark.parametrize(
    "text,message",
    [
        ("«INSERT INTO sales VALUES (1)", "INSERT is not a query"),
        ("-- first\n«CREATE TABLE t AS SELECT 1", "CREATE is not a query"),
        ("«DROP TABLE sales", "DROP is not a query"),
        ("«UPDATE sales SET qty = 1", "UPDATE is not a query"),
        ("«EXPLAIN SELECT 1", "EXPLAIN is not a query"),
        ("«SET x = 1", "SET is not a query"),
        ("WITH RECURSIVE «t AS (SELECT 1) SELECT * FROM t", "WITH RECURSIVE"),
        ("SELECT * FROM «sales PIVOT (sum(qty) FOR store IN (1, 2))", "PIVOT"),
        ("SELECT * FROM «sales TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
        ("SELECT * FROM «sales VERSION AS OF 3", "time travel"),
        ("SELECT * FROM «sales TIMESTAMP AS OF '2024-01-01'", "time travel"),
        ("SELECT * FROM «range(10)", "the table function `RANGE(10)`"),
        ("SELECT * FROM sales s, LATERAL «nope(s.id)", "LATERAL nope"),
        ("SELECT «:x FROM sales", "a parameter marker"),
        ("SELECT id\nFROM sales\nWHERE id = «?", "a parameter marker"),
        ("SELECT id FROM sales LIMIT «1 + 1", "LIMIT 1 + 1"),
        ("SELECT id FROM sales LIMIT (SELECT «1)", "LIMIT (SELECT 1)"),
        ("SELECT id FROM sales SORT BY «id LIMIT 2", "SORT BY with LIMIT"),
        ("SELECT id FROM sales CLUSTER BY «id LIMIT 2", "CLUSTER BY with LIMIT"),
        ("SELECT id FROM sales DISTRIBUTE BY «id LIMIT 2", "DISTRIBUTE BY with LIMIT"),
        (
            "SELECT 1 FROM sales s LEFT JOIN stores t ON s.id IN (SELECT «id FROM returns)",
            "a sub-query inside ON of LEFT JOIN",
        ),
        ("SELECT explode((SELECT «tags FROM baskets)) AS t", "a sub-query inside a generator"),
        ("SELECT «id FROM sales UNION ALL BY NAME SELECT id FROM returns", "UNION BY NAME"),
        ("SELECT DISTINCT ON («store) id FROM sales", "DISTINCT ON"),
        ("SELECT «count(s.*) FROM sales s", "count(s.*)"),
        ("SELECT " + "+".join(["1"] * 2000), "a query nested this deeply"),
        ("SELECT " + "abs(" * 500 + "1" + ")" * 500, "a query nested this deeply"),
    ],
)
def test_refused_by_name(text: str, message: str) -> None:
    check(text, UnsupportedError, message, None)


@pytest.mark.parametrize(
    "text,message",
    [
        ("", "there is no query here"),
        ("  \n-- nothing\n;", "there is no query here"),
        ("SELECT 1;\n  «SELECT 2", "2 statements, where one query is expected"),
        ("SELECT «'abc FROM sales", "what starts here lacks its closing '"),
        ("SELECT 1,\n  «`abc FROM sales", "what starts here lacks its closing `"),
        ("SELECT 1 «/* what", "the comment that starts here is not closed"),
        ("SELECT (1 + 2 «FROM sales", "expected `)` near `FROM`"),
        ("SELECT 1«) FROM sales", "`)` was not expected here"),
        ("SELECT id FORM «sales", "`sales` was not expected here"),
        ("SELECT id FROM sales «WHERE", "WHERE near `WHERE` is not complete"),
        ("SELECT id FROM sales ORDER BY 'm' .", "this is not valid Spark SQL"),
    ],
)
def test_not_sql(text: str, message: str) -> None:
    check(text, ParseError, message, None)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_count_lines_and_columns_from_one(newline: str) -> None:
    text = newline.join(["SELECT", "\tid,", "  '", "two lines' AS x, /* and", "*/ \tprise", "FROM sales"])
    assert error_of(text).place == Place("q.sql", 5, 5)


def test_an_error_reads_as_one_message() -> None:
    assert str(error_of("SELECT\n  prise\nFROM sales")) == (
        "q.sql, line 2, column 3: no column `prise`\n  did you mean `price`?"
    )


# --- any text at all -------------------------------------------------------------------------------------------------

TEXTS = [cell.text for cell in all_cells()]


def words(text: str) -> list[str]:
    return [text[token.start : token.end + 1] for token in Spark4().tokenize(text)]


def with_words_changed(text: str, chance: random.Random, vocabulary: list[str]) -> str:
    """The text with a word or two deleted, doubled, exchanged, replaced or put in."""
    parts = words(text)
    for _ in range(chance.choice((1, 1, 2, 3))):
        here, there = chance.randrange(len(parts)), chance.randrange(len(parts))
        match chance.choice(("delete", "double", "exchange", "replace", "insert")):
            case "delete" if len(parts) > 1:
                del parts[here]
            case "double":
                parts.insert(here, parts[here])
            case "exchange":
                parts[here], parts[there] = parts[there], parts[here]
            case "replace":
                parts[here] = chance.choice(vocabulary)
            case _:
                parts.insert(here, chance.choice(vocabulary))
    return " ".join(parts)


def with_parts_changed(text: str, chance: random.Random, others: list[exp.Expr]) -> str:
    """The text with a part of its tree replaced by another one, more often than not of the same kind."""
    tree = parse(text)
    nodes = [node for node in tree.walk() if node.parent is not None]
    if nodes:
        node = chance.choice(nodes)
        alike = [other for other in nodes if type(other) is type(node)]
        node.replace(chance.choice(alike if chance.random() < 0.6 else others).copy())
    return tree.sql(dialect="spark")


@pytest.mark.parametrize("seed", range(5))
def test_words_out_of_place_never_end_in_a_traceback(seed: int) -> None:
    chance = random.Random(seed)
    vocabulary = sorted({word for text in TEXTS for word in words(text)})
    for _ in range(300):
        bind_or_refuse(with_words_changed(chance.choice(TEXTS), chance, vocabulary))


@pytest.mark.parametrize("seed", range(5))
def test_parts_out_of_place_never_end_in_a_traceback(seed: int) -> None:
    chance = random.Random(seed)
    others = [node for text in chance.sample(TEXTS, 50) for node in parse(text).walk() if node.parent is not None]
    bound = sum(bind_or_refuse(with_parts_changed(chance.choice(TEXTS), chance, others)) for _ in range(200))
    assert bound > 50


def bind_or_refuse(text: str) -> bool:
    """Whether a text binds; if it does not, the reason must be one for the user."""
    try:
        bind(text, CATALOG)
    except UserError:
        return False
    except Exception as error:
        pytest.fail(f"{type(error).__name__}: {error}\n{text}")
    return True
