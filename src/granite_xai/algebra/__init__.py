"""From evaluations to effects and to how far two explanations are apart."""
