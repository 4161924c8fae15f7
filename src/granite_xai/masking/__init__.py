"""F_T: what stands in for the columns that are hidden."""
