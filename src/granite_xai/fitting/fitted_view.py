"""What other rooms read of a fitted estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.text import listing
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.behavior.target import target_for
from granite_xai.fitting.fit_result import FitResult, FitRun
from granite_xai.fitting.new_rows import NewRows
from granite_xai.inference.sample_size import random_rows
from granite_xai.models.targets import read_clusters, read_weights
from granite_xai.surrogate.additive import in_unit_interval
from granite_xai.tables import Table, collect_rows, read_table
from granite_xai.trees.ensembles import Route

NOTES_BY_QUESTION = ("noise_floor", "measured_disagreement", "chance", "cause")
"""Diagnostics with an entry for each question."""


class GraniteBase(BaseEstimator):
    """What the rooms before the estimator know of `Granite`: it is one, and may be fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedGranite:
    """What displays, reports, files and frameworks read of a fitted Granite.

    Parameters
    ----------
    result : FitResult
        What the fit found.
    resources : Resources
        Its limits.
    diagnostics : mapping
        ``diagnostics_`` of the estimator.
    max_samples : int, "auto" or None
        As in `Granite`.
    run : FitRun, optional
        The fit with its evaluations, while they are in memory.
    """

    result: FitResult
    resources: Resources
    diagnostics: Mapping[str, Any]
    max_samples: int | str | None
    run: FitRun | None = None

    def of_output(self, name: Any) -> FittedGranite:
        """One of several outputs in the regions of all, and what was noted about it."""
        if name not in self.result.outputs:
            raise unknown("output", name, self.result.outputs, what="Outputs")
        result = self.result.outputs[name]
        run = None
        if self.run is not None:
            run = self.run.outputs[name]
        diagnostics = dict(self.diagnostics)
        for key in NOTES_BY_QUESTION:
            if key in diagnostics:
                by_label = diagnostics[key]
                labels = [comparison.question.label for comparison in result.comparisons]
                diagnostics[key] = {label: by_label[f"{label} of {name}"] for label in labels}
        return replace(self, result=result, diagnostics=diagnostics, run=run)

    @property
    def seed(self) -> int:
        """Seed of everything that was drawn."""
        return int(self.diagnostics["seed"])

    @property
    def noted_rows(self) -> Mapping[str, Any]:
        """Which rows searched and which were held out; the oldest files do not say it (F09)."""
        if "rows" not in self.diagnostics:
            raise InputError(
                "the file does not say which rows searched; an older granite-xai wrote it.",
                code="F09",
                argument="g",
                hint="Fit again.",
            )
        noted: Mapping[str, Any] = self.diagnostics["rows"]
        return noted

    def read(self, X: Any) -> Table:
        """Other rows, with the columns and kinds of the fitting rows."""
        return read_table(
            X, missing="allow" if self.result.missing else "error", like=self.result.table
        )

    def regions(self, table: Table) -> IntArray:
        """Region of each row."""
        return self.result.partition.apply(table)

    def target(self, y: Any, table: Table, *behaviors: Behavior) -> FloatArray | None:
        """The target as numbers, where a behavior (without any: of the questions) needs it."""
        predictor = self.result.predictor
        if behaviors:
            return target_for(y, table, predictor, *behaviors)
        comparisons = self.result.comparisons
        behaviors = tuple(comparison.first.behavior for comparison in comparisons)
        labels = [comparison.question.label for comparison in comparisons]
        return target_for(y, table, predictor, *behaviors, labels=labels)

    def draw_rows(self, weights: FloatArray, max_samples: int | None = None) -> IntArray:
        """Draw rows as the fit draws them.

        Parameters
        ----------
        weights : array of shape (n_rows,)
            Rows of weight 0 are not used.
        max_samples : int, optional
            Rows at most; None: as many as the fit.

        Returns
        -------
        array of int
            Positions of the rows to use.
        """
        rows = np.flatnonzero(weights > 0)
        if max_samples is None and self.max_samples == "auto":
            max_samples = len(self.noted_rows["search"])
        elif max_samples is None and self.max_samples is not None:
            max_samples = int(self.max_samples)
        if max_samples is None:
            return rows
        every_row_is_a_cluster = np.arange(len(weights))
        return random_rows(rows, every_row_is_a_cluster, int(max_samples), self.seed)

    def other_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        clusters: Any = None,
    ) -> tuple[NewRows, IntArray]:
        """Other rows of a fit, those of weight 0 left out.

        Parameters
        ----------
        X, y, sample_weight, clusters
            As in `Granite.fit`.

        Returns
        -------
        rows : NewRows
        regions : array of shape (n_rows,)
            Region of each row.
        """
        X, y, sample_weight, clusters = collect_rows(X, y, sample_weight, None, self.seed, clusters)
        table = self.read(X)
        target = self.target(y, table)
        weights = read_weights(sample_weight, table)
        cluster_numbers = read_clusters(clusters, table)
        rows = np.flatnonzero(weights > 0)
        if target is not None:
            target = target[rows]
        if len(rows) < table.n_rows:
            table = table.take(rows)
        new_rows = NewRows(
            fitted=self.result,
            route=Route(self.result.predictor, table),
            y=target,
            resources=self.resources,
            weights=weights[rows],
            clusters=np.unique(cluster_numbers[rows], return_inverse=True)[1].reshape(-1),
        )
        return new_rows, self.regions(table)

    def rows_needed(self, half_width: float) -> int:
        """Rows that search, for an interval of a half width; half as many more are held out."""
        n_rows = len(self.noted_rows["search"])
        confidence = self.result.confidence
        estimate = self.result.estimate
        if confidence is None or estimate is None or not estimate.standard_error > 0.0:
            raise InputError(
                "rows_needed() needs an interval, and this fit has none.",
                code="P03",
                argument="half_width",
                hint="Fit with a confidence_level and held-out rows (holdout=), on rows with more than chance.",
            )
        # The error falls like one over the root of the rows, as means do.
        shrinks = confidence.normal * estimate.standard_error / half_width
        return ceil(n_rows * shrinks**2)

    def predict(self, table: Table) -> FloatArray:
        """The regional additive surrogate of the model on other rows.

        Parameters
        ----------
        table : Table

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_outputs) where all outputs are explained
        """
        if self.result.outputs:
            outputs = [self.of_output(name).predict(table) for name in self.result.outputs]
            return np.stack(outputs, axis=1)
        surrogate = self.result.additive.value.surrogate
        predictor = None
        if surrogate.needs_model:
            predictor = self.result.predictor
        predicted = surrogate.predict(table, self.regions(table), predictor)
        if self.result.predictor.is_probability:
            predicted = in_unit_interval(predicted)
        return predicted

    def held_out_fidelity(self, X: Any) -> float:
        """Share of the prediction's variance on other rows that the regional additive surrogate describes."""
        table = self.read(X)
        predictions = self.result.predictor.on_rows(table)
        variance = predictions.var()
        if variance == 0:
            return 1.0
        squared_errors = np.square(predictions - self.predict(table))
        return 1.0 - float(squared_errors.mean() / variance)


def fitted_view(g: Any, output: Any = None, several: bool = False) -> FittedGranite:
    """What a fitted Granite found.

    Parameters
    ----------
    g : Granite
    output : object, optional
        One of the outputs, where all are explained.
    several : bool
        Whether the caller takes all outputs at once.

    Raises
    ------
    NotFittedError
        Where it is not fitted.
    InputError
        P01, where it is no Granite; M02, where all outputs are explained and the caller takes one.
    """
    if not isinstance(g, GraniteBase):
        raise InputError(
            f"a fitted Granite is needed, not a {type(g).__name__}.",
            code="P01",
            argument="g",
            hint="Pass gx.Granite(model).fit(X).",
        )
    check_is_fitted(g)
    view = FittedGranite(
        result=vars(g)["_fitted"],
        resources=_resources_of_fit(g),
        diagnostics=g.diagnostics_,
        max_samples=g.max_samples,
        run=vars(g).get("_run"),
    )
    if output is not None:
        return view.of_output(output)
    if view.result.outputs and not several:
        raise InputError(
            "this is about one output, and the fit explains all.",
            code="M02",
            argument="output",
            hint=f"Use of_output(): {listing(g.outputs_)}.",
        )
    return view


def _resources_of_fit(g: Any) -> Resources:
    """The limits of a fit; in files of version 2 the grid stands among the diagnostics."""
    resources = Resources() if g.resources is None else g.resources
    older_grid = g.diagnostics_.get("plan", {}).get("max_grid")
    if resources.max_grid == "auto" and older_grid is not None:
        resources = replace(resources, max_grid=older_grid)
    return resources
