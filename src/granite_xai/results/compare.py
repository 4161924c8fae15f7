"""Comparison of models or tables on the same regions.

Every figure of a region is computed with the weights of the rows and again with weights that random signs move up and
down (`granite_xai.inference.noise`; docs/method.rst, "Sampling noise"): 1 + 2 P lines of weights, where P is
the number of sign vectors. Each model is asked once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

import granite_xai
from granite_xai.algebra.masking import Marginal
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.deferred import Deferred
from granite_xai.base.document import Document, Paragraph, Printable, Table
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import UNKNOWN, amount, count, share, signed
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import pdp_of_regions, row_curves
from granite_xai.curves.shared import SharedCurves
from granite_xai.fitting.fit_result import GraniteBase, fitted_view
from granite_xai.inference.noise import FEWEST_OBSERVATIONS, STEP, Signs, noise_of
from granite_xai.regions import Partition
from granite_xai.results.values import Scope, Values
from granite_xai.tables import MISSING_CODE, frame

MAX_SAMPLES = 1000  # rows of each table that are used, if the user does not say how many
MAX_POINTS = 24  # values of an ordered feature at which a curve is shown
LEVEL = 0.95  # confidence level of all intervals of a comparison
ROUNDING = 1e-9  # differences below this part of a figure are rounding
FIGURE_ROUNDING = 1e-12  # share of the largest prediction below which an importance is rounding
SHOWN_AS_NOTHING = 1e-3  # share of the larger of two figures below which a sentence says 0
TINY = 1e-300  # stands for half an interval of no width

REGION_MEASURES = ("fraction", "mean prediction", "risk", "disagreement")
"""Figures of a region; the importance of every set follows them."""

IN_SENTENCES = {
    "fraction": "the share of the rows",
    "mean prediction": "the mean prediction",
    "risk": "the model's error",
    "disagreement": "the squared heterogeneity",
}
HEADINGS = ("share", "mean prediction", "risk", "heterogeneity²")


# What is compared ------------------------------------------------------------------------------------------


class CaseInput(NamedTuple):
    """One model with the rows on which it is measured, as the user passed them."""

    name: str
    model: Any
    X: Any
    y: Any = None
    weights: Any = None
    clusters: Any = None

    def half(self, number: int) -> CaseInput:
        """The same model on every other row, or on the rows of every other cluster: half 0 or half 1."""
        rows: slice | IntArray = slice(number, None, 2)
        if self.clusters is not None:
            _, cluster_numbers = np.unique(np.asarray(self.clusters), return_inverse=True)
            rows = np.flatnonzero(cluster_numbers.reshape(-1) % 2 == number)
        of_rows = (self.X, self.y, self.weights, self.clusters)
        return CaseInput(self.name, self.model, *(_take_rows(values, rows) for values in of_rows))


def _take_rows(values: Any, rows: slice | IntArray) -> Any:
    """Some rows of a table, a target, clusters or weights; None stays None."""
    if values is None:
        return None
    if hasattr(values, "iloc"):  # pandas takes rows by position only there
        return values.iloc[rows]
    if isinstance(rows, slice):
        return values[rows]
    if isinstance(values, list | tuple):  # no array: that would turn numbers beside text into text
        return [values[row] for row in rows]
    if type(values).__module__.startswith("pyarrow"):
        return values.take(rows)  # brackets take slices there, but no positions
    return values[rows]


def _read_cases(models: Any, X: Any, y: Any, weights: Any, clusters: Any) -> list[CaseInput]:
    """Several models on one table, or the reverse; at least two, the others are compared with the first."""
    if isinstance(models, Mapping):
        named = dict(models)
    elif isinstance(models, list | tuple):
        names = ["first", "second", *(f"model {number}" for number in range(3, len(models) + 1))]
        named = dict(zip(names, models, strict=False))
    else:
        named = {"first": models}
    if not isinstance(X, Mapping):
        cases = [CaseInput(name, model, X, y, weights, clusters) for name, model in named.items()]
    elif len(named) > 1:
        raise InputError(
            "several models on several tables.",
            code="P03",
            argument="X",
            hint="Pass one table with several models, or one model with several tables.",
        )
    else:
        weights_of = _by_table(weights, "sample_weight", "weights")
        clusters_of = _by_table(clusters, "clusters", "clusters")
        cases = []
        for model in named.values():
            for name, entry in X.items():
                table, target = entry if isinstance(entry, tuple) else (entry, None)
                of_table = (weights_of.get(name), clusters_of.get(name))
                cases.append(CaseInput(name, model, table, target, *of_table))
    if len(cases) < 2:
        raise InputError(
            "there is one case; compare needs two.",
            code="P03",
            argument="models",
            hint="Pass another model, or another table.",
        )
    return cases


def _by_table(values: Any, argument: str, what: str) -> Mapping[str, Any]:
    """Clusters or weights by the name of their table; there may be none."""
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return values
    raise InputError(
        f"{what} have no table.",
        code="P03",
        argument=argument,
        hint=f"Pass a mapping from the name of a table to its {what}.",
    )


# Figures of one case ---------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One model measured on one table.

    Parameters
    ----------
    name : str
    values : Values
        The table and what the model predicts for it.
    scopes : tuple of Scope
        The rows of each region; a region may have none.
    figures : array of shape (regions, figures)
        `REGION_MEASURES`, then the importance of each set; nan where a region has no rows, or no target.
    moves : array of shape (P, regions, figures)
        How far each figure moves with each sign vector (its slope); the root mean square is its standard
        error. nan where a region has one row, or one cluster, which do not tell its error.
    n_observations : array of shape (regions, figures)
        Rows, or clusters, that tell the error of each figure: of the share of a region those of the table, of its
        other figures its own.
    """

    name: str
    values: Values
    scopes: tuple[Scope, ...]
    figures: FloatArray
    moves: FloatArray
    n_observations: IntArray

    def half_widths(self, n_tests: IntArray | int = 1) -> FloatArray:
        """Half the interval of every figure, (regions, figures); nan where there is none.

        Parameters
        ----------
        n_tests : int or array of shape (figures,)
            Intervals that shall hold together (Bonferroni).
        """
        return _quantiles(self.n_observations, n_tests) * _root_mean_square(self.moves)

    def half_widths_of_differences(
        self, reference: Case, same_rows: bool, n_tests: IntArray | int = 1
    ) -> FloatArray:
        """The same of the difference from another case.

        Models on the same rows have errors that cancel; of independent samples the variances add, each in units of
        its own quantile.
        """
        if same_rows:
            errors = _root_mean_square(self.moves - reference.moves)
            return _quantiles(self.n_observations, n_tests) * errors
        return np.hypot(self.half_widths(n_tests), reference.half_widths(n_tests))


def _quantiles(n_observations: IntArray, n_tests: IntArray | int) -> FloatArray:
    """Standard errors on both sides of figures from so many rows or clusters; nan for too few.

    Student's t: few rows hardly tell how far a figure varies.
    """
    tail = (1 - LEVEL) / 2 / n_tests
    degrees = np.maximum(n_observations - 1, 1)
    return np.where(n_observations < FEWEST_OBSERVATIONS, np.nan, stdtrit(degrees, 1 - tail))


def _root_mean_square(moves: FloatArray) -> FloatArray:
    """Standard errors from the moves with each sign vector, over the first axis."""
    return np.asarray(np.sqrt(np.square(moves).mean(axis=0)))


def _require_one_scale(cases: Sequence[CaseInput]) -> None:
    """Refuse fits on different scales: their effects cannot be compared (P03)."""
    fits = [case.model for case in cases if isinstance(case.model, GraniteBase)]
    scales = {str(granite.get_params(deep=False)["scale"]) for granite in fits}
    if len(scales) > 1:
        raise InputError(
            f"the cases are on different scales: {', '.join(sorted(scales))}.",
            code="P03",
            argument="models",
            hint="Fit all of them with the same scale=.",
        )


def _measure_case(case: CaseInput, partition: Partition, options: Mapping[str, Any]) -> Case:
    """Ask a model about a table once, and read the figures of every region off its predictions.

    Parameters
    ----------
    case : CaseInput
    partition : Partition
        The regions.
    options : mapping of str to object
        Of `Granite`; those that search regions are overruled.
    """
    model = case.model.model if isinstance(case.model, GraniteBase) else case.model
    one_region = {"max_depth": 0, "partitioner": None, "holdout": False}
    g = granite_xai.Granite(model, **{**options, **one_region})
    values = Values.of_fit(g.fit(case.X, case.y, case.weights, case.clusters), case.X, case.y)
    regions = partition.apply(values.table)
    scopes = tuple(
        Scope(region=number, rows=np.flatnonzero(regions == number), rule=str(rule))
        for number, rule in enumerate(partition.rules)
    )
    signs = Signs.drawn(values.rows.clusters, values.fitted.settings.seed)
    moved = STEP * signs.signs.T  # (P, n)
    factors = np.concatenate([np.ones((1, len(signs))), 1 + moved, 1 - moved])
    weights = factors * values.rows.weights  # (1 + 2 P, n)
    n_figures = len(REGION_MEASURES) + len(values.fitted.questions[0].second.sets)
    figures = np.full((len(weights), len(scopes), n_figures), np.nan)
    figures[:, :, 0] = 0.0
    n_observations = np.empty((len(scopes), n_figures), dtype=np.intp)
    n_observations[:, 0] = signs.n_observations
    for number, scope in enumerate(scopes):
        inside = signs.take(scope.rows)
        n_observations[number, 1:] = inside.n_observations
        if len(scope.rows):
            figures[:, number] = _figures_of_region(values, scope.rows, inside, weights)
    n_pairs = len(moved)
    slopes = (figures[1 : 1 + n_pairs] - figures[1 + n_pairs :]) / (2 * STEP)
    # Moved weights show (n - 1) / n of the variance of a mean of n observations; a single one says nothing.
    few = np.where(n_observations > 1, n_observations / np.maximum(n_observations - 1, 1), np.nan)
    return Case(case.name, values, scopes, figures[0], slopes * np.sqrt(few), n_observations)


def _figures_of_region(
    values: Values, rows: IntArray, signs: Signs, weights: FloatArray
) -> FloatArray:
    """The figures of a region on every line of weights, (1 + 2 P, figures).

    What chance adds to the disagreement is estimated once and taken from every line alike. Without a confidence
    level it is not known, and stays.

    Parameters
    ----------
    values : Values
        Of all rows.
    rows : array of shape (m,)
        Of the region.
    signs : Signs
        Of these rows.
    weights : array of shape (1 + 2 P, n)
        Of all rows.
    """
    inside = weights[:, rows]  # (1 + 2 P, m)
    mass = inside.sum(axis=1)
    shares = inside / mass[:, None]
    predictions, _, losses = values.by_row()
    columns = [mass / weights.sum(axis=1), shares @ predictions[rows]]
    rounding = FIGURE_ROUNDING * float(np.abs(predictions).max())
    risk = np.full(len(mass), np.nan)
    if losses is not None:
        risk = _without_rounding(shares @ losses[rows], rounding**2)
    evaluations = values.evaluations.take(rows)
    noise = noise_of(values.fitted.questions[0], evaluations, signs)
    disagreement = np.append(noise.plug_in, noise.moved)
    if noise.plug_in <= values.fitted.floors[0]:
        disagreement = np.zeros(len(mass))
    elif values.fitted.level is not None:
        disagreement = disagreement - (noise.plug_in - noise.corrected)
    columns += [risk, disagreement]
    # The importance of each set by the second explanation: of a local effect the root mean square over the rows.
    effect = values.fitted.questions[0].second
    lines = RegionWeights(np.ascontiguousarray(shares.T))
    shares_of_all_rows = np.zeros((len(shares), len(values.rows)))
    shares_of_all_rows[:, rows] = shares
    of_sets = effect.values(evaluations, lines)
    for members, terms, of_set in zip(effect.sets, effect.terms, of_sets, strict=True):
        importance = of_set[0]
        if effect.behavior.per_row:
            if isinstance(effect.masking, Marginal):  # at the rows' own values (C22)
                residuals = values.curve_maker.cell_residuals(members, terms, shares_of_all_rows)
                of_set = of_set + residuals[:, rows].T
            importance = np.sqrt(lines.means(np.square(of_set))[0])
        columns.append(_without_rounding(importance, rounding))
    return np.stack(columns, axis=1)


def _without_rounding(figures: FloatArray, rounding: float) -> FloatArray:
    """A figure on every line of weights; 0 where that of the rows as they are is rounding."""
    return np.zeros_like(figures) if abs(figures[0]) < rounding else figures


class CaseCurve(NamedTuple):
    """The average effect of a feature by one case in one region.

    Parameters
    ----------
    case : str
        Name of the case.
    scope : Scope
        The region and its rows.
    levels : array of shape (points,)
        Values of the feature.
    mean, low, high : arrays of shape (points,)
        The partial dependence there less its mean over the rows, and the ends of its pointwise interval.
    """

    case: str
    scope: Scope
    levels: NDArray[Any]
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(
        cls, case: Case, region: int, shared_by: Sequence[int], position: int, points: int
    ) -> CaseCurve:
        """Read it off what a case knows; its interval is as wide as Student's quantile for the rows or clusters says.

        Parameters
        ----------
        case : Case
        region : int
            That has rows.
        shared_by : sequence of int
            The regions that share the curve, whose rows it is of.
        position : int
            Of the feature.
        points : int
            Values at which an ordered feature is shown, at most; categories are shown in full.
        """
        values = case.values
        column = values.table.columns[position]
        rows = np.concatenate([case.scopes[other].rows for other in shared_by])
        shares = np.zeros(len(values.rows))
        shares[rows] = values.rows.weights[rows] / values.rows.weights[rows].sum()
        maker = values.curve_maker
        (curve,) = pdp_of_regions(
            column, values.evaluations, shares[None], maker.cells.get(position), maker.output
        )
        effects = curve - shares @ curve[column.codes + 1]
        clusters = values.rows.clusters[rows]
        quantile = stdtrit(max(len(np.unique(clusters)) - 1, 1), 0.5 + LEVEL / 2)
        around = row_curves(column, values.evaluations, rows, clusters, effects)
        scope = case.scopes[region]
        levels = np.unique(column.codes[scope.rows])
        levels = levels[levels > MISSING_CODE]
        if column.is_ordered and len(levels) > points:
            levels = levels[np.linspace(0, len(levels) - 1, points).astype(np.intp)]
        mean = effects[levels + 1]
        half_width = quantile * around.errors[levels + 1]
        shown = column.levels[levels]
        return cls(case.name, scope, shown, mean, mean - half_width, mean + half_width)


# What differs ----------------------------------------------------------------------------------------------


class Finding(NamedTuple):
    """One figure of one region by one case, and how it differs from the first case.

    Parameters
    ----------
    region : int
    rule : str
    measure : "fraction", "mean prediction", "risk", "disagreement" or "importance"
    set : str, optional
        The feature, or the features, whose importance this is.
    case : str
    n_samples : int
        Rows of the case in the region.
    value, low, high : float
        The figure and its 95% interval, by Student's quantile for the rows or clusters of the region. Regions of
        fewer than five have none: their spread is hardly known. The share of a region is told by all rows.
    difference, difference_low, difference_high : float
        The figure minus that of the first case, with its 95% interval.
    changed : bool
        The difference is more than sampling noise, all figures of its measure taken together
        (Bonferroni).
    """

    region: int
    rule: str
    measure: str
    set: str | None
    case: str
    n_samples: int
    value: float
    low: float
    high: float
    difference: float
    difference_low: float
    difference_high: float
    changed: bool

    @property
    def order(self) -> tuple[bool, float]:
        """Figures of regions come first, the largest difference for its interval ahead; then large importances."""
        size = abs(self.difference)
        if self.set is not None:
            return True, -size
        return False, -size / (self.difference_high - self.difference + TINY)

    @property
    def cell(self) -> str:
        """The figure with half its interval; a star where it differs."""
        if math.isnan(self.value):
            return UNKNOWN
        text = share(self.value)
        if self.measure != "fraction":
            text = f"{amount(self.value)} ± {amount(self.high - self.value)}"
        return f"{text}*" if self.changed else text


def _differences(cases: Sequence[Case], same_rows: bool) -> Iterator[Finding]:
    """Every figure of every region by every case, beside that of the first case.

    Parameters
    ----------
    cases : sequence of Case
        The first is what the others are compared with.
    same_rows : bool
        The cases are models on the same rows; otherwise samples are independent.

    Yields
    ------
    Finding
        By case, region and measure.
    """
    first = cases[0]
    n_regions = len(first.scopes)
    labels = [":".join(names) for names in first.values.fitted.layout.labels]
    columns: list[tuple[str, str | None]] = [(measure, None) for measure in REGION_MEASURES]
    columns += [("importance", label) for label in labels]
    n_tests = np.array([n_regions * (1 if label is None else len(labels)) for _, label in columns])
    for case in cases:
        half_widths = case.half_widths()  # (regions, figures)
        of_differences = case.half_widths_of_differences(first, same_rows)
        strict = case.half_widths_of_differences(first, same_rows, n_tests)
        differences = case.figures - first.figures
        # A half-width that is not known (nan) is never exceeded.
        is_beyond_noise = np.abs(differences) > strict
        is_beyond_rounding = np.abs(differences) > ROUNDING * np.abs(case.figures)
        for region, scope in enumerate(case.scopes):
            for column, (measure, label) in enumerate(columns):
                place = region, column
                value, half_width = float(case.figures[place]), float(half_widths[place])
                difference, margin = float(differences[place]), float(of_differences[place])
                yield Finding(
                    region=region,
                    rule=scope.rule,
                    measure=measure,
                    set=label,
                    case=case.name,
                    n_samples=len(scope.rows),
                    value=value,
                    low=value - half_width,
                    high=value + half_width,
                    difference=difference,
                    difference_low=difference - margin,
                    difference_high=difference + margin,
                    changed=bool(is_beyond_noise[place] and is_beyond_rounding[place]),
                )


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printable):
    """What `compare` found.

    Attributes
    ----------
    partition : Partition
        The regions, the same for all cases.
    cases : tuple of Case
        The models or tables; the others are compared with the first.
    findings : tuple of Finding
        One for each region, measure (and set) and case.
    description : Deferred of SharedCurves, optional
        Of the fit that found the regions.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=400)
    >>> models = {"old": toy.model, "new": lambda X: toy.model(X) + 1.0}
    >>> comparison = gx.compare(models, toy.X, max_samples=100)
    >>> sorted((finding.region, finding.measure) for finding in comparison.changed)
    [(0, 'mean prediction'), (1, 'mean prediction')]
    """

    partition: Partition
    cases: tuple[Case, ...]
    findings: tuple[Finding, ...]
    description: Deferred[SharedCurves] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the cases."""
        return tuple(case.name for case in self.cases)

    @property
    def changed(self) -> list[Finding]:
        """The figures that differ from the first case beyond sampling noise.

        Figures of regions come first, those with the largest difference for its interval ahead;
        then importances, the largest difference ahead.
        """
        changed = (finding for finding in self.findings if finding.changed)
        return sorted(changed, key=lambda finding: finding.order)

    @property
    def columns(self) -> list[int]:
        """Positions of the features that are explained alone and vary in some region, the most important ones first.

        A feature is as important as in the region and case where it matters most.
        """
        largest: dict[str | None, float] = {}
        for finding in self.findings:
            if not math.isnan(finding.value):
                largest[finding.set] = max(largest.get(finding.set, 0.0), finding.value)
        values = self.cases[0].values
        evaluations = values.evaluations
        varying = []
        for player in values.fitted.layout.explained:
            is_known = {player, evaluations.everything - player} & evaluations.matrices.keys()
            codes = values.table.columns[min(player)].codes
            if (
                len(player) == 1
                and is_known
                and any(len(np.unique(codes[scope.rows])) > 1 for scope in self.cases[0].scopes)
            ):
                varying.append(min(player))
        return sorted(varying, key=lambda place: -largest.get(values.table.names[place], 0.0))

    def curves(self, position: int, points: int = MAX_POINTS) -> Iterator[CaseCurve]:
        """The average effect of a feature by each case, in each region that has rows.

        Regions that share the curve of the feature in the fit that found them share it in every case.

        Parameters
        ----------
        position : int
            Position of the feature.
        points : int
            Values at which an ordered feature is shown, at most.
        """
        name = self.cases[0].values.table.names[position]
        shared_by: dict[int, tuple[int, ...]] = {k: (k,) for k in range(len(self.partition))}
        if self.description is not None:
            for region in shared_by:
                for curve in self.description.value.in_region(region):
                    if curve.features == (name,):
                        shared_by[region] = curve.regions
        for case in self.cases:
            for region, scope in enumerate(case.scopes):
                if len(scope.rows):
                    yield CaseCurve.of(case, region, shared_by[region], position, points)

    def frame(self) -> Any:
        """One line a finding, in the library of the first table.

        Figures are null where a region has no rows, or where there is no y.
        """
        cells = {
            name: [
                None if isinstance(cell, float) and math.isnan(cell) else cell
                for cell in (getattr(finding, name) for finding in self.findings)
            ]
            for name in Finding._fields
        }
        return frame(cells, like=self.cases[0].values.table)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the average effects by case: `ComparisonDisplay`, whose options these are."""
        display = granite_xai.ComparisonDisplay.from_comparison(self, **options)
        return display.plot(ax)

    def sentences(self, most: int = 8) -> list[str]:
        """What differs from the first case, the clearest first.

        Parameters
        ----------
        most : int
            Differences that are stated; the last sentence says how many are not.
        """
        changed = self.changed
        sentences = [self._what_was_compared()]
        sentences += [self._difference(finding) for finding in changed[:most]]
        if not changed:
            sentences.append(f"Nothing differs from {plain(self.names[0])} beyond sampling noise.")
        elif len(changed) > most:
            further = count(len(changed) - most, "further difference")
            sentences.append(f"{further} in frame(); the rest is within sampling noise.")
        else:
            sentences.append("The rest is within sampling noise.")
        return sentences

    def _what_was_compared(self) -> str:
        """The first sentence: how many regions, on which rows, and with which intervals."""
        rows_by_case = []
        for case in self.cases:
            n_rows = sum(len(scope.rows) for scope in case.scopes)
            rows_by_case.append(f"{n_rows:,} rows ({plain(case.name)})")
        regions = count(len(self.partition), "region")
        rows = " and ".join(rows_by_case)
        text = f"{regions} on {rows}, with {share(LEVEL)} intervals that take the regions as fixed."
        if self.cases[0].values.fitted.level is None:
            text += " Heterogeneity is as measured on these rows, with what sampling noise adds."
        return text

    def _difference(self, finding: Finding) -> str:
        """One difference from the first case in a sentence."""
        title = shortened(plain(self.partition.titles[finding.region]))
        if finding.set is None:
            measure = IN_SENTENCES[finding.measure]
        else:
            measure = f"the importance of {shortened(plain(finding.set))}"
        write = share if finding.measure == "fraction" else amount
        figures = np.array([finding.value, finding.value - finding.difference])
        figures[np.abs(figures) < SHOWN_AS_NOTHING * np.abs(figures).max()] = 0.0
        in_case, in_first = map(write, figures.tolist())
        sentence = (
            f"Region {finding.region} ({title}): {measure} is {in_case} in {plain(finding.case)}, "
            f"{in_first} in {plain(self.names[0])}"
        )
        if finding.measure != "fraction":
            ends = f"{signed(finding.difference_low)} to {signed(finding.difference_high)}"
            sentence += f" ({signed(finding.difference)}, {share(LEVEL)} interval {ends})"
        return f"{sentence}."

    def _document(self) -> Document:
        """Sentences, and the figures of every region and case; a star marks what differs beyond noise."""
        cells: dict[tuple[int, str], list[str]] = {}
        for finding in self.findings:
            if finding.set is None:
                line = cells.setdefault((finding.region, finding.case), [str(finding.n_samples)])
                line.append(finding.cell)
        last_heading = f"region (* differs from {self.names[0]} beyond sampling noise)"
        head = ("", "case", "rows", *HEADINGS, last_heading)
        titles = [shortened(title) for title in self.partition.titles]
        lines = [
            (str(region), case, *texts, titles[region])
            for (region, case), texts in sorted(cells.items(), key=lambda item: item[0][0])
        ]
        table = Table(head, lines, left=(1, len(head) - 1))
        return Document([*map(Paragraph, self.sentences()), table])

    def __repr__(self) -> str:
        names = ", ".join(plain(name) for name in self.names)
        differences = count(len(self.changed), "difference")
        return f"<Comparison of {names}: {differences} beyond sampling noise>"


def compare(
    models: Any,
    X: Any,
    y: Any = None,
    *,
    partition: Any = None,
    clusters: Any = None,
    sample_weight: Any = None,
    **options: Any,
) -> Comparison:
    """Put the same regions under several models, or under one model on several tables.

    Parameters
    ----------
    models : model, fitted Granite, or sequence or mapping of these
        What is compared; the others are compared with the first one.
    X : table, or mapping of name to table or (table, y)
        With several tables there is one model.
    y : array, optional
        The target of X; needed for the risk, and for questions about it.
    partition : Partition or fitted Granite, optional
        The regions. None: those of the first model where it is a fitted Granite; otherwise regions
        are searched on every other row (cluster) of the first table, and everything is measured on
        the other half.
    clusters : array, or mapping of the name of a table to an array, optional
        Which rows belong together, as in `Granite.fit`: intervals are then those of clusters.
    sample_weight : array, or mapping of the name of a table to an array, optional
        How much each row counts, as in `Granite.fit`.
    **options
        Of `Granite`; ``max_samples`` (1000) rows of each table are used, at most. Heterogeneity is
        stated without what sampling noise adds (it may be negative), unless
        ``confidence_level=None``.

    Returns
    -------
    Comparison
        ``print(comparison)``, ``comparison.frame()``, ``comparison.changed``.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=200)
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> gx.compare(g, {"then": toy.X, "now": toy.X + 0.0})
    <Comparison of then, now: 0 differences beyond sampling noise>
    """
    inputs = _read_cases(models, X, y, sample_weight, clusters)
    _require_one_scale(inputs)
    options = {"max_samples": MAX_SAMPLES, **options}
    owner = partition
    if owner is None and isinstance(inputs[0].model, GraniteBase):
        owner = inputs[0].model
    if owner is None:
        half = inputs[0].half(0)
        owner = granite_xai.Granite(half.model, **options)
        owner.fit(half.X, half.y, half.weights, half.clusters)
        inputs = [case.half(1) for case in inputs]
    description = None
    if isinstance(owner, GraniteBase):
        fitted = fitted_view(owner).result
        regions, description = fitted.partition, fitted.shared_curves
        options = {**owner.get_params(deep=False), **options}
        del options["model"]
    elif isinstance(owner, Partition):
        regions = owner
    else:
        raise InputError(
            f"partition={partition!r} has no regions.",
            code="P01",
            argument="partition",
            hint="Pass a Partition.",
        )
    with one_blas_thread():
        cases = tuple(_measure_case(case, regions, options) for case in inputs)
        findings = tuple(_differences(cases, same_rows=not isinstance(X, Mapping)))
    return Comparison(regions, cases, findings, description)
