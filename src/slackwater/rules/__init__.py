"""Rules: laws by which a form or a relation can be computed in another way. Your own rules import from here.

```python
from slackwater.rules import Filter, Found, Goal, Kind, generates
```

`docs/own-rules.md` shows how to write one. `rule.py` defines rules, `declare.py` their decorators.
"""

from __future__ import annotations

from slackwater.algebra.predicates import column_equality, equality_sides
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Values,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import (
    Scalar,
    addition,
    call,
    case_when,
    cast,
    conjunction,
    conjuncts,
    difference,
    disjunction,
    equality,
    function_name,
    greater,
    is_not_null,
    is_null,
    literal,
    negation,
    product,
    reference,
)
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from slackwater.errors import RuleError
from slackwater.memo.group import RuleFlags
from slackwater.rules.declare import converts, explores, generates, relates, rewrites
from slackwater.rules.goal import Goal
from slackwater.rules.match import Match
from slackwater.rules.rule import Found, Rule
from slackwater.rules.signed import distinct_keys, negated, padded, plain, touched, weighted
from slackwater.time.forms import WEIGHT, Kind

# fmt: off
__all__ = [
    "BIGINT", "BOOLEAN", "DATE", "DOUBLE", "INT", "STRING", "TIMESTAMP", "WEIGHT", "Aggregate", "AggregateCall",
    "Column", "ColumnId", "Expand", "Filter", "Found", "Generate", "Goal", "Join", "JoinKind", "Kind", "Limit",
    "Match", "Project", "Relation", "Rule", "RuleError", "RuleFlags", "Scalar", "Scan", "Type", "Union", "Values",
    "Window", "WindowCall", "addition", "call", "case_when", "cast", "column_equality", "conjunction", "conjuncts",
    "converts", "decimal", "difference", "disjunction", "distinct_keys", "equality", "equality_sides", "explores",
    "function_name", "generates", "greater", "is_not_null", "is_null", "literal", "negated", "negation", "padded",
    "plain", "product", "reference", "relates", "rewrites", "touched", "weighted",
]
# fmt: on


def __getattr__(name: str) -> object:
    raise AttributeError(f"module `slackwater.rules` has no attribute `{name}`; it offers {', '.join(__all__)}")
