"""The memo: all equal expressions of each relation, and all ways to compute each of its forms."""
