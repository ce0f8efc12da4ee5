"""A run: worked out, executed, checked, compared with batch, accounted for."""
