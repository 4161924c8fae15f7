"""The same regions for two models, two tables or two groups: what differs there, and what of it is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.files import write_text
from granite_xai.base.formats import amount, share, signed
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray
from granite_xai.base.wording import count
from granite_xai.compute import one_blas_thread
from granite_xai.engine.signed_weights import signed_lines, signs, slopes
from granite_xai.engine.splits import Splits
from granite_xai.estimator import Granite, fit_with_evaluations
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.masking import Marginal
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.inference.estimate import perturbed
from granite_xai.regions.partition import Partition
from granite_xai.results.fit_values import FitValues, known_values
from granite_xai.results.scopes import Scope
from granite_xai.surrogate.curves import between_cells
from granite_xai.tables import frame

MEASURES = (
    "fraction",
    "mean prediction",
    "risk",
    "disagreement",
)  # of a region; importances follow, one a set
_MEASURE_WORDS = {
    "fraction": "the share of the rows",
    "mean prediction": "the mean prediction",
    "risk": "the model's error",
    "disagreement": "the squared heterogeneity",
}
LEVEL, MAX_SAMPLES = 0.95, 1000
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


class Case(NamedTuple):
    """One model on one table: its regions, its figures (regions, figures), and how they move with the signs."""

    name: str
    values: FitValues
    scopes: tuple[Scope, ...]
    figures: FloatArray
    moves: FloatArray  # (pairs, regions, figures): their mean square is the squared standard error


class Finding(NamedTuple):
    """One figure of one region by one case, and how it differs from the first case; 95 % intervals."""

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
    changed: bool  # the difference is more than chance, all lines of its measure taken together (Bonferroni)


class CaseCurve(NamedTuple):
    """The average effect at some levels of a column by one case in one region, with the ends of its interval."""

    case: str
    scope: Scope
    levels: NDArray[Any]
    mean: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printable):
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
    findings: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The cases."""
        return tuple(case.name for case in self.cases)

    @property
    def changed(self) -> list[Finding]:
        """What differs from the first case by more than chance: figures of regions, the clearest first; importances."""
        found = [f for f in self.findings if f.changed]
        clear = {
            f: abs(f.difference) / (1.0 if f.set else f.difference_high - f.difference + 1e-300)
            for f in found
        }
        return sorted(found, key=lambda f: (f.set is not None, -clear[f]))

    @property
    def columns(self) -> list[int]:
        """Positions of the columns that vary in some region, those that are most important in one first."""
        known, size = self.cases[0].values, dict[str | None, float]()
        for f in self.findings:
            size[f.set] = max(size.get(f.set, 0.0), np.nan_to_num(f.value))
        singles = [min(player) for player in known.fitted.layout.explained if len(player) == 1]
        codes, stored = (
            [column.codes for column in known.table.columns],
            known.evaluations.stored_as,
        )
        scopes = [scope.rows for scope in self.cases[0].scopes if len(scope.rows)]
        varying = [
            i
            for i in singles
            if frozenset({i}) in stored and any(np.ptp(codes[i][rows]) for rows in scopes)
        ]
        return sorted(varying, key=lambda i: -size.get(known.table.names[i], 0.0))

    def curves(self, position: int, points: int = 24) -> Iterator[CaseCurve]:
        """The average effect of a column in each region that has rows, by each case."""
        for case, scope in [
            (one, scope) for one in self.cases for scope in one.scopes if len(scope.rows)
        ]:
            known, column = case.values.evaluations, case.values.table.columns[position]
            matrix = known.matrix(frozenset({position}))
            levels = (
                column.codes if matrix.levels is None else matrix.levels[matrix.codes]
            )  # on a grid, those of it
            held, first = np.unique(levels[scope.rows], return_index=True)
            ordered = column.kind not in ("nominal", "boolean") and len(held) > points
            some = (
                np.unique(np.linspace(0, len(held) - 1, points).astype(np.intp))
                if ordered
                else np.arange(len(held))
            )
            some, shares = (
                some[held[some] >= 0],
                known.weights[scope.rows] / known.weights[scope.rows].sum(),
            )
            lines, own = matrix.values[:, scope.rows], matrix.codes[scope.rows]
            ice = (
                lines[own[first[some]]]
                - np.bincount(own, weights=shares, minlength=len(lines)) @ lines
            )
            mean, together = ice @ shares, case.values.clusters[scope.rows]
            away = [np.bincount(together, weights=line) for line in (ice - mean[:, None]) * shares]
            half = Z * np.sqrt(np.square(away).sum(axis=1))
            yield CaseCurve(
                case.name, scope, column.levels[held[some]], mean, mean - half, mean + half
            )

    def frame(self) -> Any:
        """One line a finding, in the library of the first table; null where a region has no rows, or there is no y."""
        lines = [[None if cell != cell else cell for cell in finding] for finding in self.findings]
        columns = map(list, zip(*lines, strict=True))
        return frame(
            dict(zip(Finding._fields, columns, strict=True)), like=self.cases[0].values.table
        )

    def sentences(self, most: int = 8) -> list[str]:
        """What differs from the first case, the clearest first.

        Parameters
        ----------
        most : int
            Differences that are told.
        """
        rows = " and ".join(
            f"{sum(len(scope.rows) for scope in case.scopes):,} rows ({plain(case.name)})"
            for case in self.cases
        )
        regions = count(len(self.partition), "region")
        found = [f"{regions} on {rows}, with {share(LEVEL)} intervals; the regions are given."]
        if self.cases[0].values.fitted.confidence is None:
            found[0] += (
                " Heterogeneity is as measured on these rows, with what sampling noise adds."
            )
        changed = self.changed
        found += [self._difference(finding) for finding in changed[:most]]
        if not changed:
            found.append(f"Nothing differs from {plain(self.names[0])} beyond sampling noise.")
        elif len(changed) > most:
            further = count(len(changed) - most, "further difference")
            found.append(f"{further} in frame(); the rest is within sampling noise.")
        else:
            found.append("The rest is within sampling noise.")
        return found

    def _difference(self, finding: Finding) -> str:
        """One difference from the first case in a sentence."""
        title = shortened(plain(self.partition.titles[finding.region]))
        measure = _MEASURE_WORDS.get(finding.measure, finding.measure)
        if finding.set is not None:
            measure = f"the importance of {shortened(plain(finding.set))}"
        write = share if finding.measure == "fraction" else amount
        here = f"{write(finding.value)} in {plain(finding.case)}"
        there = f"{write(finding.value - finding.difference)} in {plain(self.names[0])}"
        if finding.measure == "fraction":
            change = ""
        else:
            ends = f"{signed(finding.difference_low)} to {signed(finding.difference_high)}"
            change = f" ({signed(finding.difference)}, {share(LEVEL)} interval {ends})"
        return f"Region {finding.region} ({title}): {measure} is {here}, {there}{change}."

    def lines(self) -> list[tuple[str, ...]]:
        """The figures of every region and case as a table; a star marks what differs beyond noise."""
        cells: dict[tuple[int, str], list[str]] = {}
        for finding in self.findings:
            if finding.set is None:
                line = cells.setdefault((finding.region, finding.case), [str(finding.n_samples)])
                line.append(_cell(finding))
        titles = [shortened(title) for title in self.partition.titles]
        body = [
            (str(region), case, *texts, titles[region])
            for (region, case), texts in sorted(cells.items(), key=lambda item: item[0][0])
        ]
        headings = ["share" if measure == "fraction" else measure for measure in MEASURES]
        headings = ["heterogeneity²" if each == "disagreement" else each for each in headings]
        last = f"region (* differs from {self.names[0]} beyond sampling noise)"
        return [("", "case", "rows", *headings, last), *body]

    def _summary(self) -> TextSummary:
        return TextSummary(sentences=self.sentences(), table=self.lines(), left=(1, 7))

    def __repr__(self) -> str:
        found = count(len(self.changed), "difference")
        return f"<Comparison of {', '.join(map(plain, self.names))}: {found} beyond sampling noise>"

    def html(self, path: Any = None) -> str:
        """One self-contained page; also written to ``path``."""
        # Templates and figures are loaded only for a page.
        from granite_xai.report.page import comparison_page

        page = comparison_page(self)
        if path is not None:
            write_text(path, page)
        return page


def _cell(finding: Finding) -> str:
    """A figure of a region with its interval."""
    if finding.value != finding.value:
        return "–"
    star = "*" if finding.changed else ""
    if finding.measure == "fraction":
        return share(finding.value) + star
    return f"{amount(finding.value)} ± {amount(finding.high - finding.value)}{star}"


def compare(
    models: Any,
    X: Any,
    y: Any = None,
    *,
    partition: Any = None,
    clusters: Any = None,
    **options: Any,
) -> Comparison:
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
        The regions. None: those of the first fit; for models, regions found on every other row (cluster) of the first
        table, and everything is measured on the rest.
    clusters : array, or mapping of the name of a table to an array, optional
        Which rows belong together, as in `Granite.fit`: intervals are then those of clusters.
    **options
        Of `Granite`, for models; ``max_samples`` (1000) rows of each table are used, at most. Disagreement is without
        what chance adds (it may be negative), unless ``confidence_level=None``.

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
    <Comparison of then, now: 0 differences beyond sampling noise>
    """
    asked = _cases(models, X, y, clusters)
    known = asked[0][1] if partition is None and isinstance(asked[0][1], Granite) else partition
    fit = fitted_view(known).result if isinstance(known, Granite) else None
    if fit is None and not isinstance(known, Partition | None):
        text = f"partition={known!r} has no regions."
        raise InputError(text, code="P01", argument="partition", hint="Pass a Partition.")
    paired = not isinstance(X, Mapping)
    own = {} if fit is None else {**known.get_params(deep=False), "max_samples": MAX_SAMPLES}
    settings = {"max_samples": MAX_SAMPLES, **own, **options}
    settings.pop("model", None)
    found = known if fit is None else fit.partition
    if found is None:  # searched on every other row, measured on the rest
        X, y, together = (_half(each, 0, asked[0][4]) for each in asked[0][2:])
        found = Granite(asked[0][1], **settings).fit(X, y, clusters=together).partition_
        asked = [
            (name, model, *(_half(each, 1, rest[2]) for each in rest))
            for name, model, *rest in asked
        ]
    with one_blas_thread():
        cases = tuple(_case(found, settings, *each) for each in asked)
        return Comparison(found, cases, tuple(_findings(found, cases, paired)))


def _findings(partition: Partition, cases: Sequence[Case], paired: bool) -> Iterator[Finding]:
    sets = [":".join(names) for names in cases[0].values.fitted.layout.labels]
    labels: list[Any] = [(measure, None, len(partition)) for measure in MEASURES]
    labels += [("importance", name, len(partition) * len(sets)) for name in sets]
    figures, moves = cases[0].figures, cases[0].moves
    for case in cases:
        between = case.moves - moves if paired else np.sqrt(case.moves**2 + moves**2)
        own, wide = (Z * np.sqrt(np.square(each).mean(axis=0)) for each in (case.moves, between))
        cells = np.stack([case.figures, own, case.figures - figures, wide], axis=-1).tolist()
        for region, scope in zip(partition, case.scopes, strict=True):
            for (*label, several), (value, half, gap, error) in zip(
                labels, cells[region.index], strict=True
            ):
                strict = NormalDist().inv_cdf(1 - (1 - LEVEL) / 2 / several) / Z
                changed = abs(gap) > max(strict * error, 1e-9 * abs(value))
                ends = value - half, value + half, gap, gap - error, gap + error, changed
                yield Finding._make(
                    (region.index, scope.rule, *label, case.name, len(scope.rows), value, *ends)
                )


def _cases(models: Any, X: Any, y: Any, clusters: Any) -> list[tuple[Any, ...]]:
    """Name, model, table, target and clusters of each case."""
    several = models if isinstance(models, list | tuple) else [models]
    names = ["first", "second", *(f"model {i + 3}" for i in range(len(several)))]
    named = dict(models) if isinstance(models, Mapping) else dict(zip(names, several, strict=False))
    if isinstance(X, Mapping) and len(named) > 1:
        raise InputError(
            "several models on several tables.", code="P03", argument="X", hint="Pass one of both."
        )
    if isinstance(X, Mapping) and not isinstance(clusters, Mapping | None):
        raise InputError(
            "clusters have no table.",
            code="P03",
            argument="clusters",
            hint="Name the table of each.",
        )
    given = X.items() if isinstance(X, Mapping) else ()
    tables = {name: each if isinstance(each, tuple) else (each, None) for name, each in given}
    asked = [
        (name, *named.values(), *pair, (clusters or {}).get(name)) for name, pair in tables.items()
    ]
    asked = asked or [(name, model, X, y, clusters) for name, model in named.items()]
    if len(asked) < 2:
        raise InputError(
            "there is one case; compare needs two.",
            code="P03",
            argument="models",
            hint="Name another.",
        )
    return asked


def _half(table: Any, start: int, clusters: Any) -> Any:
    """Every other row, or the rows of every other cluster."""
    rows: Any = slice(start, None, 2)
    if clusters is not None:
        rows = np.flatnonzero(
            np.unique(np.asarray(clusters), return_inverse=True)[1].reshape(-1) % 2 == start
        )
    return None if table is None else table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def _case(
    partition: Partition,
    settings: dict[str, Any],
    name: str,
    model: Any,
    X: Any,
    y: Any,
    clusters: Any,
) -> Case:
    """Evaluate a model on a table once, and read everything off the evaluations."""
    bare = model.model if isinstance(model, Granite) else model
    granite = Granite(bare, **settings | {"max_depth": 0, "partitioner": None, "holdout": False})
    values, _ = known_values(granite, fit_with_evaluations(granite, X, y, None, clusters), X, y)
    regions = partition.apply(values.table)
    scopes = tuple(
        Scope(k, np.flatnonzero(regions == k), str(rule)) for k, rule in enumerate(partition.rules)
    )
    figures = _figures(values, scopes)
    return Case(name, values, scopes, figures[0], slopes(figures, values.table.n_rows))


def _figures(values: FitValues, scopes: Sequence[Scope]) -> FloatArray:
    """The figures of every region, with the weights of the rows and with random signs: (1 + 2 P, regions, figures)."""
    question, known = values.fitted.comparisons[0], values.evaluations
    drawn = signs(values.clusters, values.seed)
    lines = signed_lines(drawn, known.weights)
    predictions, _, losses = values.by_row()
    found = np.full(
        (len(lines), len(scopes), len(MEASURES) + len(question.second.layout.sets)), np.nan
    )
    found[:, :, 0], floor = 0.0, values.fitted.floors[0]
    for k, rows in ((k, scope.rows) for k, scope in enumerate(scopes) if len(scope.rows)):
        node, mass = known.restrict(rows), lines[:, rows].sum(axis=1)
        splits, shares = (
            Splits.weighted(lines[:, rows], node.weights, node.primitives),
            lines[:, rows] / mass[:, None],
        )
        local, shown, sizes = (
            question.second.behavior.per_row,
            perturbed(question, node, drawn[:, rows]),
            [],
        )
        gap = np.array([shown.plug_in, *shown.moved.ravel()])
        gap -= 0.0 if values.fitted.confidence is None else shown.plug_in - shown.corrected
        for members, terms in zip(
            question.second.layout.sets, question.second.combined, strict=True
        ):
            side = Game.of(
                question.second.behavior,
                question.second.masking,
                node.on_grid(union(members)),
                splits,
            )
            own = side.values(terms)
            if local and isinstance(question.second.masking, Marginal):
                everyone = np.zeros((len(lines), known.n_rows))
                everyone[:, rows] = shares
                missed = between_cells(values.table, known, union(members), terms, everyone)
                own = own + missed[:, rows]
            sizes.append(
                np.sqrt(np.einsum("kn,kn->k", np.square(own), shares)) if local else own[:, 0]
            )
        gap = np.zeros_like(gap) if shown.plug_in <= floor else gap  # rounding is no disagreement
        unknown = np.full(len(rows), np.nan)
        means = [
            shares @ (unknown if cells is None else cells[rows]) for cells in (predictions, losses)
        ]
        found[:, k] = np.stack([mass / lines.sum(axis=1), *means, gap, *sizes], axis=1)
    return found
