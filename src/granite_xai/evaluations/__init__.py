"""What the model says about recombined rows."""
