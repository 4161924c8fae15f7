"""What a story is told from: a fit, its finding, and the evaluations of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from granite_xai.algebra.behavior import Risk
from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.base.numbers import amount, with_minus
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.estimator import Granite
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted import fitted_view
from granite_xai.inference.nodes import NodeFigures
from granite_xai.report.measure import Measure
from granite_xai.results.finding import FitFinding, finding_of
from granite_xai.results.values import Values
from granite_xai.search.problem import GivenRules

HALVES = 3  # that the search is repeated on, with their complements: found in 6 of 6 is stable


@dataclass(frozen=True, eq=False)
class ReportSource:
    """A fitted Granite and what its evaluations tell.

    Parameters
    ----------
    granite : Granite
    values : Values, optional
        None for a fit that was loaded, of which only the stored curves are told.
    unit, target : str
        Unit and name of the target, where they are known.
    score : dict, optional
        How good the model is.
    """

    granite: Granite
    values: Values | None = None
    unit: str = ""
    target: str = ""
    score: dict[str, str] | None = None

    @property
    def fitted(self) -> FitResult:
        """What the fit found."""
        return fitted_view(self.granite).result

    @property
    def n_rows(self) -> int:
        """Search rows, also of an object that was loaded without them."""
        return sum(region.n_samples for region in self.fitted.partition)

    @property
    def figures(self) -> NodeFigures | None:
        """Figures of every node of the tree, for the first question; older files have none."""
        return self.fitted.nodes[0] if self.fitted.nodes else None

    @cached_property
    def finding(self) -> FitFinding:
        """The finding in sentences; what the curves describe is computed for it."""
        fitted = self.fitted
        # Sentences leave out what has not been computed. Both are computed when they are first read.
        _ = fitted.curves.value
        if fitted.estimate is not None and not fitted.estimate.below_noise_floor:
            _ = fitted.estimate.fidelity
        diagnostics = self.granite.diagnostics_
        return finding_of(fitted, diagnostics, target=self.target, unit=self.unit)

    @property
    def measure(self) -> Measure:
        """How heterogeneity is told."""
        resolved = self.fitted.questions[0]
        if self.figures is None:
            is_rooted = resolved.question.loss == "squared"
        else:
            is_rooted = self.figures.is_rooted
        unit = self.finding.output.unit
        return Measure(
            per_row=resolved.first.behavior.per_row,
            is_rooted=is_rooted,
            probability=unit.probability,
            unit=unit.unit,
        )

    @property
    def n_held_out(self) -> int:
        """Rows that had no say in finding the regions."""
        estimate = self.fitted.estimate
        if estimate is None or estimate.rows not in ("held-out", "given"):
            return 0
        return estimate.n_rows

    @property
    def is_cross_validated(self) -> bool:
        """Whether figures come from folds that were left out in turn."""
        estimate = self.fitted.estimate
        return estimate is not None and estimate.rows == "cross-validated"


def set_labels(question: ResolvedQuestion) -> list[str]:
    """A text for each compared set."""
    return [":".join(names) for names in question.first.layout.labels]


def rounded(values: Any, digits: int = 5) -> list[float | None]:
    """Numbers as plain floats with a few significant digits; None where one is not finite."""
    numbers: list[float | None] = []
    for value in np.asarray(values).tolist():
        if math.isfinite(value):
            numbers.append(float(f"{value:.{digits}g}"))
        else:
            numbers.append(None)
    return numbers


def number_or_none(value: float) -> float | None:
    """A number as the story has it: None where it is not known (nan)."""
    return None if math.isnan(value) else float(value)


def source_of(granite: Granite, X: Any, y: Any, unit: str) -> ReportSource:
    """What is told of a fit: with X and y also the model's score.

    Parameters
    ----------
    granite : Granite
        Fitted.
    X, y : table and array, optional
        Those of the fit.
    unit : str
        Of the predictions; empty: not known.
    """
    result = fitted_view(granite).result
    if result.sample is None:  # it was loaded
        return ReportSource(granite, unit=unit)
    if _shall_search_again(granite, result):
        granite.stability(HALVES)
    values = Values.of_fit(granite, X, y)
    score = None
    target = None
    if y is not None:
        view = fitted_view(granite)
        behavior = Risk().resolved(result.model.is_probability)
        target = view.target(y, view.read_again(X), behavior)
    if target is not None:
        predictions, _, _ = values.by_row()
        score = _score(granite, X, predictions, result.rows.positions, target)
    return ReportSource(
        granite=granite,
        values=values,
        unit=unit,
        target=str(getattr(y, "name", None) or ""),
        score=score,
    )


def _shall_search_again(granite: Granite, result: FitResult) -> bool:
    """Whether halves of the rows can be searched for the regions, and have not been; the model is not asked."""
    return (
        len(granite.partition_) > 1
        and granite.stability_ is None
        and not isinstance(result.settings.partitioner, GivenRules)
        and len(np.unique(result.rows.clusters)) > 1
    )


def _score(
    granite: Granite,
    X: Any,
    predictions: FloatArray,
    search_rows: IntArray,
    target: FloatArray,
) -> dict[str, str]:
    """How good the model is: on held-out rows, otherwise on the search rows.

    Parameters
    ----------
    granite : Granite
        Fitted.
    X : table
        Of the fit.
    predictions : array
        Of the search rows.
    search_rows : array
        Where these stand in X.
    target : array
        Of all rows of X.

    Returns
    -------
    dict
        ``text``: the score in words; ``rows``: those that it is about.
    """
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    view = fitted_view(granite)
    rows = search_rows
    kind = "search"
    held_out = view.diagnostics["rows"]["held_out"]
    if held_out:
        rows = np.asarray(held_out, dtype=np.intp)
        kind = "held-out"
        predictions = view.result.model.on_rows(view.read_again(X).take(rows))
    truth = target[rows]
    where = f"on the {len(rows):,} {kind} rows; the model may have been trained on them"
    if len(rows) < 2 or np.ptp(truth) == 0:
        return {"text": "not defined", "rows": f"one value of y {where}"}
    if view.result.model.is_probability:
        auc = roc_auc_score(truth, predictions)
        loss = log_loss(truth, np.clip(predictions, 0, 1))
        return {"text": f"AUC {auc:.2f}, log loss {loss:.2f}", "rows": where}
    error = float(np.sqrt(np.mean(np.square(truth - predictions))))
    r_squared = with_minus(f"{r2_score(truth, predictions):.2f}")
    return {"text": f"R² {r_squared}, typical error {amount(error)}", "rows": where}
