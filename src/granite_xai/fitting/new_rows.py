"""What a fit says about other rows, row and reference alike in each region; bins and baselines stay as fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from granite_xai.base.deferred import Deferred
from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import DataWarning, InputError
from granite_xai.base.formats import share
from granite_xai.base.notebook import Bar, RegionLabel
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import listing, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.validation import unknown, whole_number
from granite_xai.base.wording import count
from granite_xai.compute import Resources, one_blas_thread
from granite_xai.disagreement.disagreement import ResolvedQuestion, both_sides
from granite_xai.disagreement.objective import ScaledObjective
from granite_xai.engine.signed_weights import signs
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.value_grid import Values
from granite_xai.evaluations.values import LearnedValues
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.explainer import regional_part, target_for
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.own_values import takes_values
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.explanation.result import Explanation, Part
from granite_xai.fitting.pipeline import FitResult, FitRun
from granite_xai.inference.described_share import (
    DescribedShare,
    DescribedShares,
    Predicted,
    described_share,
)
from granite_xai.inference.estimate import (
    Estimate,
    MeasuredQuestion,
    Sample,
    drawn,
    estimate,
    measure_regions,
    rows_needed,
)
from granite_xai.inference.replicates import Chance, Confidence
from granite_xai.models.row_arguments import read_clusters, read_weights
from granite_xai.surrogate.additive import Surrogate, in_unit_interval
from granite_xai.tables import Table, frame, read_table
from granite_xai.tables.lazy import collected, is_lazy
from granite_xai.tables.row_order import order_notice
from granite_xai.trees.routes import Route


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation(Printable):
    """Disagreement on other rows, which serve both as explained rows and as reference, inside each region.

    What the regions leave (``disagreement``: the sum of each region's times its share of the rows) and what there is
    without them (``global_disagreement``; in shares, 1.0, for several questions). ``estimate`` is the same corrected
    for chance, with its interval; None without a confidence level.
    """

    rules: tuple[str, ...]
    counts: tuple[int, ...]
    regional: FloatArray
    by_region: FloatArray
    disagreement: float
    global_disagreement: float
    table: Table = field(repr=False)
    below_noise_floor: bool = False
    estimate: Estimate | None = None

    @property
    def remaining(self) -> float:
        """Share that the regions leave; 0.0 where there is nothing to explain, nan where there is only chance."""
        if self.below_noise_floor or not self.global_disagreement > 0:
            return 0.0
        if self.estimate is not None and np.isnan(self.estimate.remaining):
            return float("nan")
        return self.disagreement / self.global_disagreement

    def _summary(self) -> TextSummary:
        """What the regions remove, and a line a region."""
        sentences = [repr(self)[1:-1]]
        if self.estimate is not None:
            sentences = [str(self.estimate)]
        total = sum(self.counts)
        lines: list[tuple[object, ...]] = []
        for region, (rule, rows, left) in enumerate(
            zip(self.rules, self.counts, self._shares().tolist(), strict=True)
        ):
            part = rows / total if total else 0.0
            removed = max(1.0 - left, 0.0)
            label = RegionLabel(region, shortened(rule))
            lines.append((label, f"{rows:,}", Bar(share(part), part), Bar(share(removed), removed)))
        headings = ("region", "rows", "share", "heterogeneity removed")
        return TextSummary(sentences=sentences, table=[headings, *lines], left=(0,))

    def __repr__(self) -> str:
        rows = count(sum(self.counts), "row")
        regions = count(len(self.rules), "region")
        removed = share(max(1.0 - self.remaining, 0.0))
        return f"<Evaluation of {rows} in {regions}: {removed} of the heterogeneity removed>"

    def _shares(self) -> FloatArray:
        """What is left in each region of its part of the disagreement on all rows."""
        known = np.isfinite(self.by_region) & (self.by_region > 0)
        found: FloatArray = np.divide(
            self.regional, self.by_region, out=np.full(len(known), np.nan), where=known
        )
        return found

    def frame(self) -> Any:
        """One line for each region: region, rule, n_samples, fraction, global_disagreement, disagreement, remaining."""
        counts = np.array(self.counts)
        keys = (
            "region",
            "rule",
            "n_samples",
            "fraction",
            "global_disagreement",
            "disagreement",
            "remaining",
        )
        shares = (counts / counts.sum(), self.by_region, self.regional, self._shares())
        cells = (np.arange(len(counts)), list(self.rules), counts, *shares)
        return frame(dict(zip(keys, cells, strict=True)), like=self.table)


class Observation(NamedTuple):
    """Evaluations of some rows, and the effects as they are read there."""

    effects: tuple[ResolvedExplainer, ...]
    evaluations: Evaluations

    def parts(
        self, region: int, names: Sequence[str], rows: IntArray, confidence: Confidence | None
    ) -> list[Part]:
        """The values of the effects, under their names; with a confidence, and how they vary with the sample."""
        drawn = None if confidence is None else signs(np.arange(len(rows)), confidence.seed)
        with one_blas_thread():
            told = zip(names, self.effects, strict=True)
            return [
                regional_part(region, name, effect, self.evaluations, rows, drawn)
                for name, effect in told
            ]

    def of_output(self, number: int) -> Observation:
        """What is known of one of several outputs, whose effects are as many as those of any other."""
        count = len(self.effects) // len(self.evaluations.outputs)
        return Observation(self.effects[:count], self.evaluations.outputs[number])

    def questions(self, asked: Sequence[ResolvedQuestion]) -> tuple[ResolvedQuestion, ...]:
        """The questions whose sides these effects are, as they are read here."""
        told = zip(asked, self.effects[::2], self.effects[1::2], strict=True)
        return tuple(
            replace(question, first=first, second=second) for question, first, second in told
        )


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows that a fit is asked about, with their target and the way the model is asked."""

    fitted: FitResult
    route: Route
    y: FloatArray | None
    resources: Resources
    weights: FloatArray | None = None  # None: every row counts once
    clusters: IntArray | None = None  # None: every row is a cluster of its own

    @property
    def values(self) -> Values:
        """Values that stand for a column: those that a pilot chose for the fit, or quantiles of these rows."""
        if self.fitted.values is not None and self.resources.max_grid is not None:
            return self.fitted.values
        return self.resources.grid

    def observe(
        self,
        effects: Sequence[ResolvedExplainer],
        region: int | None = None,
        maskings: FittedMaskings | None = None,
    ) -> Observation:
        """Ask the model what effects read on the rows of a region (None: all); baselines and maskings are the fit's."""
        effects, maskings = _anchored(
            self.fitted, effects, maskings or self.fitted.reference, region
        )
        table = self.route.table
        values = self.values
        if isinstance(values, LearnedValues):
            # Chosen for the questions of the fit: other explanations may read more of a column.
            fitting = all(takes_values(effect, table) for effect in effects)
            values = values if fitting else None
        wanted = request(table, effects, values=values, cells=self.route.cells)
        weights = np.ones(self.route.table.n_rows) if self.weights is None else self.weights
        evaluations, _ = evaluate(
            self.route, wanted, maskings, resources=self.resources, weights=weights, y=self.y
        )
        return Observation(tuple(effects), evaluations)

    def inside(
        self,
        region: int,
        rows: IntArray,
        effects: Sequence[ResolvedExplainer],
        everywhere: Observation | None,
        maskings: FittedMaskings | None = None,
    ) -> Observation:
        """The rows of one region: cut out of all rows, where those are known and the masking stays the same."""
        if everywhere is not None and not self.fitted.centres:
            return Observation(everywhere.effects, everywhere.evaluations.restrict(rows))
        y, weights = (None if each is None else each[rows] for each in (self.y, self.weights))
        return self.about(self.route.table.take(rows), y, weights).observe(
            effects, region, maskings
        )

    def about(
        self, table: Table, y: FloatArray | None = None, weights: FloatArray | None = None
    ) -> NewRows:
        """The same question to the same fit about other rows."""
        route = Route(self.fitted.predictor, table)
        return replace(self, route=route, y=y, weights=weights, clusters=None)


def _anchored(
    fitted: FitResult,
    effects: Sequence[ResolvedExplainer],
    reference: FittedMaskings,
    region: int | None,
) -> tuple[Sequence[ResolvedExplainer], FittedMaskings]:
    """The effects with every baseline fixed: that of a region is a fitting row of this region."""
    if not fitted.centres:
        return effects, reference
    row = fitted.table.take(np.array([fitted.centres[region]]))
    anchored = [replace(effect, masking=effect.masking.anchored(region)) for effect in effects]
    changed = {
        new.masking
        for new, old in zip(anchored, effects, strict=True)
        if new.masking != old.masking
    }
    return anchored, replace(
        reference, baselines={**reference.baselines, **dict.fromkeys(changed, row)}
    )


def rows_by_region(regions: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Each region that has rows, with their positions."""
    yield from (
        (region, np.flatnonzero(regions == region)) for region in np.unique(regions).tolist()
    )


class JudgingRows(NamedTuple):
    """Rows that judge a partition: all of them, and those of each region."""

    everywhere: Sample
    by_region: list[Sample | None]  # None: no row is there
    regions: IntArray  # (n_rows,) region of each row
    clusters: IntArray  # (n_rows,) number of the cluster of each row

    def measured(self, seed: int) -> list[MeasuredQuestion]:
        """Every question on all rows and in every region, under signed pairs of weights."""
        drawn = signs(self.clusters, seed)
        return measure_regions(self.everywhere, self.by_region, drawn)


def observe_regions(
    new: NewRows, regions: IntArray, clusters: IntArray | None, observed: Observation
) -> JudgingRows:
    """Other rows and those of each region.

    Parameters
    ----------
    new : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row is one.
    observed : Observation
        What is known of all rows.
    """
    fitted = new.fitted
    sides = both_sides(fitted.comparisons)
    everyone = np.arange(len(regions))
    by_region: list[Sample | None] = [None] * len(fitted.partition)
    for region, rows in rows_by_region(regions):
        inside = new.inside(region, rows, sides, observed)
        by_region[region] = Sample(
            questions=inside.questions(fitted.comparisons),
            evaluations=inside.evaluations,
            rows=rows,
        )
    return JudgingRows(
        everywhere=Sample(
            questions=observed.questions(fitted.comparisons),
            evaluations=observed.evaluations,
            rows=everyone,
        ),
        by_region=by_region,
        regions=regions,
        clusters=everyone if clusters is None else clusters,
    )


def evaluate_rows(
    new: NewRows, regions: IntArray, clusters: IntArray | None = None, kind: str = "given"
) -> Evaluation:
    """Measure the regions on other rows (C17); with a confidence level, also corrected for chance.

    Parameters
    ----------
    new : NewRows
    regions : array of shape (n_rows,)
        Region of each row.
    clusters : array of shape (n_rows,), optional
        Number of the cluster of each row; None: every row is one.
    kind : "given" or "fitting"
        Whether these are other rows, or those that chose the regions.
    """
    fitted = new.fitted
    table = new.route.table
    observed = new.observe(both_sides(fitted.comparisons))
    judging = observe_regions(new, regions, clusters, observed)
    everywhere, questions = judging.everywhere.evaluations, judging.everywhere.questions
    counts = np.bincount(regions, minlength=len(fitted.partition))
    regional = np.zeros(len(counts))
    by_region = np.full(len(counts), np.nan)
    with one_blas_thread():
        objective = _scaled(fitted, questions, everywhere)
        total = objective.on(everywhere)
        losses = _losses_by_row(questions, objective, everywhere)
        if losses is not None:
            by_region[:] = np.bincount(regions, weights=losses, minlength=len(counts))
        for region, sample in enumerate(judging.by_region):
            if sample is not None:
                inside = replace(objective, comparisons=sample.questions)
                regional[region] = inside.on(sample.evaluations)
    judged = None
    if fitted.confidence is not None:
        described = described_later(new, judging)
        with one_blas_thread():
            measured = judging.measured(fitted.confidence.seed)
            judged = estimate_of(fitted, judging, measured, kind, described)
    return Evaluation(
        rules=tuple(str(rule) for rule in fitted.partition.rules),
        counts=tuple(counts.tolist()),
        regional=regional,
        by_region=by_region,
        disagreement=float(regional.sum()),
        global_disagreement=total,
        table=table,
        below_noise_floor=not objective.factors.any(),
        estimate=judged,
    )


def estimate_of(
    fitted: FitResult,
    judging: JudgingRows,
    measured: Sequence[MeasuredQuestion],
    kind: str,
    described: Deferred[DescribedShares],
    cross_validated: Sequence[float] | None = None,
    root: Chance | None = None,
) -> Estimate:
    """What some rows say of the regions of a fit that has a confidence level.

    Parameters
    ----------
    fitted, judging, measured : FitResult, JudgingRows, sequence of MeasuredQuestion
    kind : "held-out", "given", "cross-validated" or "fitting"
        Which rows these are.
    described : Deferred
        Share that curves describe.
    cross_validated : sequence of n_questions numbers, optional
        What the regions leave by rows that did not choose them.
    root : Chance, optional
        What chance says of all rows, where the fit has found that out.
    """
    if fitted.confidence is None:
        raise ValueError("there is no confidence level")
    return estimate(
        judging.everywhere,
        judging.by_region,
        measured,
        weights=fitted.question_weights,
        floors=fitted.floors,
        confidence=fitted.confidence,
        clusters=judging.clusters,
        rules=[str(rule) for rule in fitted.partition.rules],
        rows=kind,
        fidelities=described,
        cross_validated=cross_validated,
        root=root,
    )


def without_clusters(remedy: str) -> str:
    """The warning about rows without clusters, where the fit was given some (D47)."""
    text = "D47: the fit was given clusters and these rows have none: they count as independent rows, so that "
    return text + f"the interval is too narrow where rows belong together. Pass {remedy}."


def described_later(new: NewRows, judging: JudgingRows) -> Deferred[DescribedShares]:
    """Share described on other rows: now where the surrogate is known, otherwise when it is read."""
    evaluations = judging.everywhere.evaluations
    answers = [output.predictions + output.offset for output in evaluations.outputs]
    compute = partial(
        _described_shares,
        new,
        judging.regions,
        answers,
        evaluations.weights,
        judging.clusters,
    )
    return Deferred(compute, now=new.fitted.additive.is_computed)


def _described_shares(
    new: NewRows,
    regions: IntArray,
    answers: Sequence[FloatArray],
    weights: FloatArray,
    clusters: IntArray,
) -> DescribedShares:
    """Share of the prediction's variance on other rows that curves describe, with regions and without."""
    fits = list(new.fitted.outputs.values()) or [new.fitted]
    unknown = DescribedShare(math.nan)
    if any(fit.additive.value.surrogate.lacks_rows for fit in fits):
        return DescribedShares(in_regions=unknown, overall=unknown)
    everyone = np.zeros_like(regions)
    in_regions = list[Predicted]()
    overall = list[Predicted]()
    for fit, model in zip(fits, answers, strict=True):
        additive = fit.additive.value
        curves = _curves_of(new, fit, additive.surrogate, regions)
        in_regions.append(Predicted(model=model, curves=curves))
        if additive.everywhere is not None:
            without = replace(additive.surrogate, regions=(additive.everywhere,))
            curves = _curves_of(new, fit, without, everyone)
            overall.append(Predicted(model=model, curves=curves))
    confidence = new.fitted.confidence
    described = unknown
    if len(overall) == len(fits):  # an older file does not hold the curves of all rows
        described = described_share(overall, weights, clusters, confidence)
    return DescribedShares(
        in_regions=described_share(in_regions, weights, clusters, confidence),
        overall=described,
    )


def _curves_of(new: NewRows, fit: FitResult, surrogate: Surrogate, regions: IntArray) -> FloatArray:
    """What a surrogate says of other rows."""
    predictor = fit.predictor if surrogate.needs_model else None
    curves = surrogate.predict(new.route.table, regions, predictor)
    return in_unit_interval(curves) if fit.predictor.is_probability else curves


def _scaled(
    fitted: FitResult, questions: tuple[ResolvedQuestion, ...], evaluations: Evaluations
) -> ScaledObjective:
    """The objective on other rows: in its own units for one question, in shares for several."""
    whole = Splits.whole(evaluations.weights, evaluations.primitives)
    one = ScaledObjective(
        questions, np.ones(len(questions)), fitted.floors, float(whole.mass[0, 0])
    )
    roots = one.disagreements(evaluations, whole)[0, 0]
    weights = np.where(
        roots > fitted.floors, fitted.question_weights if len(questions) > 1 else 1.0, 0.0
    )
    if len(questions) == 1:
        return replace(one, factors=weights)
    weights = weights / (weights.sum() or 1.0)
    return replace(
        one, factors=np.divide(weights, roots, out=np.zeros_like(roots), where=weights > 0)
    )


def _losses_by_row(
    asked: Sequence[ResolvedQuestion], scaled: ScaledObjective, known: Evaluations
) -> FloatArray | None:
    """Each row's part of the disagreement on all rows; None where a question has no value a row."""
    if not all(question.first.behavior.per_row for question in asked):
        return None
    whole = Splits.whole(known.weights, known.primitives)
    losses = np.stack([question.losses(known, whole)[0] for question in asked])
    return np.asarray((scaled.factors @ losses) * known.weights / scaled.total)


def explain_rows(new: NewRows, regions: IntArray) -> Explanation:
    """Both sides of every question on other rows, region by region."""
    fitted, parts, sides = new.fitted, list[Part](), both_sides(new.fitted.comparisons)
    names = [name for each in fitted.comparisons for name in each.question.side_names]
    # A grid is that of all rows, in every region; without one, each region is asked about by itself, which costs less.
    everywhere = new.observe(sides) if new.values is not None and not fitted.centres else None
    for region, rows in rows_by_region(regions):
        parts += new.inside(region, rows, sides, everywhere).parts(
            region, names, rows, fitted.confidence
        )
    return Explanation(fitted.layout.labels, tuple(parts), new.route.table)


@dataclass(frozen=True, slots=True, eq=False)
class FittedGranite:
    """What displays, reports, files and frameworks read of a fitted Granite."""

    result: FitResult
    resources: Resources
    diagnostics: Mapping[str, Any]
    max_samples: int | str | None
    run: FitRun | None = None  # its evaluations and inputs, while they are in memory

    def of_output(self, name: Any) -> FittedGranite:
        """One of several outputs in the regions of all, and what was noted about it."""
        if name not in self.result.outputs:
            raise unknown("output", name, self.result.outputs, what="Outputs")
        result, run = self.result.outputs[name], self.run and self.run.outputs[name]
        labels, notes = [each.question.label for each in result.comparisons], dict(self.diagnostics)
        for key in notes.keys() & {
            "noise_floor",
            "measured_disagreement",
            "chance",
            "cause",
        }:  # by question
            notes[key] = {label: notes[key][f"{label} of {name}"] for label in labels}
        return replace(self, result=result, diagnostics=notes, run=run)

    @property
    def seed(self) -> int:
        """Seed of everything that was drawn."""
        return int(self.diagnostics["seed"])

    @property
    def noted_rows(self) -> Mapping[str, Any]:
        """Which rows searched and which were held out; the oldest files do not say it (F09)."""
        if "rows" not in self.diagnostics:
            text = "the file does not say which rows searched; an older granite-xai wrote it."
            raise InputError(text, code="F09", argument="g", hint="Fit again.")
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
        labels = []
        if not behaviors:
            behaviors = tuple(each.first.behavior for each in self.result.comparisons)
            labels = [each.question.label for each in self.result.comparisons]
        return target_for(y, table, self.result.predictor, *behaviors, asked=labels)

    def drawn(self, weights: FloatArray, max_samples: int | None = None) -> IntArray:
        """Positions of rows to use, drawn as the fit draws: at most ``max_samples``, None: as many as the fit."""
        most = len(self.noted_rows["search"]) if self.max_samples == "auto" else self.max_samples
        count, rows = most if max_samples is None else max_samples, np.flatnonzero(weights > 0)
        return (
            rows if count is None else drawn(rows, np.arange(len(weights)), int(count), self.seed)
        )

    def other_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        max_samples: int | None = None,
        limits: Resources | None = None,
        clusters: Any = None,
    ) -> tuple[NewRows, IntArray]:
        """Other rows of a fit, those of weight 0 left out, and their regions."""
        notice = order_notice(X) if is_lazy(X) else None
        if notice is not None and max_samples is not None:  # all rows are the same in any order
            warn(notice, DataWarning)
        X, y, sample_weight, clusters = collected(
            X, y, sample_weight, max_samples, self.seed, clusters
        )
        everyone = self.read(X)
        target, weights = self.target(y, everyone), read_weights(sample_weight, everyone)
        together = read_clusters(clusters, everyone)
        rows = np.flatnonzero(weights > 0)
        if max_samples is not None:
            most = whole_number("max_samples", max_samples, at_least=1)
            rows = drawn(rows, together, most, self.seed)
        table = everyone if len(rows) == everyone.n_rows else everyone.take(rows)
        y, route = None if target is None else target[rows], Route(self.result.predictor, table)
        new = NewRows(
            fitted=self.result,
            route=route,
            y=y,
            resources=limits or self.resources,
            weights=weights[rows],
            clusters=np.unique(together[rows], return_inverse=True)[1].reshape(-1),
        )
        return new, self.regions(table)

    def rows_needed(self, half_width: float) -> int:
        """Rows for an interval of a half width, extrapolated from the sizes that the fit went through."""
        steps, confidence = self.noted_rows["steps"], self.result.confidence
        history = [
            (step["search"], step["standard_error"])
            for step in steps
            if (step["standard_error"] or 0) > 0
        ]
        if not history or confidence is None:
            text = "rows_needed() needs an interval, and this fit has none."
            hint = "Fit with a confidence_level and held-out rows (holdout=), on rows with more than chance."
            raise InputError(text, code="P03", argument="half_width", hint=hint)
        return rows_needed(history, half_width, confidence.normal)

    def predict(self, table: Table, exact: bool = False) -> FloatArray:
        """The regional additive surrogate of the model on other rows; a column for each output where all are asked."""
        if self.result.outputs:
            return np.stack(
                [self.of_output(name).predict(table, exact) for name in self.result.outputs], axis=1
            )
        surrogate = self.result.additive.value.surrogate
        asked = self.result.predictor if exact or surrogate.needs_model else None
        predicted = surrogate.predict(table, self.regions(table), asked, exact)
        return in_unit_interval(predicted) if self.result.predictor.is_probability else predicted

    def held_out_fidelity(self, X: Any) -> float:
        """Share of the prediction's variance on other rows that the regional additive surrogate explains."""
        table = self.read(X)
        truth = self.result.predictor.on_rows(table)
        return (
            1.0 - float(np.square(truth - self.predict(table)).mean() / truth.var())
            if truth.var()
            else 1.0
        )


class GraniteBase(BaseEstimator):
    """What the rooms before the estimator know of `Granite`: it is one, and may be fitted."""


def fitted_view(g: Any, output: Any = None, several: bool = False) -> FittedGranite:
    """What a fitted Granite found; one that is not fitted raises scikit-learn's NotFittedError, anything else P01."""
    # Where all outputs are explained, about one of them, unless the caller takes ``several``.
    if not isinstance(g, GraniteBase):
        text = f"a fitted Granite is needed, not a {type(g).__name__}."
        raise InputError(text, code="P01", argument="g", hint="Pass gx.Granite(model).fit(X).")
    check_is_fitted(g)
    resources = Resources() if g.resources is None else g.resources
    older_grid = g.diagnostics_.get("plan", {}).get("max_grid")
    if resources.max_grid == "auto" and older_grid is not None:  # of a file of version 2
        resources = replace(resources, max_grid=older_grid)
    found = FittedGranite(
        vars(g)["_fitted"], resources, g.diagnostics_, g.max_samples, vars(g).get("_run")
    )
    if output is not None:
        return found.of_output(output)
    if found.result.outputs and not several:
        text, hint = (
            "this is about one output, and the fit explains all.",
            f"Use of_output(): {listing(g.outputs_)}.",
        )
        raise InputError(text, code="M02", argument="output", hint=hint)
    return found
