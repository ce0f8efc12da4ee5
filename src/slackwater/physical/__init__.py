"""How an engine computes a relation and what that takes: operators, layouts, prices, bills."""
