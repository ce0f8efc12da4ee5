"""TPC-H and TPC-DS: tables, data at any scale factor, query texts, and arrivals through a day."""
