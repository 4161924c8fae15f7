"""Studies that fit more than once."""
