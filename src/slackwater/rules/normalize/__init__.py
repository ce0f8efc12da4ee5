"""Normalization: time-free rewrites that are always an improvement. `normalizer.py` applies them."""
