"""Relational rules of the search: equal expressions of a relation, which cost decides between."""
