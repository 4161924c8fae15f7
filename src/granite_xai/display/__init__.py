"""Pictures of a fit: effects, importances, interactions and the tree of regions.

Every display computes once (``from_estimator``), draws as often as asked (``plot``), and hands out the numbers behind
the picture (``frame``).
"""
