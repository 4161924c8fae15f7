"""What describes a model: one curve per column, in regions that share what does not differ between them."""
