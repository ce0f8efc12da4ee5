"""The evening report of a chain of shops: orders, lines, payments, and a feed of returns."""
