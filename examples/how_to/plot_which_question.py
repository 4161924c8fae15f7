"""
Which question should I ask?
============================

A question is a pair of explanations that ought to agree. Which pair depends on what you are going to do with the
answer. The small model of the paper shows both reasons for disagreement: ``F = 3 x1 x2 + x3 + 2 x4``, where x1 and x2
interact and x4 depends on x3.
"""

import warnings

import pandas as pd

import granite_xai as gx

warnings.simplefilter("ignore", gx.BinWarning)  # explained in the example on dependent features
toy = gx.datasets.make_toy(n=400)
y = toy.model(toy.X)

# %%
# Ask several questions and look at where their rules split.

asked = {
    "ice-pdp": "Is one effect curve per feature enough?",
    "sobol": "Is one importance per feature enough?",
    "mplot-pdp": "Does the effect curve stay on the data?",
    "cfi-pfi": "Is the column needed, or would others do?",
}
lines = []
for name, meaning in asked.items():
    g = gx.Granite(toy.model, name, max_depth=1).fit(toy.X, y)
    rules = " | ".join(str(rule) for rule in g.partition_.rules)
    lines.append((name, meaning, rules, f"{g.remaining_:.0%}"))
pd.DataFrame(lines, columns=["question", "asks", "regions", "left"]).set_index("question")

# %%
# Pure against full explanations (the first two) blame the interaction and split x2. Conditional against marginal ones
# (the last two) blame the dependence of x3 and x4 and split x4. One question with both parts finds both:

g = gx.Granite(toy.model, ["ice-pdp", "mplot-pdp"], max_depth=2).fit(toy.X)
gx.PartitionDisplay.from_estimator(g).plot()

# %%
# All names, and what each compares:

pairs = [(name, q.first.name, q.second.name) for name, q in gx.questions().items()]
pd.DataFrame(pairs, columns=["question", "first", "second"]).set_index("question")

# %%
# **What you learn.** To *describe the model*, ask about interactions (``ice-pdp`` for curves, ``sobol`` or ``pfi-risk``
# for rankings). To describe *the world through the model*, ask about dependencies (``mplot-pdp``, ``cfi-pfi``). If you
# do not know, ask both at once and see which features the rules name.
