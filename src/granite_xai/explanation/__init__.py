"""Explanations: masking, behavior, interaction and influence, and what they compute."""
