"""What the rows are worth."""
