"""The tables that a query reads, and their statistics."""
