"""The surrogate: one curve per feature and region, added up."""
