"""Questions: two explanations and the disagreement between them."""
