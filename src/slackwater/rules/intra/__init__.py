"""Intra-TVR rules: a form of a relation from other forms of the same relation."""
