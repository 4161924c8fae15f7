"""Regions: conditions, rules, and the partition they make."""
