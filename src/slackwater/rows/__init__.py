"""How many rows relations, versions and deltas have: one estimator, from statistics and from history."""
