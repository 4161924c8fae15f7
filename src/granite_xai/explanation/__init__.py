"""Explanations: a choice of masking, behavior, interaction, influence."""
