"""Time-free rewrites: they hold for every version of a relation."""
