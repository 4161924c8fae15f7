"""The golden fits: 14 questions and the options of the paper's algorithm, as one table of cases.

The name of a case is its key in ``golden.json`` and the id of its test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import granite_xai as gx
from granite_xai.partitioners import (
    AllExcept,
    Clusters,
    Cohorts,
    GivenRules,
    Ice,
    RepidTree,
    Subgroups,
    Tree,
)

SINGLE_PRECISION = 1e-6  # for sums of trees that a library adds up in single precision


@dataclass(frozen=True)
class Case:
    """One fit: a model on a table, a question, and options of `Granite`."""

    model: str  # a name of `golden.models`
    table: str = "numbers"  # a name of `golden.tables`
    question: Any = "ice-pdp"
    options: Mapping[str, Any] = field(default_factory=dict)
    target: str = "y"  # "y" or "labels": what `fit` and `evaluate` are given as the target
    weighted: bool = False  # whether the rows have sample weights
    framework: Callable[..., gx.Granite] | None = None  # makes the estimator instead of `Granite`
    arguments: tuple[Any, ...] = ()  # of the framework, after the model
    tolerance: float = 1e-10  # relative to the size of a figure, and at least absolute


def case(model: str, table: str = "numbers", question: Any = "ice-pdp", **options: Any) -> Case:
    """A plain case: whatever is named beyond model, table and question is an option of `Granite`."""
    return Case(model=model, table=table, question=question, options=options)


def with_weights(model: str, table: str, question: Any, **options: Any) -> Case:
    """The same with sample weights."""
    return Case(model, table, question, options, weighted=True)


def with_labels(model: str, table: str, question: Any, **options: Any) -> Case:
    """The same with classes as the target."""
    return Case(model, table, question, options, target="labels")


def framework(
    make: Callable[..., gx.Granite], model: str, table: str, *arguments: Any, **options: Any
) -> Case:
    """A published framework with its arguments and options."""
    return Case(model, table, options=options, framework=make, arguments=arguments)


def soft_loss(gap: np.ndarray) -> np.ndarray:
    """A loss of our own: like the square for small gaps, like the absolute value for large ones."""
    return gap**2 / (1 + np.abs(gap))


def cubic_risk(prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A loss of the model of our own."""
    return np.abs(prediction - y) ** 3


class SignBins:
    """Bins of our own: which of the visible columns are positive."""

    def fit(self, X_visible: Any, X_hidden: Any) -> SignBins:
        return self

    def apply(self, X_visible: Any) -> np.ndarray:
        positive = np.asarray(X_visible, dtype=float) > 0
        return positive @ (2 ** np.arange(positive.shape[1]))


def partial_of(index: str, influence: Any = "individual") -> gx.Disagreement:
    """A partial effect by one of the indices, compared with the pure effect."""
    return gx.Disagreement(
        gx.Explainer(interaction=gx.Partial(index), influence=influence),
        gx.Explainer(interaction="pure", influence=influence),
    )


def baseline_of(row: Any, interaction: str = "full") -> gx.Disagreement:
    """Effects against one row, compared with the pure effect against the same row."""
    return gx.Disagreement(
        gx.Explainer(masking=gx.Baseline(row), interaction=interaction),
        gx.Explainer(masking=gx.Baseline(row), interaction="pure"),
    )


PAIRS = {"influence": "interaction"}
GROUPS = {"influence": "joint", "groups": {"front": ["x0", "x1"]}}
GROUPS_OF_TWO = {"influence": "joint", "groups": {"front": ["x0", "x1"], "back": ["x2", "x3"]}}
MIXED_GROUPS = {"influence": "joint", "groups": {"shop": ["open", "hour"], "look": ["color"]}}
# A baseline is the same in every region: a tree gains nothing, so that the regions are given.
HALVES = {"partitioner": GivenRules(["x1 ≤ 0", "x1 > 0"])}
SMALL_LEAVES = {"min_samples_leaf": 8, "alpha": 0.01}
GRID = {"resources": gx.Resources(max_grid=8)}
SAMPLED = {"resources": gx.Resources(max_evaluations=400_000)}
GAPS = {"missing": "allow", "min_samples_leaf": 10}

BY_QUESTION = {
    "ice-pdp of a gate": case("gated", "numbers", "ice-pdp"),
    "shap-pdp of a gate": case("gated", "numbers", "shap-pdp"),
    "ice-shap of a gate": case("gated", "numbers", "ice-shap"),
    "mplot-pdp of dependent columns": case("smooth", "dependent", "mplot-pdp"),
    "cice-mplot of dependent columns": case("smooth", "dependent", "cice-mplot"),
    "cshap-shap of dependent columns": case("smooth", "dependent", "cshap-shap"),
    "sobol of a gate": case("gated", "numbers", "sobol"),
    "variance of a gate": case("gated", "numbers", "variance"),
    "csobol-sobol of dependent columns": case("smooth", "dependent", "csobol-sobol"),
    "pfi-risk of a gate": case("gated", "numbers", "pfi-risk"),
    "sage-risk of a gate": case("gated", "numbers", "sage-risk"),
    "cfi-pfi of dependent columns": case("smooth", "dependent", "cfi-pfi"),
    "coe of a gate": case("gated", "numbers", "coe"),
    "ale of a gate": case("gated", "numbers", "ale"),
    "ice-pdp of few values": case("smooth", "few values", "ice-pdp"),
    "shap-pdp of few values": case("three-way", "few values", "shap-pdp"),
    "ale of few values": case("gated", "few values", "ale"),
    "variance of dependent columns": case("smooth", "dependent", "variance"),
    "sobol of few values": case("three-way", "few values", "sobol"),
    "pfi-risk of dependent columns": case("smooth", "dependent", "pfi-risk"),
    "ice-pdp of 300 rows": case("smooth in three", "more numbers", "ice-pdp"),
    "coe of 300 rows": case("smooth in three", "more numbers", "coe"),
    "ice-pdp of an additive model": case("additive", "numbers", "ice-pdp"),
    "ice-pdp of a constant model": case("constant", "numbers", "ice-pdp"),
    "pfi-risk of an additive model": case("additive", "dependent", "pfi-risk"),
}

BY_LOSS = {
    "absolute gaps of ice-pdp": case(
        "gated", "numbers", gx.question("ice-pdp", loss="absolute"), **SMALL_LEAVES
    ),
    "absolute gaps of coe": case("smooth", "numbers", gx.question("coe", loss="absolute")),
    "absolute gaps of mplot-pdp": case(
        "smooth", "dependent", gx.question("mplot-pdp", loss="absolute")
    ),
    "absolute gaps of sobol": case("gated", "numbers", gx.question("sobol", loss="absolute")),
    "gaps of our own loss of ice-pdp": case(
        "gated", "numbers", gx.question("ice-pdp", loss=soft_loss)
    ),
    "gaps of our own loss of pfi-risk": case(
        "gated", "numbers", gx.question("pfi-risk", loss=soft_loss)
    ),
    "gaps of our own loss of ale": case("gated", "numbers", gx.question("ale", loss=soft_loss)),
    "risk by absolute error": case(
        "gated", "numbers", gx.question("pfi-risk", risk_loss="absolute")
    ),
    "risk by an error of our own": case(
        "gated", "numbers", gx.question("pfi-risk", risk_loss=cubic_risk)
    ),
    "risk by averaged losses": case("gated", "numbers", gx.question("pfi-risk", average="loss")),
    "risk by averaged absolute losses among similar rows": case(
        "smooth", "dependent", gx.question("cfi-pfi", risk_loss="absolute", average="loss")
    ),
    "risk of every row": case("gated", "numbers", gx.question("pfi-risk", pointwise=True)),
    "shared risk of every row by averaged losses": case(
        "gated", "numbers", gx.question("sage-risk", pointwise=True, average="loss")
    ),
    "full variance by Jansen's form": case(
        "smooth", "dependent", gx.question("variance", total="jansen")
    ),
    "full variance by difference": case(
        "smooth", "dependent", gx.question("sobol", total="difference")
    ),
    "ale in 5 intervals": case("smooth", "numbers", gx.question("ale", intervals=5)),
}

BY_WEIGHT = {
    "weighted rows of ice-pdp": with_weights("gated", "numbers", "ice-pdp"),
    "weighted rows of shap-pdp": with_weights("gated", "numbers", "shap-pdp"),
    "weighted rows of mplot-pdp": with_weights("smooth", "dependent", "mplot-pdp"),
    "weighted rows of csobol-sobol": with_weights("smooth", "dependent", "csobol-sobol"),
    "weighted rows of pfi-risk": with_weights("gated", "numbers", "pfi-risk"),
    "weighted rows of coe": with_weights("smooth", "numbers", "coe", alpha=0.01),
    "weighted rows of ale": with_weights("gated", "numbers", "ale"),
    "weighted rows of all kinds": with_weights("mixed effects", "mixed", "ice-pdp"),
    "weighted rows on a grid": with_weights("smooth", "numbers", "ice-pdp", **GRID),
    "weighted rows of a forest": with_weights("forest", "numbers", "shap-pdp"),
}

BY_INFLUENCE = {
    "ice-pdp of a group": case("gated", "numbers", "ice-pdp", **GROUPS),
    "shap-pdp of two groups": case("three-way", "numbers", "shap-pdp", **GROUPS_OF_TWO),
    "pfi-risk of a group": case("gated", "numbers", "pfi-risk", **GROUPS),
    "sobol of a group": case("three-way", "few values", "sobol", **GROUPS),
    "mplot-pdp of a group": case("smooth", "dependent", "mplot-pdp", **GROUPS),
    "coe of two groups": case("three-way", "numbers", "coe", **GROUPS_OF_TWO),
    "ice-pdp of groups of all kinds": case("mixed effects", "mixed", "ice-pdp", **MIXED_GROUPS),
    "ice-pdp of one of two groups": case(
        "three-way", "numbers", "ice-pdp", **GROUPS_OF_TWO, features=["front"]
    ),
    "ice-pdp of pairs": case("three-way", "few values", "ice-pdp", **PAIRS),
    "shap-pdp of pairs": case("three-way", "few values", "shap-pdp", **PAIRS),
    "variance of pairs": case("three-way", "few values", "variance", **PAIRS),
    "pfi-risk of pairs": case("three-way", "few values", "pfi-risk", **PAIRS),
    "coe of pairs": case("three-way", "few values", "coe", **PAIRS),
    "cice-mplot of one pair": case(
        "three-way", "few values", "cice-mplot", **PAIRS, features=[("x0", "x1")]
    ),
    "ice-pdp of triples": case(
        "three-way", "few values", "ice-pdp", influence=("interaction", 3), max_depth=1
    ),
    "ice-pdp of two columns": case("gated", "numbers", "ice-pdp", features=["x0", "x2"]),
    "sage-risk of one column": case("gated", "numbers", "sage-risk", features=["x2"]),
    "Banzhaf values": case("gated", "numbers", partial_of("banzhaf")),
    "Shapley interactions of pairs": case(
        "three-way", "few values", partial_of("sii", gx.Interactions(2))
    ),
    "faithful interactions of pairs": case(
        "three-way", "few values", partial_of("fsii", gx.Interactions(2))
    ),
    "shap-pdp of sampled orders": case("neighbors", "many columns", "shap-pdp", **SAMPLED),
    "ice-shap of sampled orders": case(
        "neighbors", "many columns", "ice-shap", **SAMPLED, min_samples_leaf=10
    ),
    "sage-risk of sampled orders": case(
        "neighbors", "many columns", "sage-risk", **SAMPLED, max_depth=1
    ),
}

BY_OBJECTIVE = {
    "regions that count alike": case(
        "smooth", "numbers", gx.Objective("ice-pdp", weighting="uniform"), **SMALL_LEAVES
    ),
    "regions that count alike for two questions": case(
        "smooth", "numbers", gx.Objective(["ice-pdp", "pfi-risk"], weighting="uniform")
    ),
    "shares of the variance": case(
        "smooth", "numbers", gx.Objective("ice-pdp", normalize="variance")
    ),
    "shares of the variance of two questions": case(
        "gated", "numbers", gx.Objective(["coe", "shap-pdp"], normalize="variance")
    ),
    "two questions": case("gated", "numbers", ["ice-pdp", "pfi-risk"]),
    "three questions of dependent columns": case(
        "smooth", "dependent", ["ice-pdp", "mplot-pdp", "csobol-sobol"]
    ),
    "two questions with weights": case("smooth", "numbers", {"ice-pdp": 3, "ale": 1}),
    "two questions with weights, about groups": case(
        "smooth", "numbers", {"shap-pdp": 1, "sobol": 2.5}, **GROUPS
    ),
    "two questions, one with nothing to explain": case(
        "additive", "dependent", ["ice-pdp", "cfi-pfi"]
    ),
}

BY_OUTPUT = {
    "all of three classes": case("three classes", output="all"),
    "all of three classes, shap-pdp": case("three classes", "few values", "shap-pdp", output="all"),
    "all of three classes, risk": with_labels("three classes", "numbers", "pfi-risk", output="all"),
    "all of three classes, two questions": case(
        "three classes", "numbers", ["ice-pdp", "sobol"], output="all"
    ),
    "first of three classes": case("three classes", output="high"),
    "last of three classes before the link": case("three classes", output="mid", response="raw"),
    "risk of one of three classes": with_labels(
        "three classes", "numbers", "sage-risk", output="low"
    ),
    "Brier score of one of three classes": with_labels(
        "three classes", "numbers", gx.question("pfi-risk", risk_loss="brier"), output="high"
    ),
    "probability of the second of two classes": case("two classes", response="probability"),
    "probability of the first of two classes": case("two classes", output="no"),
    "two classes before the link": case("two classes", "numbers", "shap-pdp", response="raw"),
    "all of two outputs": case("two outputs", output="all"),
    "all of two outputs on a grid": case("two outputs", output="all", **GRID),
    "second of two outputs": case("two outputs", output=1),
}

BY_SEARCH = {
    "three columns followed": case("three-way", beam=3, alpha=0.01),
    "two columns followed, coe": case("three-way", "few values", "coe", beam=2, alpha=0.01),
    "a cut at the median": case("smooth", max_candidates=2),
    "four cuts of a column": case("smooth", max_candidates=5, alpha=0.01),
    "regions of 1 row": case("gated", min_samples_leaf=1),
    "regions of 40 rows": case("smooth", min_samples_leaf=40),
    "a price of 0": case("smooth", alpha=0.0, min_samples_leaf=10),
    "a price of 0.3": case("smooth", alpha=0.3),
    "no split at all": case("gated", max_depth=0),
    "one split": case("smooth", max_depth=1),
    "four splits on the way": case("smooth", max_depth=4, **SMALL_LEAVES),
    "rules about two columns": case("smooth", split_features=["x0", "x3"]),
    "rules about all columns but one": case("gated", split_features=AllExcept("x1")),
    "80 drawn rows": case("smooth", max_samples=80, random_state=3),
    "levels by number": case("smooth", "few values", kinds={"x0": "nominal", "x1": "ordinal"}),
}

BY_PARTITIONER = {
    "given rules": case(
        "gated", partitioner=GivenRules(["x1 ≤ 0.2", "x1 > 0.2 and x0 ≤ 0", "x1 > 0.2 and x0 > 0"])
    ),
    "given rules, risk": case(
        "gated", "numbers", "pfi-risk", partitioner=GivenRules(["x2 ≤ 0", "x2 > 0"])
    ),
    "given rules about levels": case(
        "mixed effects",
        "mixed",
        partitioner=GivenRules(["color in {red, blue}", "color not in {red, blue}"]),
    ),
    "clusters of SHAP values": case("gated", partitioner=Clusters("shap", n_clusters=3)),
    "clusters of ICE values by k-means": case(
        "gated", "few values", partitioner=Clusters("ice", "k-means", 3)
    ),
    "clusters of ICE curves by Birch": case(
        "gated", partitioner=Clusters(Ice("x0"), "birch", 3, threshold=0.3)
    ),
    "cohorts": case("gated", partitioner=Cohorts(restarts=2, rounds=2, pool=10)),
    "cohorts against pure effects": case(
        "gated", "numbers", "shap-pdp", partitioner=Cohorts("ice", "pure", 2, 1.0, 2, 2, 10)
    ),
    "subgroups of a dependent column": case(
        "smooth", "dependent", "mplot-pdp", partitioner=Subgroups("x2")
    ),
    "subgroups by the mean": case(
        "smooth", "dependent", "cfi-pfi", partitioner=Subgroups("x2", by="mean")
    ),
    "a tree that needs improvement": case(
        "smooth", partitioner=Tree(min_improvement=0.1, search="greedy", alpha=0.0)
    ),
    "a tree with every value as a cut": case(
        "smooth", partitioner=Tree(cuts="values", search="greedy", min_samples_leaf=10)
    ),
    "the tree of REPID": case("gated", partitioner=RepidTree(["x0"]), min_samples_leaf=10),
}

BY_FRAMEWORK = {
    "REPID": framework(gx.frameworks.repid, "gated", "numbers", "x0"),
    "REPID, exact": framework(gx.frameworks.repid, "gated", "numbers", "x0", exact=True),
    "VINE": framework(gx.frameworks.vine, "gated", "numbers", "x0"),
    "VINE, exact": framework(gx.frameworks.vine, "gated", "numbers", "x0", exact=True),
    "CohEx": framework(gx.frameworks.cohex, "gated", "few values", restarts=2, rounds=1),
    "GADGET": framework(gx.frameworks.gadget, "smooth", "numbers", ["x0", "x2"]),
    "GADGET with ALE": framework(gx.frameworks.gadget, "gated", "numbers", None, "ale"),
    "GADGET with ALE, exact": framework(
        gx.frameworks.gadget, "gated", "numbers", ["x0"], "ale", exact=True
    ),
    "GADGET with SHAP values, exact": framework(
        gx.frameworks.gadget, "gated", "numbers", ["x0"], "shap", exact=True
    ),
    "GADGET, exact": framework(gx.frameworks.gadget, "smooth", "numbers", ["x0"], exact=True),
    "FD-Trees": framework(gx.frameworks.fd_trees, "gated", "numbers"),
    "FD-Trees, exact": framework(gx.frameworks.fd_trees, "smooth", "numbers", exact=True),
    "FD-Trees by SHAP and PFI": framework(gx.frameworks.fd_trees, "gated", "numbers", "pfi-shap"),
    "transformation trees": framework(
        gx.frameworks.transformation_trees, "smooth", "dependent", "x2"
    ),
    "transformation trees, risk": framework(
        gx.frameworks.transformation_trees, "smooth", "dependent", "x2", "cfi-pfi"
    ),
}

BY_TABLE = {
    "all kinds of columns": case("mixed effects", "mixed"),
    "all kinds of columns, shap-pdp": case("mixed effects", "mixed", "shap-pdp", max_depth=2),
    "all kinds of columns, mplot-pdp": case("mixed effects", "mixed", "mplot-pdp", alpha=0.0),
    "all kinds of columns, coe": case("mixed effects", "mixed", "coe", alpha=0.01),
    "all kinds of columns, ale": case("mixed effects", "mixed", "ale"),
    "all kinds of columns, pfi-risk": case("mixed effects", "mixed", "pfi-risk"),
    "all kinds of columns in polars": case("mixed effects", "mixed in polars"),
    "all kinds of columns in polars, sobol": case("mixed effects", "mixed in polars", "sobol"),
    "missing values": case("mixed effects", "mixed with gaps", **GAPS),
    "missing values, mplot-pdp in given rules": case(
        "mixed effects",
        "mixed with gaps",
        "mplot-pdp",
        missing="allow",
        partitioner=GivenRules(["heat ≤ 0 or missing", "heat > 0"]),
    ),
    "missing values, coe": case("mixed effects", "mixed with gaps", "coe", **GAPS, alpha=0.01),
    "missing values, ale": case("mixed effects", "mixed with gaps", "ale", **GAPS),
    "missing values in polars": case("mixed effects", "gaps in polars", **GAPS),
    "nine levels": case("slope by town", "many levels", min_samples_leaf=10),
    "nine levels, few divisions": case("slope by town", "many levels", "coe", max_candidates=6),
    "nine levels, cice-mplot": case("slope by town", "many levels", "cice-mplot"),
    "a grid of 8 values": case("smooth", "numbers", "ice-pdp", **GRID),
    "a grid of 8 values, sobol": case("smooth", "numbers", "sobol", **GRID),
    "a grid of 8 values, pfi-risk": case("gated", "numbers", "pfi-risk", **GRID),
    "a grid of 8 values, mplot-pdp": case("smooth", "dependent", "mplot-pdp", **GRID),
    "a grid of 8 values, 300 rows": case("smooth in three", "more numbers", "ice-pdp", **GRID),
    "a grid of 8 values, all kinds of columns": case("mixed effects", "mixed", "ice-pdp", **GRID),
}

BY_MASKING = {
    "baseline of medians": case("smooth", "numbers", baseline_of("median"), **HALVES),
    "baseline of means, partial effects": case(
        "gated", "numbers", baseline_of("mean", "partial"), **HALVES
    ),
    "baseline of a given row": case(
        "smooth", "numbers", baseline_of((0.5, -0.2, 0.1, 0.3)), **HALVES
    ),
    "baseline of medians, a tree": case("smooth", "numbers", baseline_of("median"), alpha=0.0),
    "baseline and marginal SHAP": case(
        "gated", "numbers", gx.Disagreement("shap", "baseline-shap"), **HALVES
    ),
    "exact bins": case(
        "three-way", "few values", gx.question("cice-mplot", conditional=gx.Conditional("exact"))
    ),
    "exact bins, risk": case(
        "three-way", "few values", gx.question("cfi-pfi", conditional=gx.Conditional("exact"))
    ),
    "bins of our own": case(
        "smooth", "dependent", gx.question("mplot-pdp", conditional=gx.Conditional(SignBins()))
    ),
    "a copula": case(
        "smooth",
        "dependent",
        gx.question("mplot-pdp", conditional=gx.Conditional(sampler="copula")),
    ),
    "a copula, risk": case(
        "smooth", "dependent", gx.question("cfi-pfi", conditional=gx.Conditional(sampler="copula"))
    ),
    "Shapley effects and first-order indices": case(
        "smooth",
        "dependent",
        gx.Disagreement(
            gx.Explainer("conditional", "sensitivity", "partial"),
            gx.Explainer("marginal", "sensitivity", "pure"),
        ),
    ),
}

BY_MODEL = {
    "a decision tree": case("decision tree", "few values", "ice-pdp"),
    "a decision tree, coe": case("decision tree", "few values", "coe"),
    "a forest": case("forest", "numbers", "ice-pdp"),
    "a forest, ice-shap": case("forest", "numbers", "ice-shap"),
    "a forest, pfi-risk": case("forest", "numbers", "pfi-risk"),
    "a forest of all classes": case("forest classifier", "numbers", "ice-pdp", output="all"),
    "a forest of one class, shap-pdp": case(
        "forest classifier", "numbers", "shap-pdp", output="low"
    ),
    "gradient boosting": case("gradient boosting", "numbers", "shap-pdp"),
    "histogram boosting": case("histogram boosting", "numbers", "ice-pdp"),
    "histogram boosting, mplot-pdp": case("histogram boosting", "dependent", "mplot-pdp"),
    "a polynomial": case("polynomial", "numbers", "ice-pdp"),
    "logistic regression of all classes": case("logistic", "numbers", "ice-pdp", output="all"),
    "logistic regression before the link": case(
        "logistic", "numbers", "ice-pdp", output="low", response="raw"
    ),
    "a network": case("network", "numbers", "ice-pdp"),
    "LightGBM": case("LightGBM", "numbers", "shap-pdp"),
    "LightGBM, coe": case("LightGBM", "few values", "coe"),
    "one XGBoost tree": case("one XGBoost tree", "numbers", "ice-pdp"),
    "XGBoost": Case("XGBoost", "numbers", "shap-pdp", tolerance=SINGLE_PRECISION),
}

CASES: dict[str, Case] = {
    **BY_QUESTION,
    **BY_LOSS,
    **BY_WEIGHT,
    **BY_INFLUENCE,
    **BY_OBJECTIVE,
    **BY_OUTPUT,
    **BY_SEARCH,
    **BY_PARTITIONER,
    **BY_FRAMEWORK,
    **BY_TABLE,
    **BY_MASKING,
    **BY_MODEL,
}
