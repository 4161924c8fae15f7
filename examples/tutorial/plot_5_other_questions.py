"""
5. Other questions
==================

ICE against PDP asks about interactions. Other pairs of explanations disagree for other reasons,
and the same search finds the regions in which they agree.
"""

import granite_xai as gx

# %%
# A question is a pair of explanations that ought to agree:

for name, question in gx.questions().items():
    print(f"{name:13} {question.first.name} against {question.second.name}")

# %%
# The paper's small model has both reasons for a disagreement: ``F = 3 x1 x2 + x3 + 2 x4``, where
# x1 and x2 *interact* and x4 *depends* on x3.

toy = gx.datasets.make_toy(n=3000)

# %%
# **Is one curve per feature enough?** Interactions say no.

print(gx.Granite(toy.model, "ice-pdp").fit(toy.X).partition_)

# %%
# **Does the curve stay on the data?** M-plots average over rows that exist, PDPs also over
# combinations that do not. Dependent features make the difference, so the rule is about x3, which
# x4 depends on.

print(gx.Granite(toy.model, "mplot-pdp", features=["x4"]).fit(toy.X).partition_)

# %%
# **Why do importances differ?** Permutation importance (PFI) counts what a feature does together
# with others, pure importance only what it does alone. Questions about risk need y.

y = toy.model(toy.X)
print(gx.Granite(toy.model, "pfi-risk").fit(toy.X, y))

# %%
# **Several at once:** one division of the rows in which all of them agree.

print(gx.Granite(toy.model, ["ice-pdp", "mplot-pdp"]).fit(toy.X))

# %%
# **On which scale?** A product has an interaction; its logarithm is a sum and needs no regions. For
# probabilities the scale is ``"log-odds"``.

positive = gx.datasets.make_toy(n=1000).X.abs() + 0.5
print(gx.Granite(lambda X: X["x1"] * X["x2"], scale="log").fit(positive))

# %%
# **In short.** Interactions: ``ice-pdp``, ``sobol``, ``pfi-risk``. Dependent features:
# ``mplot-pdp``, ``cfi-pfi``. The page on the algebra of explanations lists them all.
