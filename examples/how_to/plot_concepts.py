"""
A model of concepts
===================

A concept bottleneck reads concepts off an image (how striped, how large, how green) and predicts classes
from these scores alone. The scores are a table, so that regions and curves tell which concepts the second
model needs where, in words that people use for pictures.
"""

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier

import granite_xai as gx

# %%
# Scores between 0 and 1, as the first model gives them, made up here. Stripes make a zebra of a large
# animal and a tiger only where the background is a forest.

draw = np.random.default_rng(0)
n = 1_200
concepts = pd.DataFrame(
    draw.beta(0.6, 0.6, size=(n, 4)), columns=["striped", "forest", "mane", "water"]
)
tiger = 4 * concepts["striped"] * concepts["forest"]
zebra = 4 * concepts["striped"] * (1 - concepts["forest"])
lion = 3 * concepts["mane"]
scores = np.column_stack([tiger, zebra, lion]) + draw.gumbel(scale=0.3, size=(n, 3))
animal = np.array(["tiger", "zebra", "lion"])[scores.argmax(axis=1)]
head = MLPClassifier((16,), alpha=0.1, max_iter=600, random_state=0).fit(concepts, animal)

# %%
# All classes in one tree. Classes name the outputs.

g = gx.Granite(head, output="all").fit(concepts)
print(g)

# %%
# One panel a class, one line a region.

gx.OutputDisplay.from_estimator(g, concepts, features=["striped"]).plot()
