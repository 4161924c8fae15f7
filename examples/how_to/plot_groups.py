"""
Groups of features
==================

Six of the ten diabetes features are measurements of blood. Nobody wants six stories about it: name the features
as a group and it acts as one. One-hot columns are another use.
"""

from sklearn.ensemble import RandomForestRegressor

import granite_xai as gx

X, y = gx.datasets.load_diabetes()
model = RandomForestRegressor(50, min_samples_leaf=5, random_state=0).fit(X, y)
blood = ["s1", "s2", "s3", "s4", "s5", "s6"]
groups = {"person": ["age", "sex"], "body": ["bmi", "bp"], "blood": blood}

# %%
# ``influence="joint"`` compares the effects of groups. What features of one group do together is now an effect of the
# group, no disagreement; what is left to explain lies between groups.

single = gx.Granite(model, "ice-pdp", max_depth=2).fit(X)
joint = gx.Granite(model, "ice-pdp", influence="joint", groups=groups, max_depth=2).fit(X)
print(f"disagreement of columns {single.disagreement_:.0f}, of groups {joint.disagreement_:.0f}")
print(joint.partition_)

# %%
# Rules still speak of single features, because that is what a person can check. To rank the groups:

gx.ImportanceDisplay.from_estimator(joint, X).plot()

# %%
# A group's effects in numbers, both explanations side by side, in each region:

effects = joint.explain(X).frame()
effects["size"] = effects["value"].abs()
effects.pivot_table(index="set", columns=["region", "explanation"], values="size").round(1)

# %%
# A feature in no group stays a player of its own. Group only the features that nobody would look at one by one:

some = gx.Granite(model, "ice-pdp", influence="joint", groups={"blood": blood}, max_depth=1).fit(X)
print([":".join(names) for names in some.explain(X).sets])

# %%
# **What you learn.** The size of the disagreement depends on what you count as one thing. If it nearly vanishes for
# groups, the interactions were inside them, and one effect per group is an honest summary without any regions.
