"""E_S: what is asked of the model, and the values it gave."""
