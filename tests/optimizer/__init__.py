"""The optimizer held against brute force: every law it knows, every plan it makes, on random queries and data."""
