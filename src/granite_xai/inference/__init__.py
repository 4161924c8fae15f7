"""Chance: what the numbers are worth, since the rows are a sample."""
