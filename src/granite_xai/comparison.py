"""The same regions for two models, two tables or two groups: what differs there, and what of it is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import aligned, count, number, percent, plain, shortened
from granite_xai.behavior import Risk
from granite_xai.compute import one_blas_thread
from granite_xai.estimator import Granite, fit_with_evaluations, fitted_view
from granite_xai.fit_values import FitValues, target_of_fit
from granite_xai.regions.partition import Partition
from granite_xai.scopes import Scope
from granite_xai.tables import Table, frame

MEASURES = ("fraction", "mean prediction", "risk", "disagreement")
"""Figures of a region; its importances follow, one a set."""
PAIRS, STEP = 50, 0.1
"""Vectors of random signs, and how far they move the weights (page 7 of the method)."""
LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
MAX_SAMPLES = 1000


class Case(NamedTuple):
    """One model on one table: its regions, its figures (regions, figures), and how they move with the signs."""

    name: str
    values: FitValues
    scopes: tuple[Scope, ...]
    figures: FloatArray
    moves: FloatArray
    """(pairs, regions, figures): their mean square is the squared standard error."""


class Finding(NamedTuple):
    """One figure of one region by one case, and how it differs from the first case."""

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
    """Whether the difference is more than chance, all lines of its measure taken together (Bonferroni)."""


class CaseCurve(NamedTuple):
    """The average effect at some levels of a column (their codes), with the ends of its interval."""

    codes: IntArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    findings : tuple of Finding
        One for each region, measure (and set) and case.
    partition : Partition
        The regions, the same for all cases.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=400)
    >>> found = gx.compare({"old": toy.model, "new": lambda X: toy.model(X) + 1.0}, toy.X, max_samples=100)
    >>> sorted((f.region, f.measure) for f in found.changed)
    [(0, 'mean prediction'), (1, 'mean prediction')]
    """

    partition: Partition
    cases: tuple[Case, ...]
    sets: tuple[str, ...]
    paired: bool
    table: Table = field(repr=False)
    findings: tuple[Finding, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "findings", tuple(self._found()))

    @property
    def names(self) -> tuple[str, ...]:
        """The cases."""
        return tuple(case.name for case in self.cases)

    @property
    def changed(self) -> list[Finding]:
        """What differs from the first case by more than chance: figures of regions, then importances."""
        found = [finding for finding in self.findings if finding.changed]
        clear = [abs(f.difference) / max(f.difference_high - f.difference, 1e-300) for f in found]
        ranks = [(f.set is not None, -(abs(f.difference) if f.set else z)) for f, z in zip(found, clear, strict=True)]
        return [found[i] for i in sorted(range(len(found)), key=ranks.__getitem__)]

    @property
    def columns(self) -> list[int]:
        """Positions of the columns with curves, those that are most important in some region first."""
        known = self.cases[0].values
        size = {
            f.set: max(g.value for g in self.findings if g.set == f.set and g.value == g.value) for f in self.findings
        }
        names = known.table.names
        return sorted(known.columns_with_curves(), key=lambda i: -size.get(names[i], 0.0))

    def curves(self, position: int, points: int = 24) -> list[tuple[Case, Scope, CaseCurve]]:
        """The average effect of a column by each case in each region that has rows."""
        cells = [(case, scope) for scope in self.cases[0].scopes for case in self.cases]
        own = [(case, case.scopes[scope.region or 0]) for case, scope in cells]
        return [(case, scope, _curve(case, position, scope, points)) for case, scope in own if len(scope.rows)]

    def _found(self) -> Iterator[Finding]:
        first = self.cases[0]
        labels = [*((measure, None) for measure in MEASURES), *(("importance", name) for name in self.sets)]
        several = {None: len(self.partition)} | dict.fromkeys(self.sets, len(self.partition) * len(self.sets))
        for case in self.cases:
            own, gap = np.sqrt(np.square(case.moves).mean(axis=0)), case.figures - first.figures
            between = case.moves - first.moves if self.paired else np.sqrt(case.moves**2 + first.moves**2)
            error = np.sqrt(np.square(between).mean(axis=0))
            for k, rule in enumerate(self.partition.rules):
                for i, (measure, name) in enumerate(labels):
                    value, half, change, wide = (float(a[k, i]) for a in (case.figures, Z * own, gap, Z * error))
                    strict = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / several[name]) / Z
                    changed = abs(change) > max(strict * wide, 1e-9 * abs(value))
                    ends = value - half, value + half, change, change - wide, change + wide
                    rows = len(case.scopes[k].rows)
                    yield Finding(k, str(rule), measure, name, case.name, rows, value, *ends, bool(changed))

    def frame(self) -> Any:
        """One line a finding, in the library of the first table; null where a region has no rows, or there is no y."""
        lines = [[None if cell != cell else cell for cell in finding] for finding in self.findings]
        return frame({key: [line[i] for line in lines] for i, key in enumerate(Finding._fields)}, like=self.table)

    def sentences(self, most: int = 8) -> list[str]:
        """What changed by more than chance, or that nothing did."""
        rows = " and ".join(f"{count(case.values.table.n_rows, 'row')} ({plain(case.name)})" for case in self.cases)
        told = [f"{count(len(self.partition), 'region')} on {rows}. Intervals: {LEVEL:.0%}, the regions being given."]
        if not self.changed:
            return [*told, f"Nothing differs from {plain(self.names[0])} by more than chance."]
        for f in self.changed[:most]:
            what = f"importance of {plain(f.set)}" if f.set else f.measure
            figures = f"{number(f.value - f.difference)} → {number(f.value)}"
            ends = f"difference {number(f.difference)}, {number(f.difference_low)} to {number(f.difference_high)}"
            told.append(f"Region {f.region} ({shortened(f.rule)}), {plain(f.case)}: {what} {figures} ({ends}).")
        more = len(self.changed) - most
        return [*told, f"And {more} more differences beyond chance."] if more > 0 else told

    def lines(self) -> list[tuple[str, ...]]:
        """The figures of every region and case, as cells of a table."""
        known = {(f.region, f.case, f.measure): f for f in self.findings if f.set is None}
        head = ("region", "case", "rows", *MEASURES, "rule")
        body = []
        for k, rule in enumerate(self.partition.rules):
            for case in self.cases:
                cells = [known[k, case.name, measure] for measure in MEASURES]
                texts = [percent(cells[0].value), *(_with_half(f) for f in cells[1:])]
                marks = ["*" if f.changed else "" for f in cells]
                told = [text + mark for text, mark in zip(texts, marks, strict=True)]
                body.append((str(k), plain(case.name), str(cells[0].n_samples), *told, shortened(plain(rule))))
        return [head, *body]

    def __str__(self) -> str:
        """Sentences and a table."""
        note = f"* differs from {plain(self.names[0])} by more than chance"
        return "\n".join([*self.sentences(), "", aligned(self.lines(), (1, 7)), "", note])

    def __repr__(self) -> str:
        found = count(len(self.changed), "difference")
        return f"<Comparison of {', '.join(map(plain, self.names))}: {found} beyond chance>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def html(self, path: Any = None) -> str:
        """One self-contained page; also written to ``path``."""
        from importlib import import_module

        return str(import_module("granite_xai.report.comparison").page(self, path))


def _with_half(finding: Finding) -> str:
    if finding.value != finding.value:
        return "–"
    return f"{number(finding.value)} ± {number(finding.high - finding.value)}"


def compare(models: Any, X: Any, y: Any = None, *, partition: Any = None, **options: Any) -> Comparison:
    """Put the same regions under several models, or under one model on several tables.

    Parameters
    ----------
    models : model, fitted Granite, or sequence or mapping of these
        What is compared; the first one is what the others differ from.
    X : table, or mapping of name to table or (table, y)
        With several tables there is one model.
    y : array, optional
        The target of X; needed for the risk, and for questions about it.
    partition : Partition or fitted Granite, optional
        The regions. None: those of the first fit; for models, regions found on every other row of the first table, and
        everything is measured on the rest.
    **options
        Of `Granite`, for models; ``max_samples`` (1000) rows of each table are used, at most.

    Returns
    -------
    Comparison
        ``print(found)``, ``found.frame()``, ``found.changed``, ``found.html(path)``.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=200)
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> gx.compare(g, {"then": toy.X, "now": toy.X + 0.0})
    <Comparison of then, now: 0 differences beyond chance>
    """
    tables = isinstance(X, Mapping)
    named = dict(models) if isinstance(models, Mapping) else _numbered(models)
    if tables and len(named) > 1:
        raise InputError("several models on several tables.", code="P03", argument="X", hint="Pass one of both.")
    asked = [(name, next(iter(named.values())), *_pair(part)) for name, part in X.items()] if tables else []
    asked = asked or [(name, model, X, y) for name, model in named.items()]
    if len(asked) < 2:
        raise InputError("there is one case; compare needs two.", code="P03", argument="models", hint="Name another.")
    known = asked[0][1] if partition is None and isinstance(asked[0][1], Granite) else partition
    settings, found = _settings(known, options), _regions(known)
    if found is None:  # searched on every other row, measured on the rest
        search, asked = _halves(asked)
        found = Granite(search[0][1], **settings).fit(*search[0][2:]).partition_
    with one_blas_thread():
        cases = tuple(_case(*each, found, settings) for each in asked)
    sets = tuple(":".join(names) for names in cases[0].values.fitted.layout.labels)
    return Comparison(found, cases, sets, not tables, cases[0].values.table)


def _numbered(models: Any) -> dict[str, Any]:
    several = list(models) if isinstance(models, Sequence) else [models]
    return {"first" if i == 0 else "second" if i == 1 else f"model {i + 1}": one for i, one in enumerate(several)}


def _pair(part: Any) -> tuple[Any, Any]:
    return part if isinstance(part, tuple) and len(part) == 2 else (part, None)


def _regions(given: Any) -> Partition | None:
    if isinstance(given, Granite):
        return fitted_view(given).result.partition
    if given is None or isinstance(given, Partition):
        return given
    raise InputError(f"partition={given!r} has no regions.", code="P01", argument="partition", hint="Pass a Partition.")


def _halves(asked: Sequence[tuple[str, Any, Any, Any]]) -> tuple[list[Any], list[Any]]:
    """Every other row of each table, and the rest."""

    def part(table: Any, start: int) -> Any:
        return None if table is None else table.iloc[start::2] if hasattr(table, "iloc") else table[start::2]

    return tuple([(n, m, part(X, k), part(y, k)) for n, m, X, y in asked] for k in (0, 1))  # type: ignore[return-value]


def _settings(fit: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the fit that the regions come from, for every case; but for the rows, which are other ones."""
    own = fit.get_params(deep=False) if isinstance(fit, Granite) else {}
    kept = {name: value for name, value in own.items() if name not in ("model", "max_samples")}
    return {"max_samples": MAX_SAMPLES, **kept, **options}


def _case(name: str, model: Any, X: Any, y: Any, partition: Partition, settings: dict[str, Any]) -> Case:
    """Evaluate a model on a table once, and read everything off the evaluations."""
    bare = model.model if isinstance(model, Granite) else model
    granite = Granite(bare, **settings | {"max_depth": 0, "partitioner": None, "confidence_level": None})
    found, view = fit_with_evaluations(granite, X, y), fitted_view(granite)
    values = FitValues(found.result, found.evaluations, found.route, view.resources, view.seed, False)
    known, target = values.evaluations, None if y is None else target_of_fit(granite, X, y)
    losses, rows = np.full(known.n_rows, np.nan), range(known.n_rows)
    if target is not None:
        losses = Risk().resolved(found.result.predictor.is_probability).function(values.by_row()[0], target)
    regions = partition.apply(found.result.table)
    scopes = tuple(Scope(k, np.flatnonzero(regions == k), str(rule)) for k, rule in enumerate(partition.rules))
    signs = np.random.default_rng([view.seed, len(rows)]).choice([-1.0, 1.0], size=(PAIRS, len(rows)))
    figures = _figures(values, scopes, losses, np.ones((1, len(rows))))[0]
    up, down = (_figures(values, scopes, losses, 1.0 + side * STEP * signs) for side in (1, -1))
    return Case(name, values, scopes, figures, (up - down) / (2 * STEP))


def _curve(case: Case, position: int, scope: Scope, points: int) -> CaseCurve:
    ice = case.values.curves(position, scope, points)
    shares = ice.weights / ice.weights.sum()
    mean = ice.values @ shares
    half = Z * np.sqrt(np.square(ice.values - mean[:, None]) @ np.square(shares))
    return CaseCurve(ice.codes, mean, mean - half, mean + half)


def _figures(values: FitValues, scopes: Sequence[Scope], losses: FloatArray, factors: FloatArray) -> FloatArray:
    """The figures of every region under several weightings of the rows, (weightings, regions, figures)."""
    question = values.fitted.comparisons[0]
    found = np.full((len(factors), len(scopes), len(MEASURES) + len(question.second.layout.sets)), np.nan)
    weights, predictions = values.evaluations.weights * factors, values.by_row()[0]
    found[:, :, 0] = 0.0
    for k, scope in enumerate(scopes):
        if not len(scope.rows):
            continue
        node = values.evaluations.restrict(scope.rows)
        for b, each in enumerate(weights):
            here = replace(node, weights=each[scope.rows])
            told = values.sized(question, here)
            shares = here.weights / here.weights.sum()
            means = shares @ predictions[scope.rows], shares @ losses[scope.rows]
            found[b, k] = [here.weights.sum() / each.sum(), *means, told.gaps.sum(), *told.sizes[1]]
    return found
