"""E_S and Shapley values read off tree ensembles."""
