"""Rules: small pure functions from one expression to an equal one. `rule.py` says what a rule is."""
