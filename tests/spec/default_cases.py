"""The recorded default fits: every question, kind of column, and what may stand beside the rows.

The name of a case is its key in ``defaults.json`` and the id of its test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import granite_xai as gx

HELD_OUT = 660
"""Rows of which some are held out."""
FOLDS = 240
"""Too few to hold some out: judged by cross-validation."""


@dataclass(frozen=True)
class Case:
    """One fit with the default options but for those that are named."""

    model: str  # a name of `golden.models`; trained ones learn from the rows of the case
    table: str  # a name of `default_tables`
    question: Any
    n_rows: int
    beside: tuple[str, ...]  # "weights", "visits" or "towns"
    target: str  # "y" or "labels"
    options: Mapping[str, Any] = field(default_factory=dict)


def case(
    model: str,
    table: str = "numbers",
    question: Any = "ice-pdp",
    n_rows: int = HELD_OUT,
    *beside: str,
    target: str = "y",
    **options: Any,
) -> Case:
    """A case: what is named beyond the rows is an option of `Granite`."""
    return Case(model, table, question, n_rows, beside, target, options)


FRONT = {"influence": "joint", "groups": {"front": ["x0", "x1"]}}
FRONT_AND_BACK = {"influence": "joint", "groups": {"front": ["x0", "x1"], "back": ["x2", "x3"]}}
LOOK = {"influence": "joint", "groups": {"shop": ["open", "hour"], "look": ["color", "size"]}}
PAIRS = {"influence": "interaction"}
ALLOWED = {"missing": "allow"}

BY_QUESTION = {
    "ice-pdp": case("gated"),
    "shap-pdp": case("gated", "numbers", "shap-pdp"),
    "ice-shap": case("gated", "numbers", "ice-shap"),
    "coe": case("gated", "numbers", "coe"),
    "ale": case("gated", "numbers", "ale"),
    "sobol": case("gated", "numbers", "sobol"),
    "variance": case("gated", "numbers", "variance"),
    "pfi-risk": case("gated", "numbers", "pfi-risk"),
    "sage-risk": case("gated", "numbers", "sage-risk"),
    "mplot-pdp": case("smooth", "dependent", "mplot-pdp"),
    "cice-mplot": case("smooth", "dependent", "cice-mplot"),
    "cshap-shap": case("smooth", "dependent", "cshap-shap"),
    "csobol-sobol": case("smooth", "dependent", "csobol-sobol"),
    "cfi-pfi": case("smooth", "dependent", "cfi-pfi"),
    "ice-pdp of smooth interactions": case("smooth"),
    "ice-pdp of three columns at once": case("three-way", n_rows=900),
    "ice-pdp of few values": case("three-way", "few values"),
    "sobol of few values": case("three-way", "few values", "sobol"),
    "absolute gaps": case("gated", "numbers", gx.question("ice-pdp", loss="absolute")),
    "risk by absolute error": case(
        "gated", "numbers", gx.question("pfi-risk", risk_loss="absolute")
    ),
}

BY_NUMBER_OF_ROWS = {
    "40 rows": case("gated", n_rows=40),
    "90 rows": case("gated", n_rows=90),
    "folds, ice-pdp": case("smooth", n_rows=FOLDS),
    "folds, shap-pdp": case("gated", "numbers", "shap-pdp", FOLDS),
    "folds, pfi-risk": case("gated", "numbers", "pfi-risk", FOLDS),
    "folds, mplot-pdp": case("smooth", "dependent", "mplot-pdp", FOLDS),
    "1,500 rows": case("smooth", n_rows=1500),
    "some of 1,500 rows": case("smooth", n_rows=1500, max_samples=400),
    "no rows held out": case("gated", holdout=False),
    "twelve columns": case("neighbors", "wide", "ice-pdp", 300),
}

BY_ROWS = {
    "weights, ice-pdp": case("gated", "numbers", "ice-pdp", HELD_OUT, "weights"),
    "weights, sobol": case("gated", "numbers", "sobol", HELD_OUT, "weights"),
    "weights, pfi-risk": case("gated", "numbers", "pfi-risk", HELD_OUT, "weights"),
    "weights, mplot-pdp in folds": case("smooth", "dependent", "mplot-pdp", FOLDS, "weights"),
    "clusters, ice-pdp": case("gated", "numbers", "ice-pdp", HELD_OUT, "visits"),
    "clusters, pfi-risk": case("gated", "numbers", "pfi-risk", HELD_OUT, "visits"),
    "clusters and weights": case("smooth", "numbers", "ice-pdp", HELD_OUT, "visits", "weights"),
    "twelve clusters": case("gated", "numbers", "ice-pdp", HELD_OUT, "towns"),
    "twelve clusters in folds": case("smooth", "numbers", "ice-pdp", FOLDS, "towns"),
}

BY_INFLUENCE = {
    "a group": case("gated", "numbers", "ice-pdp", **FRONT),
    "two groups, shap-pdp": case("three-way", "few values", "shap-pdp", **FRONT_AND_BACK),
    "a group, pfi-risk": case("gated", "numbers", "pfi-risk", **FRONT),
    "groups of all kinds": case("mixed effects", "mixed", "ice-pdp", **LOOK),
    "pairs, ice-pdp": case("three-way", "few values", "ice-pdp", **PAIRS),
    "pairs, shap-pdp": case("three-way", "few values", "shap-pdp", FOLDS, **PAIRS),
    "pairs, variance": case("three-way", "few values", "variance", **PAIRS),
    "one column": case("gated", "numbers", "ice-pdp", features=["x0"]),
}

BY_OUTPUT = {
    "two outputs": case("two outputs", output="all"),
    "three classes": case("three classes", output="all"),
    "one of three classes": case("three classes", output="high"),
    "three classes, risk": case(
        "three classes", "numbers", "pfi-risk", output="all", target="labels"
    ),
    "two classes before the link": case("two classes", "numbers", "shap-pdp", response="raw"),
}

BY_OBJECTIVE = {
    "two questions": case("gated", "numbers", ["ice-pdp", "pfi-risk"]),
    "three questions of dependent columns": case(
        "smooth", "dependent", ["ice-pdp", "mplot-pdp", "csobol-sobol"]
    ),
    "two questions with weights": case("smooth", "numbers", {"ice-pdp": 3, "ale": 1}),
    "two questions in folds": case("gated", "numbers", ["ice-pdp", "sobol"], FOLDS),
    "two questions of three classes": case(
        "three classes", "numbers", ["ice-pdp", "sobol"], output="all"
    ),
    "regions that count alike": case(
        "smooth", "numbers", gx.Objective("ice-pdp", weighting="uniform")
    ),
}

BY_TABLE = {
    "all kinds of columns, ice-pdp": case("mixed effects", "mixed"),
    "all kinds of columns, shap-pdp": case("mixed effects", "mixed", "shap-pdp", FOLDS),
    "all kinds of columns, pfi-risk": case("mixed effects", "mixed", "pfi-risk"),
    "all kinds of columns, ale": case("mixed effects", "mixed", "ale"),
    "all kinds of columns, mplot-pdp": case("mixed effects", "mixed", "mplot-pdp"),
    "missing values, ice-pdp": case("mixed effects", "gaps", "ice-pdp", **ALLOWED),
    "missing values, pfi-risk": case("mixed effects", "gaps", "pfi-risk", **ALLOWED),
    "missing values, coe in folds": case("mixed effects", "gaps", "coe", FOLDS, **ALLOWED),
    "nine levels, ice-pdp": case("slope by town", "levels"),
    "nine levels, sobol": case("slope by town", "levels", "sobol"),
    "nine levels, cice-mplot": case("slope by town", "levels", "cice-mplot"),
}

BY_MODEL = {
    "a decision tree": case("decision tree"),
    "a forest, shap-pdp": case("forest", "numbers", "shap-pdp"),
    "boosted trees of few values": case("gradient boosting", "few values"),
}

BY_OPTION = {
    "nothing to find": case("additive"),
    "nothing to find in folds": case("additive", n_rows=FOLDS),
    "a constant model": case("constant"),
    "alpha chosen": case("smooth", alpha="auto"),
    "one split": case("smooth", max_depth=1),
    "regions of 80 rows": case("smooth", min_samples_leaf=80),
    "rules about two columns": case("smooth", split_features=["x0", "x3"]),
    "a grid of 10 values": case("smooth", resources=gx.Resources(max_grid=10)),
}

CASES: dict[str, Case] = {
    **BY_QUESTION,
    **BY_NUMBER_OF_ROWS,
    **BY_ROWS,
    **BY_INFLUENCE,
    **BY_OUTPUT,
    **BY_OBJECTIVE,
    **BY_TABLE,
    **BY_MODEL,
    **BY_OPTION,
}
