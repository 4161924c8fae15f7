"""Six published regional frameworks, each a configuration of `Granite`.

VINE: Britton, 2019. CohEx: Meng et al., 2024. REPID and GADGET: Herbinger et al., 2022 and 2024. FD-Trees: Laberge et
al., 2024. Transformation trees, conditional subgroups: Molnar et al., 2023. Every function takes the model first, then
the feature (by its label) where it is about one, and further options of `Granite`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np  # noqa: F401  # for the examples

from granite_xai.base.options import choose
from granite_xai.compute import Resources
from granite_xai.disagreement.catalog import question as named_question
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.disagreement.objective import Objective
from granite_xai.estimator import Granite
from granite_xai.explanation.influence import Individual
from granite_xai.partitioners import AllExcept, Clusters, Cohorts, Ice, RepidTree, Subgroups
from granite_xai.partitioners.original import NumericTree

EFFECTS = {"pd": "ice-pdp", "ale": "ale", "shap": "shap-pdp"}
"""The question behind each kind of effect of GADGET."""

OBJECTIVES = {
    "coe": "coe",
    "pfi-pdp": "ice-pdp",
    "shap-pdp": "shap-pdp",
    "pfi-shap": "ice-shap",
}
"""The question behind each objective of FD-Trees."""

ALE_INTERVALS = 10
"""Intervals of a feature in the named question "ale"."""


def questions_of(granite: Granite) -> list[Disagreement]:
    """The questions behind what a configuration asks.

    Parameters
    ----------
    granite : Granite
        Fitted or not.
    """
    objective = granite.question
    if not isinstance(objective, Objective):
        objective = Objective(objective)
    return [question for question, _ in objective.weighted()]


def _configure(
    model: Any,
    question: Any,
    settings: dict[str, Any],
    options: dict[str, Any],
    feature: Hashable | None = None,
) -> Granite:
    """A `Granite` of a framework.

    Parameters
    ----------
    model : model
    question : as in `Granite`
        Unless the options have another one.
    settings : dict
        Options of `Granite` that make the framework.
    options : dict
        Those of the user, which go before.
    feature : label, optional
        The one feature that the framework is about.
    """
    choices = {"question": question, "search": "greedy", **settings, **options}
    if feature is not None:
        choices.setdefault("features", [feature])
        choices["question"] = _about_feature(choices["question"], feature)
    return Granite(model, **choices)


def _about_feature(question: Any, feature: Hashable) -> Any:
    """A question about all features as one about a single one; `Granite` does so for names."""
    if isinstance(question, Disagreement) and question.first.influence == Individual():
        return question.with_influence(Individual([feature]))
    return question


def _original_settings(points: int | None = None) -> dict[str, Any]:
    """What the originals do: all rows are used, and nothing is corrected for sampling noise.

    Parameters
    ----------
    points : int, optional
        Values of a feature at which effects are read; None: all of them.
    """
    return {"confidence_level": None, "resources": Resources(max_grid=points)}


def vine(
    model: Any,
    feature: Hashable,
    *,
    exact: bool = False,
    n_clusters: int = 5,
    method: str = "ward",
    points: int = 20,
    grid: str = "quantile",
    **options: Any,
) -> Granite:
    """Cluster the slopes of one feature's ICE curves and put the clusters into rules.

    Full and pure local effects of the feature (d-ICE and d-PDP) agree in each cluster. Curves are read on a quantile
    grid, centred by their own mean; their first differences are clustered. The regions are the leaves of one tree, so
    that they are disjoint, where the original gives each cluster a rule of its own and rules overlap.

    Parameters
    ----------
    exact : bool
        Also the original's second stage: ``cluster_rules_`` holds a rule, its accuracy and rows for each cluster once
        those with like rules are merged, and whether it is kept. Numeric features only.
    n_clusters, method : int, "ward", "k-means" or "birch"
        Clusters, at most, and how they are found.
    points, grid : int, "quantile" or "equidistant"
        Grid points, at most, and where they lie.
    **options
        Of `Granite`; those of its tree say how clusters are described.

    Examples
    --------
    >>> X = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(90, 2))
    >>> g = vine(lambda X: X[:, 0] * (X[:, 1] > 0), "x0").fit(X)
    >>> len(g.partition_), g.description_accuracy_
    (2, 1.0)
    """
    curves = Ice(feature, points, grid, differences=True)
    clusters = Clusters(on=curves, method=method, n_clusters=n_clusters, merge=exact)
    settings: dict[str, Any] = {"partitioner": clusters}
    if exact:
        settings |= _original_settings(points)
    return _configure(model, "ice-pdp", settings, options, feature)


def cohex(
    model: Any,
    *,
    against: str = "mean",
    free: int = 4,
    beta: float = 5.0,
    restarts: int = 100,
    rounds: int = 5,
    **options: Any,
) -> Granite:
    """Cohorts of rows around representatives, in which SHAP values with the cohort as reference agree.

    Partial and pure local effects of all features agree in each cohort. What is unlike the original: see `Cohorts`.

    Parameters
    ----------
    against : "mean" or "pure"
        SHAP values are compared with their mean in the cohort, as in the original, which penalises main effects too;
        or with the pure effect as a function of the feature.
    free, beta : int, float
        Cohorts without a penalty, and the weight of the penalty for more.
    restarts, rounds : int
        Random starts, at most, and how often rows are explained again.
    **options
        Of `Granite`; those of its tree say how cohorts are described.

    Examples
    --------
    >>> cohex(lambda X: X[:, 0], free=2).partitioner.free
    2
    """
    cohorts = Cohorts(
        on="shap", against=against, free=free, beta=beta, restarts=restarts, rounds=rounds
    )
    return _configure(model, "shap-pdp", {"partitioner": cohorts}, options)


def repid(
    model: Any,
    feature: Hashable,
    *,
    exact: bool = False,
    points: int = 20,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions of the other features in which full and pure local effects of one feature agree.

    Parameters
    ----------
    feature : label
        The feature of interest; rules do not use it.
    exact : bool
        The original's loss and search: centred ICE curves on an equidistant grid, every value as a cut (as in the
        authors' later package; the first code looks at every ``min_samples_leaf``-th, and scores a cut with one row on
        the other side than it applies it), a split only if it improves enough. Numeric features only.
    points, min_improvement : int, float
        Of the exact form: grid points, on which the question is asked too, and the least improvement.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> g = repid(lambda X: X[:, 0] * np.sign(X[:, 2]), "x0", exact=True).fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x2'}
    """
    settings: dict[str, Any] = {"split_features": AllExcept(feature)}
    if exact:
        tree = RepidTree(
            features=[feature],
            effect="pd",
            points=points,
            trim=False,
            min_improvement=min_improvement,
        )
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
        settings |= _original_settings(points)
    return _configure(model, "ice-pdp", settings, options, feature)


def gadget(
    model: Any,
    features: Sequence[Hashable] | None = None,
    effect: str = "pd",
    *,
    exact: bool = False,
    recalculate: bool = True,
    points: int = 20,
    intervals: int = 10,
    min_improvement: float = 0.1,
    **options: Any,
) -> Granite:
    """Regions in which local effects of some features agree with their regional mean.

    Parameters
    ----------
    features : sequence of labels, optional
        Features whose effects are compared; None: all.
    effect : "pd", "ale" or "shap"
        ICE and PDP, changes across intervals and ALE, or SHAP values and PDP.
    exact : bool
        The original's loss and search, numeric features only: ICE curves on an equidistant grid, shortened with the
        region; changes across quantile intervals; SHAP values around a penalised spline of the feature. Averaged
        over grid points, not over the rows' own values. Where the original draws the effects next to a cut anew at
        random, the interval ends at the cut; cuts scored on other rows than they are applied to are not copied.
    recalculate : bool
        Exact SHAP only: whether values are computed again in each region, or divided, the original's shortcut.
    intervals, points, min_improvement : int, int, float
        Of each feature, ALE only; the others as in `repid`.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (80, 3))
    >>> X[:, 2] = np.sign(X[:, 2])
    >>> g = gadget(lambda X: 3 * X[:, 0] * X[:, 2], ["x0"], "ale", exact=True).fit(X)
    >>> [str(rule) for rule in g.partition_.rules]
    ['x2 ≤ 0', 'x2 > 0']
    """
    question: Any = choose("effect", effect, EFFECTS)
    settings: dict[str, Any] = {}
    if effect == "ale" and intervals != ALE_INTERVALS:
        question = named_question("ale", intervals=intervals).with_influence(Individual(features))
    else:
        settings["features"] = features
    if exact:
        tree = RepidTree(
            features=features,
            effect=effect,
            points=points,
            intervals=intervals,
            recalculate=recalculate,
            min_improvement=min_improvement,
        )
        settings |= {"partitioner": tree, "min_samples_leaf": 10}
        settings |= _original_settings()
    return _configure(model, question, settings, options)


def fd_trees(model: Any, objective: str = "coe", *, exact: bool = False, **options: Any) -> Granite:
    """Regions in which explanations of all features agree because features do not interact.

    Parameters
    ----------
    objective : "coe", "pfi-pdp", "shap-pdp" or "pfi-shap"
        What shall become small: the gap between the model and its additive part, or that between permutation
        importance of predictions (ICE), SHAP and PDP. The question's own name serves as well.
    exact : bool
        The price of a region is a share of the prediction's variance, as in the authors' library, instead of a share of
        the disagreement on all rows; numeric features only. All else is the same. The library drops cuts that are
        close to the largest value; only equal ones are dropped here.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> g = fd_trees(lambda X: np.where(X[:, 1] > 0, X[:, 0], X[:, 2]), exact=True).fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x1'}
    """
    names_of_questions = {name: name for name in OBJECTIVES.values()}
    question = choose("objective", objective, {**OBJECTIVES, **names_of_questions})
    if not exact:
        return _configure(model, question, {}, options)
    priced_by_variance = Objective(options.pop("question", question), normalize="variance")
    settings = {"partitioner": NumericTree(), **_original_settings()}
    return _configure(model, priced_by_variance, settings, options)


def transformation_trees(
    model: Any,
    feature: Hashable,
    question: Any = "mplot-pdp",
    *,
    by: str = "distribution",
    **options: Any,
) -> Granite:
    """Regions in which one feature hardly depends on the others, so that conditional and marginal effects agree.

    Parameters
    ----------
    question : as in `Granite`
        What is reported in the regions, which depend on the rows alone: "mplot-pdp", or "cfi-pfi" (needs y).
    by : "distribution" or "mean"
        What a split separates: the feature's distribution (transformation trees) or its mean (CART).
    **options
        Of `Granite`; alpha is a share of the feature's scatter here.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x1 = rng.normal(size=200)
    >>> X = np.column_stack([np.where(x1 > 0, 3.0, -3.0) + rng.normal(size=200), x1])
    >>> g = transformation_trees(lambda X: X[:, 0] * X[:, 1], "x0", "ice-pdp").fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x1'}
    """
    settings = {
        "partitioner": Subgroups(feature, by),
        "min_samples_leaf": 30,
        "alpha": 0.02,
    }
    return _configure(model, question, settings, options, feature)
