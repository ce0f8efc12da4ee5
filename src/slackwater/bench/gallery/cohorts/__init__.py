"""Cohorts and retention: orders of a year, customers by the month of their first order, refunds, countries."""
