"""How often each part of a query should run, for a goal on what is left to do at the end [InQP; iShare].

`paces` says when a part is due, `simulation` what a configuration of paces costs, `greedy` finds one for a goal. With
several queries, `shared` weighs goals of their own, and `split` says which of them should share a part. `flows` has the
thesis's cardinality rules; `paths` finds the parts of a query.
"""
