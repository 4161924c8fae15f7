"""The four axes of an explanation: masking, behavior, interaction, influence."""
