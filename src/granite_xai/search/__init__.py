"""From a disagreement to a tree of regions."""
