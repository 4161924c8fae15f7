"""Regions of the data and the rules that describe them."""
