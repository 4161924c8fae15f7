"""
Interactions of order two
=========================

Sometimes pairs of features are a welcome part of the story, and only what three or more features do together should go.
With ``influence="interaction"`` the explanations compared are those of pairs.
"""

import granite_xai as gx

toy = gx.datasets.make_order_two(n=300)

# %%
# The model is ``x1 + 0.7 x1 x2`` where x3 is not negative, and ``-x1 + 0.7 x1 x4`` elsewhere. On all rows x3 meddles
# with both pairs, so they interact to order three; on either side of zero only one pair is left.
#
# ``features`` says which pairs are compared. The rules may use any feature.

g = gx.Granite(
    toy.model,
    "ice-pdp",
    influence="interaction",
    features=[("x1", "x2"), ("x1", "x4")],
    max_depth=1,
).fit(toy.X)
print(g.partition_)

# %%
# What features do alone (discs) and what they do only together (lines):

gx.InteractionDisplay.from_estimator(g, toy.X, max_samples=120).plot()

# %%
# One pair as a surface, on all rows and in both regions: it hardly exists in the first region, and on all rows it looks
# weaker than it is in the second.

gx.InteractionDisplay.from_estimator(g, toy.X, pair=("x1", "x2")).plot()

# %%
# With pairs in the story, the additive surrogate has surfaces as well as curves.

print(f"variance explained: {g.global_fidelity_:.0%} on all rows, {g.fidelity_:.0%} in the regions")

# %%
# **What you learn.** Regions for single features remove every interaction and may become many. Regions for pairs leave
# the pairs to a picture like the one above, and are needed only where three features act together.
