"""Workloads to measure with, and the benchmarks that use them."""
