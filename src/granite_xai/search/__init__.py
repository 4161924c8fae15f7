"""Ways to find regions."""
