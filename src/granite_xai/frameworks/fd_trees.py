"""FD-Trees (Laberge et al., 2024): regions in which features do not interact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np  # noqa: F401  # for the example

from granite_xai.algebra.objective import Objective
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose
from granite_xai.curves.curves import require_numeric
from granite_xai.estimator import Granite
from granite_xai.frameworks.alike import configured, original_settings
from granite_xai.regions import Partition
from granite_xai.search.growth import Growth
from granite_xai.search.problem import Partitioner, PartitionResult, Problem
from granite_xai.tables import Table

OBJECTIVES = {
    "coe": "coe",
    "pfi-pdp": "ice-pdp",
    "shap-pdp": "shap-pdp",
    "pfi-shap": "ice-shap",
}
"""The question behind each objective."""


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
    **options
        Of `Granite`.

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
        return configured(model, question, {}, options)
    priced_by_variance = Objective(options.pop("question", question), normalize="variance")
    settings = {"partitioner": NumericTree(), **original_settings()}
    return configured(model, priced_by_variance, settings, options)


@dataclass(frozen=True, slots=True)
class NumericTree(Partitioner):
    """The tree that the options of the estimator describe, refusing features that an original cannot split."""

    def extra_effects(self, table: Table, resources: Resources, seed: int) -> tuple[Any, ...]:
        """Nothing further is read of the model; other than numeric features are refused."""
        require_numeric(table.columns, "the original form (exact=True)")
        return ()

    def partition(self, problem: Problem) -> PartitionResult:
        """The regions of a problem."""
        root = Growth.of(problem).tree().as_regions(problem)
        return PartitionResult(Partition(root, problem.table.names))
