"""Inter-TVR rules: a form of a relation through its relatives."""
