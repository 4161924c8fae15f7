"""Studies that fit more than once: comparisons of models or tables, and groups of features."""
