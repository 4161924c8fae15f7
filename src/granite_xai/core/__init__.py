"""The numeric core, written as one piece: what the model said, the algebra over it, the search, chance, and one fit."""
