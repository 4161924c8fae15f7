"""One way to draw what is found: the axis of a feature, marks, and painters of them."""
