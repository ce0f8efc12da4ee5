"""Slackwater: what tonight's query can do during today's slack."""
