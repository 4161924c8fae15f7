"""What describes a model: one curve per column in each region."""
