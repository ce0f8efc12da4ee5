"""Normalization: time-free rewrites that are always good. `normalizer.py` applies them."""
