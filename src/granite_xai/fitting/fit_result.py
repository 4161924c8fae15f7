"""What a fit found, and a fitted Granite: everything that is shown, kept or asked afterwards is read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from granite_xai.algebra.behavior import Behavior
from granite_xai.algebra.effects import Effect
from granite_xai.algebra.explanation import Part, random_signs, regional_part
from granite_xai.algebra.influence import PlayersAndSets
from granite_xai.algebra.masking import learn
from granite_xai.base.deferred import Deferred
from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import listing
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.curves.description import CurveMaker
from granite_xai.curves.shared import SharedCurves
from granite_xai.evaluations.evaluations import Evaluations, Sample
from granite_xai.evaluations.request import reads_parts_of_sets, reads_single_columns
from granite_xai.fitting.find import Path, Task
from granite_xai.fitting.plan import Plan, needs_of
from granite_xai.fitting.settings import target_for
from granite_xai.fitting.stability import Stability
from granite_xai.inference.estimate import Estimate, Predicted, described_share
from granite_xai.inference.model_errors import ModelErrors
from granite_xai.inference.nodes import NodeFigures
from granite_xai.models.columns import read_input
from granite_xai.models.targets import read_clusters, read_weights
from granite_xai.regions import Partition
from granite_xai.regions.tree import Ledger
from granite_xai.tables import Table, collect_rows, read_table
from granite_xai.tables.rows import Rows


class FromFile(NamedTuple):
    """What a file knows of the model and the rows that it does not hold, as `granite_xai.saving` wrote it."""

    row: Any  # one row, and the prediction of the model there
    rows: Any  # positions of the search rows, and their weights


@dataclass(frozen=True, eq=False, kw_only=True)
class FitResult(Task):
    """What a fit found.

    Parameters
    ----------
    settings, model, missing, plan, questions, question_weights, floors
        As in `Task`.
    rows : Rows
        Those that searched.
    disagreements : array of shape (Q,)
        Of each question on all rows, before any split.
    exceeded : array of shape (Q,), optional
        Which questions show more than chance on all rows; None without a confidence level.
    partition : Partition
    regions : array of shape (n_rows,)
        Region of each row.
    shared_curves : Deferred of SharedCurves
        What describes the model; it asks the model where the questions are about some of the columns.
    sample, curve_maker : Sample, Deferred of CurveMaker, optional
        What the model said about the rows, and what curves are made of; only the object that was fitted keeps them.
    estimate : Estimate, optional
        What other rows say of the regions.
    nodes : tuple of NodeFigures
        Of each question.
    stability, path : Stability, Path, optional
        Where somebody asked for them; the path also where it chose the price of a region.
    learned : mapping
        Further fitted attributes of the estimator, by name, such as ``clusters_`` of a partitioner.
    outputs : mapping
        Where all outputs are explained, the result of each in these regions.
    ledger : Deferred of Ledger
        What each split adds, and what further ones would.
    errors : ModelErrors, optional
        Of the model, where a target was given.
    from_file : FromFile, optional
        Of a fit that was loaded.
    """

    rows: Rows
    disagreements: FloatArray
    exceeded: BoolArray | None
    partition: Partition
    regions: IntArray
    shared_curves: Deferred[SharedCurves]
    sample: Sample | None = None
    curve_maker: Deferred[CurveMaker] | None = None
    estimate: Estimate | None = None
    nodes: tuple[NodeFigures, ...] = ()
    stability: Stability | None = None
    path: Path | None = None
    learned: Mapping[str, Any] = field(default_factory=dict)
    outputs: Mapping[Any, FitResult] = field(default_factory=dict)
    ledger: Deferred[Ledger] = field(default_factory=lambda: Deferred(Ledger, now=True))
    errors: ModelErrors | None = None
    from_file: FromFile | None = None

    @property
    def table(self) -> Table:
        """The rows that searched."""
        return self.rows.table

    @property
    def weights(self) -> FloatArray:
        """Weight of each row that searched, (n_rows,)."""
        return self.rows.weights

    @property
    def level(self) -> float | None:
        """Of confidence; None: the sample was taken for the world."""
        return self.settings.level

    @property
    def by_output(self) -> list[FitResult]:
        """The result of each output where all are explained, otherwise this one."""
        return list(self.outputs.values()) or [self]

    @property
    def remaining(self) -> float:
        """Share of the disagreement that the regions leave on the rows that searched."""
        return float(sum(region.disagreement for region in self.partition))

    @property
    def layout(self) -> PlayersAndSets:
        """Players and sets of the first question."""
        return self.questions[0].first.layout

    @property
    def below_noise_floor(self) -> bool:
        """Whether every question is at its noise floor: rounding alone can produce what all rows show."""
        return bool(np.all(self.disagreements <= self.floors))

    @property
    def is_chance(self) -> bool:
        """Whether the rows that searched show no disagreement beyond chance; False without a confidence level."""
        return self.exceeded is not None and not bool(np.any(self.exceeded))

    def kept_sample(self, what: str, argument: str, hint: str) -> Sample:
        """What the model said about the rows that searched.

        Parameters
        ----------
        what : str
            What needs them, for the error.
        argument, hint : str
            Of the error.

        Raises
        ------
        InputError
            P03, where this fit was loaded or copied: files and copies keep no evaluations.
        """
        if self.sample is None:
            raise InputError(
                f"{what} needs the evaluations of the fit, which only the object that was fitted keeps.",
                code="P03",
                argument=argument,
                hint=hint,
            )
        return self.sample

    def without_sample(self) -> FitResult:
        """The same as a copy or a file keeps it."""
        outputs = {name: result.without_sample() for name, result in self.outputs.items()}
        return replace(self, sample=None, curve_maker=None, outputs=outputs)


NOTES_BY_QUESTION = ("noise_floor", "measured_disagreement", "chance", "cause")
"""Diagnostics with an entry for each question."""


class GraniteBase(BaseEstimator):
    """What the rooms before the estimator know of `Granite`: it is one, and may be fitted."""


@dataclass(frozen=True, eq=False)
class FittedGranite:
    """A fit with the record of its estimator.

    Parameters
    ----------
    result : FitResult
    diagnostics : mapping
        ``diagnostics_`` of the estimator.
    max_samples : int, "auto" or None
        As in `Granite`.
    """

    result: FitResult
    diagnostics: Mapping[str, Any]
    max_samples: int | str | None

    def of_output(self, name: Any) -> FittedGranite:
        """One of several outputs in the regions of all, and what was noted about it."""
        if name not in self.result.outputs:
            raise unknown("output", name, self.result.outputs, what="Outputs")
        result = self.result.outputs[name]
        diagnostics = dict(self.diagnostics)
        for key in NOTES_BY_QUESTION:
            if key in diagnostics:
                by_label = diagnostics[key]
                labels = [question.label for question in result.questions]
                diagnostics[key] = {label: by_label[f"{label} of {name}"] for label in labels}
        return replace(self, result=result, diagnostics=diagnostics)

    # Other rows ---------------------------------------------------------------------------------

    def read(self, X: Any) -> Table:
        """Other rows, with the columns and kinds of the fitting rows."""
        return read_table(
            X, missing="allow" if self.result.missing else "error", like=self.result.table
        )

    def read_again(self, X: Any) -> Table:
        """The table of the fit, of which a part may have searched: nothing in it is new (D02, D15)."""
        settings = self.result.settings
        return read_input(X, settings.model, settings.kinds, settings.named_columns)

    def regions(self, table: Table) -> IntArray:
        """Region of each row."""
        return self.result.partition.apply(table)

    def target(
        self, y: Any, table: Table, *behaviors: Behavior, weights: FloatArray | None = None
    ) -> FloatArray | None:
        """The target as numbers, where a behavior (without any: of the questions) needs it."""
        model = self.result.model
        if behaviors:
            return target_for(y, table, model, behaviors, weights=weights)
        questions = self.result.questions
        labels = [question.label for question in questions]
        behaviors = tuple(question.behavior for question in questions)
        return target_for(y, table, model, behaviors, labels, weights)

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
        positions = np.flatnonzero(weights > 0)
        most = self.max_samples if max_samples is None else max_samples
        if isinstance(most, str):  # "auto"
            most = len(self.diagnostics["rows"]["search"])
        if most is None or most >= len(positions):
            return positions
        generator = np.random.default_rng(self.result.settings.seed)
        return np.sort(generator.choice(positions, size=int(most), replace=False))

    def other_rows(self, X: Any, y: Any, sample_weight: Any = None, clusters: Any = None) -> Rows:
        """Other rows of a fit, those of weight 0 left out.

        Parameters
        ----------
        X, y, sample_weight, clusters
            As in `Granite.fit`.
        """
        X, y, sample_weight, clusters = collect_rows(
            X, y, sample_weight, None, self.result.settings.seed, clusters
        )
        table = self.read(X)
        weights = read_weights(sample_weight, table)
        return Rows.of(
            table,
            self.target(y, table, weights=weights),
            weights,
            read_clusters(clusters, table),
            in_fixed_order=False,
        )

    def predict(self, table: Table) -> FloatArray:
        """What the curves of each row's region add up to, (n_rows,), or (n_rows, n_outputs)."""
        regions = self.regions(table)
        predicted = [
            fit.shared_curves.value.predict(table, regions, fit.model)
            for fit in self.result.by_output
        ]
        return np.stack(predicted, axis=1) if self.result.outputs else predicted[0]

    def held_out_fidelity(self, X: Any) -> float:
        """Share of the prediction's variance on other rows that the curves describe."""
        table = self.read(X)
        regions = self.regions(table)
        predicted = []
        for fit in self.result.by_output:
            predictions = np.asarray(fit.model.scale.back(fit.model.on_rows(table)))
            curves = fit.shared_curves.value.predict(table, regions, fit.model)
            predicted.append(Predicted(predictions, curves))
        every_row = np.arange(table.n_rows)
        return described_share(predicted, np.ones(table.n_rows), every_row, None).value

    def rows_needed(self, half_width: float) -> int:
        """Rows that search, for an interval of a half width; the error of held-out rows falls like 1/√N."""
        estimate = self.result.estimate
        if estimate is None or not estimate.standard_error > 0.0:
            raise InputError(
                "rows_needed() needs an interval, and this fit has none.",
                code="P03",
                argument="half_width",
                hint="Fit with a confidence_level and held-out rows (holdout=), on rows with more than chance.",
            )
        quantile = NormalDist().inv_cdf((1.0 + estimate.confidence_level) / 2.0)
        n_search = len(self.diagnostics["rows"]["search"])
        return ceil(n_search * (quantile * estimate.standard_error / half_width) ** 2)


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
    view = FittedGranite(vars(g)["_fitted"], g.diagnostics_, g.max_samples)
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


# What is asked about other rows -----------------------------------------------------------------------


def plan_about(result: FitResult, effects: Sequence[Effect]) -> Plan:
    """What is asked about any rows for some effects.

    What maskings learned is that of the fit; what these effects read beyond it is learned of its
    search rows. Values that stand for columns are those of the fit, where they serve these effects.

    Parameters
    ----------
    result : FitResult
    effects : sequence of Effect
    """
    plan = result.plan
    needs, reads = needs_of(effects)
    lacking = needs.facts - plan.needs.facts
    guarded = not result.settings.as_in_paper
    learned = {
        **{key: of_key for key, of_key in plan.learned.items() if key in needs.facts},
        **learn(lacking, result.rows, result.settings.seed, guarded),
    }
    n_columns = result.table.n_columns
    values = plan.values
    combined = {members: plan.combined[members] for members in reads if members in plan.combined}
    if len(combined) < len(reads) or not reads_parts_of_sets(reads, needs.coalitions, n_columns):
        combined = {}
    if plan.cells and not combined and not reads_single_columns(reads, n_columns):
        values = None
    return replace(plan, needs=needs, learned=learned, values=values, combined=combined)


def parts_of_region(
    result: FitResult,
    effects: Sequence[tuple[str, Effect]],
    evaluations: Evaluations,
    region: int,
    positions: IntArray,
    clusters: IntArray,
) -> list[Part]:
    """The values of some effects in one region; with a confidence level, also how they vary with the sample.

    Parameters
    ----------
    result : FitResult
    effects : sequence of (name, Effect)
    evaluations : Evaluations
        Of the rows of the region.
    region : int
    positions : array of int
        Where these rows stand in the table that was asked about.
    clusters : array of int
        Of these rows.
    """
    signs = None
    if result.level is not None:
        numbers = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        signs = random_signs(numbers, result.settings.seed)
    with one_blas_thread():
        return [
            regional_part(effect, evaluations, positions, region=region, name=name, signs=signs)
            for name, effect in effects
        ]
