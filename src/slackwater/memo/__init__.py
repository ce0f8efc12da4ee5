"""The memo: every known way to write each relation, and every known way to compute each of its forms."""
