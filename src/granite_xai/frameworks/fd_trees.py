"""FD-Trees (Laberge et al., 2024): a tree that makes the model additive in each leaf."""

from __future__ import annotations

from typing import Any

from granite_xai.base.options import choose
from granite_xai.estimator import Granite
from granite_xai.objective import Objective
from granite_xai.search.original import NumericTree

OBJECTIVES = {"coe": "coe", "pfi-pdp": "ice-pdp", "shap-pdp": "shap-pdp", "pfi-shap": "ice-shap"}
"""The question behind each objective: cost of exclusion, and the three pairs of explanations."""


def fd_trees(model: Any, objective: str = "coe", *, exact: bool = False, **options: Any) -> Granite:
    """Regions in which explanations of all columns agree because columns do not interact.

    Parameters
    ----------
    model : object
    objective : "coe", "pfi-pdp", "shap-pdp" or "pfi-shap"
        What shall become small: the gap between the model and its additive part, or that between permutation
        importance of predictions (ICE), SHAP and PDP. The question's own name serves as well.
    exact : bool
        The price of a region is a share of the prediction's variance, as in the authors' library, instead of a share of
        the disagreement on all rows; numeric columns only. All else is the same. The library drops cuts that are
        close to the largest value; only equal ones are dropped here.
    **options
        Of `Granite`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> g = fd_trees(lambda X: np.where(X[:, 1] > 0, X[:, 0], X[:, 2]), exact=True).fit(X)
    >>> {name for rule in g.partition_.rules for name, _ in rule.conditions}
    {'x1'}
    """
    question = choose("objective", objective, OBJECTIVES | {name: name for name in OBJECTIVES.values()})
    if not exact:
        return Granite(model, options.pop("question", question), **options)
    settings: dict[str, Any] = {"partitioner": NumericTree()}
    return Granite(model, Objective(options.pop("question", question), normalize="variance"), **{**settings, **options})
