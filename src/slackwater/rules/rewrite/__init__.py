"""Rewriting rules: equal trees for an operator with everything below it."""
