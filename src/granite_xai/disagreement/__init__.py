"""Questions: how far two explanations disagree."""
