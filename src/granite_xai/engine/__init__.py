"""Many regions at once: membership, the masked model in each region, the value of each coalition."""
