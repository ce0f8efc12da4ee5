"""Subscriptions and monthly recurring revenue: a change log of contracts, invoices of a year, credit notes."""
