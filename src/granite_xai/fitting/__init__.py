"""A fit, from options and a table to regions and their judgement."""
