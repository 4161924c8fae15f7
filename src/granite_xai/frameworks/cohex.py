"""CohEx (Meng et al., 2024): cohorts around representatives in which SHAP values agree."""

from __future__ import annotations

from typing import Any

from granite_xai.estimator import Granite
from granite_xai.search.cohorts import Cohorts


def cohex(
    model: Any,
    *,
    against: str = "mean",
    free: int = 4,
    beta: float = 5.0,
    restarts: int = 10,
    rounds: int = 5,
    **options: Any,
) -> Granite:
    """Cohorts of rows around representatives, in which SHAP values with the cohort as reference agree.

    Partial and pure local effects of all columns agree in each cohort. Unlike the original, columns are scaled, a seed
    is used, the loss is a share of that of one cohort (beta has no unit), and the best candidate is kept rather than
    the last one that improved.

    Parameters
    ----------
    model : object
    against : "mean" or "pure"
        SHAP values are compared with their mean in the cohort, as in the original, which penalises main effects too;
        or with the pure effect as a function of the column.
    free, beta : int, float
        Cohorts without a penalty, and the weight of the penalty for more.
    restarts, rounds : int
        Random starts (the original: 100), and how often rows are explained again.
    **options
        Of `Granite`; those of its tree say how cohorts are described.

    Examples
    --------
    >>> cohex(lambda X: X[:, 0], free=2).partitioner.free
    2
    """
    cohorts = Cohorts("shap", against, free, beta, restarts, rounds)
    return Granite(model, options.pop("question", "shap-pdp"), **{"partitioner": cohorts, **options})
