"""Advertising attribution: impressions, clicks, invalid clicks that are found later, conversions that come later."""
