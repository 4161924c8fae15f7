"""Evaluations of recombined rows: ``E_S[u, n] = F(value u on S, row n elsewhere)``."""
