"""A cycle: which runs are due, how it is planned, and how the rest is planned anew."""
