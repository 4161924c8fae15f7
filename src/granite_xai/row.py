"""The story of one row: what its columns add to the mean of its region, and where it stands there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.base.wording import MISSING, Told, count, number, percent, plain, shortened, signed
from granite_xai.behavior import Local
from granite_xai.compute import Resources
from granite_xai.fit import FitResult
from granite_xai.influence import PlayersAndSets
from granite_xai.interaction import Pure, union
from granite_xai.masking import Marginal
from granite_xai.masking.bins import level_codes, sortable
from granite_xai.new_rows import NewRows
from granite_xai.profile import level_text
from granite_xai.references import AgainstFit, without_paths
from granite_xai.regions.rule import satisfied
from granite_xai.resolved import ResolvedExplainer
from granite_xai.surrogate import Curve
from granite_xai.tables import Column, Table, frame, row_like
from granite_xai.tables.containers import Outline
from granite_xai.trees.routes import Route

NEAR, COMPARED, SHOWN = 0.1, 400, 12
"""Share of pairs of a region's rows that are near, by definition; rows whose distances are measured; sets in a text."""


class RuleChange(NamedTuple):
    """Another region, what would have to hold to belong there, and how far that is, in shares of the fitting rows."""

    region: int
    condition: str
    distance: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Told):
    """Why the model says this about one row, told against the fitting rows of its region.

    ``contributions`` are what each column (or group) adds to the region's ``mean``, by the ``explanation`` named;
    ``rest`` is what they do only together: with it they add up to the ``prediction``. ``percentiles`` and ``shares``:
    where the row's value stands among those of the region (NaN where there is no order), and how many are equal.
    ``changes`` (region, condition, distance) would bring it into another region, the nearest first. ``near`` fitting
    rows of the region are near it; the share ``typical`` of the region's rows have no more near them.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> found = g.explain_row(toy.X.iloc[[0]])
    >>> found.region, found.changes[0].condition
    (1, 'x2 ≤ 0')
    >>> list(found.frame())
    ['row', 'region', 'set', 'value', 'percentile', 'share', 'contribution', 'standard_error']
    """

    row: Any
    region: int
    rule: str
    n_samples: int
    prediction: float
    mean: float
    explanation: str
    sets: tuple[str, ...]
    values: tuple[str, ...]
    percentiles: FloatArray
    shares: FloatArray
    contributions: FloatArray
    errors: FloatArray
    changes: tuple[RuleChange, ...]
    near: int
    typical: float
    curves: tuple[Curve | None, ...]
    table: Table
    references: Table

    @property
    def rest(self) -> float:
        """What the columns do only together."""
        rest = self.prediction - self.mean - float(self.contributions.sum())
        return rest if abs(rest) > 1e-12 * max(abs(self.prediction), abs(self.mean)) else 0.0

    @property
    def order(self) -> IntArray:
        """The sets by the size of their contribution."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def frame(self) -> Any:
        """One line a set, in the library of the fit, and one for what they do only together; they add up."""
        keys = ("row", "region", "set", "value", "percentile", "share", "contribution", "standard_error")
        figures = (self.percentiles, self.shares, self.contributions, self.errors)
        told = zip(self.sets, self.values, *(each.tolist() for each in figures), strict=True)
        lines = [*told, ("together", "", np.nan, np.nan, self.rest, 0.0)]
        cells = [(self.row, self.region, *(None if cell != cell else cell for cell in line)) for line in lines]
        return frame(dict(zip(keys, map(list, zip(*cells, strict=True)), strict=True)), like=self.table)

    def sentences(self) -> list[str]:
        """What a reader needs in words: region, sum, the nearest change, and how usual the row is."""
        told = [
            f"Row {plain(self.row)} is in region {self.region} ({self.rule}; {count(self.n_samples, 'fitting row')}).",
            f"The model says {number(self.prediction)}; the mean of the region is {number(self.mean)}.",
        ]
        told += [f"With {change.condition} it would be in region {change.region}." for change in self.changes[:1]]
        if self.typical == self.typical:
            usual = "It is a usual row there" if self.typical > NEAR / 2 else "It is unusual there"
            near = f"{count(self.near, 'fitting row')} of the region are near it"
            told.append(f"{usual}: {near}, and {percent(self.typical, 0)} of the region's rows have no more near them.")
        return told

    def _told(self) -> Any:
        """Sentences; the strongest sets, what the others add, and what all do only together."""
        others, sizes = self.order[SHOWN:], self.contributions
        cells = [
            (shortened(self.sets[i], 40), self.values[i], percent(self.percentiles[i], 0), signed(sizes[i]))
            for i in self.order[:SHOWN]
        ]
        if len(others):
            cells.append((count(len(others), "other"), "", "", signed(sizes[others].sum())))
        head = ("", "value", "percentile", f"contribution ({self.explanation})")
        return self.sentences(), [head, *cells, ("only together", "", "", signed(self.rest))], (0, 1)

    def __repr__(self) -> str:
        numbers = f"prediction {number(self.prediction)}, mean of the region {number(self.mean)}"
        return f"<RowExplanation of row {plain(self.row)}: region {self.region}, {numbers}>"


def one_row(fitted: Table, x: Any) -> Any:
    """A row given by its cells as a table of it; anything else as it is."""
    cells = x.to_dict() if type(x).__name__ == "Series" and hasattr(x, "to_dict") else x
    by_hand = isinstance(cells, Mapping) or (isinstance(cells, list | tuple | np.ndarray) and np.ndim(cells[0]) == 0)
    return row_like(fitted, cells, "x").native if by_hand else x


def explain_one(fitted: FitResult, table: Table, regions: IntArray, resources: Resources, seed: int) -> RowExplanation:
    """The story of the one row of a table; without the fitting rows, what the curves of the fit know of it."""
    if table.n_rows != 1:
        hint = "Pass X.iloc[[i]], X[[i]] or a mapping; explain(X) has the effects of many rows in one table."
        raise InputError(f"x has {table.n_rows} rows; explain_row is about one.", code="P03", argument="x", hint=hint)
    k, has_rows = int(regions[0]), not isinstance(fitted.table.container, Outline)
    region, surrogate = fitted.partition[k], fitted.surrogate.regions[k]
    here = AgainstFit(NewRows(fitted, Route(fitted.predictor, table), None, resources), k)
    inside = fitted.table.take(here.references) if has_rows else fitted.table
    name, effect = _contributing(fitted, table, resources, seed, has_rows)
    players = [union(members) for members in effect.layout.sets]
    curves = tuple(map({frozenset({c.column.position}): c for c in surrogate.curves}.get, players))
    if has_rows:
        part = here.part(name, np.zeros(1, dtype=np.intp), effect)
        found, errors, mean = part.values[0], part.errors[0], float(part.base[0])
    else:
        at = [0.0 if c is None else float(c.at(table.columns[c.column.position])[0]) for c in curves]
        found, errors, mean = np.array(at), np.zeros(len(at)), surrogate.mean
    texts, *standing = zip(*(_standing(table, inside, each, has_rows) for each in players), strict=True)
    near, typical = _neighbours(table, inside, seed) if has_rows else (0, np.nan)
    changes = tuple(sorted(_changes(fitted, table, k), key=lambda change: (change.distance, change.region)))
    found = np.where(np.abs(found) > 1e-12 * np.abs([mean, *found]).max(), found, 0.0)
    place = (table.row_labels([0])[0], k, str(region.rule), region.n_samples)
    figures = (float(fitted.predictor.on_rows(table)[0]), mean, name, tuple(map(":".join, effect.layout.labels)))
    stands = (texts, *map(np.array, standing), found, errors, changes, near, typical)
    cells: Any = (*place, *figures, *stands, curves, table, inside)
    return RowExplanation(*cells)


def _contributing(
    fitted: FitResult, table: Table, resources: Resources, seed: int, has_rows: bool
) -> tuple[str, ResolvedExplainer]:
    """The second explanation of the question, where it tells of every player from the region's mean; otherwise PDP."""
    side, effect = fitted.comparisons[0].question.second, fitted.comparisons[0].second
    singles = tuple((player,) for player in effect.layout.explained)
    adds_up = effect.behavior.is_linear and effect.masking.redraws and side.interaction.key in ("pure", "partial")
    if has_rows and adds_up and effect.layout.sets == singles:
        return side.name or "second", without_paths(side, effect, table, resources, seed)
    known = dict(zip(effect.layout.sets, effect.layout.labels, strict=True))
    labels = tuple(known.get(s) or (", ".join(table.names[i] for i in sorted(s[0])),) for s in singles)
    layout = PlayersAndSets(effect.layout.players, singles, labels, effect.layout.passing)
    terms = tuple(Pure().terms(layout.players, members) for members in singles)
    return "pdp", ResolvedExplainer(Marginal(), Local(), layout, terms)


def _standing(table: Table, inside: Table, columns: Coalition, has_rows: bool) -> tuple[str, float, float]:
    """A row's values of some columns; percentile (NaN without an order) and share of equal rows, if it is one."""
    own = [table.columns[j] for j in sorted(columns)]
    text = ", ".join(MISSING if c.missing[0] else level_text(c, c.values[0]) for c in own)
    if not has_rows or len(own) > 1:
        return text, np.nan, np.nan
    among = inside.columns[own[0].position]
    same = level_codes(among, among) == level_codes(own[0], among)
    return text, float(_places(own[0], among)[0]), float(np.mean(same))


def _places(column: Column, among: Column) -> FloatArray:
    """The place of each row's value among the values of a column: mid-ranks from 0 to 1; NaN without an order."""
    if among.kind in ("nominal", "boolean") or not len(among.levels):
        return np.full(len(column.values), np.nan)
    levels, keys = sortable(column, among)
    below = np.append(0.0, np.cumsum(np.bincount(among.codes[among.codes >= 0], minlength=len(levels))))
    middle = (below[np.searchsorted(levels, keys, "left")] + below[np.searchsorted(levels, keys, "right")]) / 2
    return np.append(middle / below[-1], np.nan)[column.codes]


def _gaps(table: Table, among: Table) -> FloatArray:
    """Mean over the columns of how far rows are apart: ranks of ordered columns, 0 or 1 for others and for missing."""
    total = np.zeros((table.n_rows, among.n_rows))
    for column, other in zip(table.columns, among.columns, strict=True):
        apart = np.abs(_places(column, other)[:, None] - _places(other, other))
        total += np.where(np.isnan(apart), level_codes(column, other)[:, None] != level_codes(other, other), apart)
    return total / table.n_columns


def _neighbours(table: Table, inside: Table, seed: int) -> tuple[int, float]:
    """Rows near a row, and the share of the region's rows with no more of them."""
    some = np.random.default_rng(seed).permutation(inside.n_rows)[:COMPARED]
    among = _gaps(inside.take(some), inside)
    radius = float(np.quantile(among, NEAR))
    near = int((_gaps(table, inside)[0] <= radius).sum())
    return near, float(np.mean((among <= radius).sum(axis=1) - 1 <= near))


def _changes(fitted: FitResult, table: Table, own: int) -> Iterator[RuleChange]:
    """For every other region the conditions of its rule that the row lacks."""
    for region in fitted.partition:
        lacking, distance = [], 0.0
        for name, condition in region.rule.conditions:
            column, everyone = (each.columns[fitted.table.names.index(name)] for each in (table, fitted.table))
            if not satisfied(condition, column)[0]:
                apart = np.abs(_places(everyone, everyone) - _places(column, everyone)[0])
                distance += 1.0 + float(np.nan_to_num(apart, nan=1.0)[satisfied(condition, everyone)].min(initial=1.0))
                lacking.append(condition.text(name))
        if region.index != own and lacking:
            yield RuleChange(region.index, " and ".join(lacking), distance)
