"""Comparison of models or tables on the same regions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.document import Document, Paragraph, Printable, Table
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import UNKNOWN, amount, count, share, signed
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import plain, shortened
from granite_xai.estimator import Granite
from granite_xai.fitting.fitted import fitted_view
from granite_xai.regions import Partition
from granite_xai.studies.case_curves import CaseCurve, average_effect
from granite_xai.studies.case_figures import REGION_MEASURES, Case, measure_case
from granite_xai.studies.cases import MEASURED_HALF, SEARCH_HALF, CaseInput, read_cases
from granite_xai.studies.findings import LEVEL, Finding, find_differences
from granite_xai.tables import frame

MAX_SAMPLES = 1000
"""Rows of each table that are used, if the user does not say how many."""

TINY = 1e-300
"""Stands for half an interval of no width."""

MAX_POINTS = 24
"""Values of an ordered feature at which a curve is shown."""

_MEASURES_IN_SENTENCES = {
    "fraction": "the share of the rows",
    "mean prediction": "the mean prediction",
    "risk": "the model's error",
    "disagreement": "the squared heterogeneity",
}
_HEADINGS = {
    "fraction": "share",
    "mean prediction": "mean prediction",
    "risk": "risk",
    "disagreement": "heterogeneity²",
}


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
        of_regions: list[Finding] = []
        importances: list[Finding] = []
        for finding in self.findings:
            if finding.changed and finding.set is None:
                of_regions.append(finding)
            elif finding.changed:
                importances.append(finding)
        of_regions.sort(key=_ratio_to_interval, reverse=True)
        importances.sort(key=lambda finding: abs(finding.difference), reverse=True)
        return of_regions + importances

    @property
    def columns(self) -> list[int]:
        """Positions of the features that vary in some region, the most important ones first.

        A feature is as important as in the region and case where it matters most.
        """
        largest: dict[str | None, float] = {}
        for finding in self.findings:
            if not math.isnan(finding.value):
                largest[finding.set] = max(largest.get(finding.set, 0.0), finding.value)
        table = self.cases[0].values.table
        varying = [position for position in self._single_features() if self._varies(position)]
        return sorted(varying, key=lambda position: -largest.get(table.names[position], 0.0))

    def _single_features(self) -> list[int]:
        """Positions of the features that are explained alone, and whose ICE curves are known."""
        values = self.cases[0].values
        evaluations = values.evaluations
        everything = evaluations.everything
        with_curves = evaluations.matrices.keys() | {
            everything - columns for columns in evaluations.matrices
        }
        players = values.fitted.layout.explained
        return [min(player) for player in players if len(player) == 1 and player in with_curves]

    def _varies(self, position: int) -> bool:
        """Whether a feature takes more than one value in some region of the first case."""
        codes = self.cases[0].values.table.columns[position].codes
        return any(len(np.unique(codes[scope.rows])) > 1 for scope in self.cases[0].scopes)

    def curves(self, position: int, points: int = MAX_POINTS) -> Iterator[CaseCurve]:
        """The average effect of a feature by each case, in each region that has rows.

        Parameters
        ----------
        position : int
            Position of the feature.
        points : int
            Values at which an ordered feature is shown, at most.
        """
        for case in self.cases:
            for scope in case.scopes:
                if len(scope.rows):
                    yield average_effect(case, scope, position, points, LEVEL)

    def frame(self) -> Any:
        """One line a finding, in the library of the first table.

        Figures are null where a region has no rows, or where there is no y.
        """
        cells: dict[str, list[Any]] = {field: [] for field in Finding._fields}
        for finding in self.findings:
            for field, cell in finding._asdict().items():
                is_unknown = isinstance(cell, float) and math.isnan(cell)
                if is_unknown:
                    cell = None
                cells[field].append(cell)
        return frame(cells, like=self.cases[0].values.table)

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
            measure = _MEASURES_IN_SENTENCES[finding.measure]
        else:
            measure = f"the importance of {shortened(plain(finding.set))}"
        write = share if finding.measure == "fraction" else amount
        in_case = f"{write(finding.value)} in {plain(finding.case)}"
        in_first = f"{write(finding.value - finding.difference)} in {plain(self.names[0])}"
        sentence = f"Region {finding.region} ({title}): {measure} is {in_case}, {in_first}"
        if finding.measure != "fraction":
            ends = f"{signed(finding.difference_low)} to {signed(finding.difference_high)}"
            sentence += f" ({signed(finding.difference)}, {share(LEVEL)} interval {ends})"
        return f"{sentence}."

    def lines(self) -> list[tuple[str, ...]]:
        """The figures of every region and case as a table; a star marks what differs beyond noise.

        Returns
        -------
        list of tuple of str
            The headings, then a line for each region and case.
        """
        cells: dict[tuple[int, str], list[str]] = {}
        for finding in self.findings:
            if finding.set is None:
                line = cells.setdefault((finding.region, finding.case), [str(finding.n_samples)])
                line.append(_figure_text(finding))
        titles = [shortened(title) for title in self.partition.titles]
        headings = [_HEADINGS[measure] for measure in REGION_MEASURES]
        last_heading = f"region (* differs from {self.names[0]} beyond sampling noise)"
        table: list[tuple[str, ...]] = [("", "case", "rows", *headings, last_heading)]
        for (region, case), texts in sorted(cells.items(), key=lambda item: item[0][0]):
            table.append((str(region), case, *texts, titles[region]))
        return table

    def _document(self) -> Document:
        head, *rows = self.lines()
        case_column = 1
        region_column = 3 + len(REGION_MEASURES)
        sentences = map(Paragraph, self.sentences())
        return Document([*sentences, Table(head, rows, left=(case_column, region_column))])

    def __repr__(self) -> str:
        names = ", ".join(plain(name) for name in self.names)
        differences = count(len(self.changed), "difference")
        return f"<Comparison of {names}: {differences} beyond sampling noise>"


def _ratio_to_interval(finding: Finding) -> float:
    """A difference as a multiple of half its interval.

    Very large without sampling error, as between models that differ by a constant.
    """
    half_width = finding.difference_high - finding.difference
    return abs(finding.difference) / (half_width + TINY)


def _figure_text(finding: Finding) -> str:
    """A figure of a region with half its interval."""
    if math.isnan(finding.value):
        return UNKNOWN
    if finding.measure == "fraction":
        text = share(finding.value)
    else:
        text = f"{amount(finding.value)} ± {amount(finding.high - finding.value)}"
    if finding.changed:
        text += "*"
    return text


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
    inputs = read_cases(models, X, y, clusters, sample_weight)
    settings = {"max_samples": MAX_SAMPLES, **options}
    source = partition
    if source is None and isinstance(inputs[0].model, Granite):
        source = inputs[0].model
    if isinstance(source, Granite):
        settings = {**_options_of(source), **settings}
    if source is None:
        regions = _search_regions(inputs[0].half(SEARCH_HALF), settings)
        inputs = [case.half(MEASURED_HALF) for case in inputs]
    else:
        regions = _regions_of(source)
    with one_blas_thread():
        cases = tuple(measure_case(case, regions, settings) for case in inputs)
        findings = tuple(find_differences(regions, cases, same_rows=not isinstance(X, Mapping)))
    return Comparison(partition=regions, cases=cases, findings=findings)


def _regions_of(source: Any) -> Partition:
    """The regions of a fit, or a partition itself."""
    if isinstance(source, Granite):
        return fitted_view(source).result.partition
    if isinstance(source, Partition):
        return source
    raise InputError(
        f"partition={source!r} has no regions.",
        code="P01",
        argument="partition",
        hint="Pass a Partition.",
    )


def _options_of(granite: Granite) -> dict[str, Any]:
    """The options of a fit but its model."""
    options: dict[str, Any] = granite.get_params(deep=False)
    del options["model"]
    return options


def _search_regions(case: CaseInput, settings: dict[str, Any]) -> Partition:
    """The regions of a fit of one case."""
    granite = Granite(case.model, **settings)
    granite.fit(case.X, case.y, case.weights, case.clusters)
    return fitted_view(granite).result.partition
