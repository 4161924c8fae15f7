"""nu: which aspect of the masked model counts as its value."""
