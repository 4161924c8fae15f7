"""Sums over the rows of a region from which its disagreement follows, whatever the region."""
