"""Relational rules of the search: other ways to write a relation, some better, some worse, all equal."""
