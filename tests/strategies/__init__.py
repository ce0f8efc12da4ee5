"""Random tables, random Spark SQL over them, and how two answers are compared.

`queries.cases(family)` is the hypothesis strategy; `queries.make_case(Seeded(n), family)` builds the n-th case without
hypothesis, several times faster, for runs of many thousands. Both read the same generator through `choices.Choices`,
whose one question, "a number below n", always has its simplest answer at 0: that is what makes failures shrink.
"""
