"""Pictures of a fit: effects, importances, interactions, the tree of regions, all features at a glance, one row.

Every display computes once (``from_estimator``), draws as often as asked (``plot``), and hands out the numbers behind
the picture (``frame``).
"""
