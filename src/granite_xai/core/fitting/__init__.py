"""One fit."""
