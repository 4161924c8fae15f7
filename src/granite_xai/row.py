"""The story of one row: what its columns add to the mean of its region, and where it stands there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import (
    MISSING,
    aligned,
    count,
    html_table,
    number,
    percent,
    plain,
    shortened,
    signed,
    value,
)
from granite_xai.behavior import Local
from granite_xai.compute import Resources
from granite_xai.fit import FitResult
from granite_xai.influence import PlayersAndSets
from granite_xai.interaction import Pure, union
from granite_xai.masking import Marginal
from granite_xai.masking.bins import sortable
from granite_xai.new_rows import NewRows
from granite_xai.references import AgainstFit, without_paths
from granite_xai.regions.rule import satisfied
from granite_xai.resolved import ResolvedExplainer
from granite_xai.surrogate import Curve
from granite_xai.tables import Column, Table, frame, row_like
from granite_xai.tables.containers import Outline
from granite_xai.trees.routes import Route

NEAR = 0.1
"""Share of the pairs of a region's rows that are near each other, by definition."""
COMPARED = 400
"""Rows of a region whose distances are measured, at most."""


class RuleChange(NamedTuple):
    """Another region, what would have to hold to belong there, and how many of all fitting rows lie on the way."""

    region: int
    condition: str
    distance: float


@dataclass(frozen=True, slots=True, eq=False)
class RowExplanation:
    """Why the model says this about one row, told against the fitting rows of its region.

    Attributes
    ----------
    region, rule, n_samples
        The row's region: its number, its rule, and its fitting rows.
    prediction, mean : float
        What the model says, and its mean over the region.
    contributions : array
        What each column (or group) adds to the mean, by the explanation that `explanation` names.
    rest : float
        What the columns do only together in this region: prediction − mean − all contributions.
    percentiles, shares : array
        Where the row's value stands among those of the region (NaN where there is no order), and how many are equal.
    changes : tuple of (region, condition, distance)
        What would bring the row into another region, the nearest first.
    near, typical : int, float
        Rows of the region that are near, and the share of the region's rows that have no more rows near them.

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
    curves: tuple[Curve | None, ...] = field(repr=False)
    table: Table = field(repr=False)
    references: Table = field(repr=False)

    @property
    def rest(self) -> float:
        """What the columns do only together."""
        return self.prediction - self.mean - float(self.contributions.sum())

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
        return frame({key: [line[i] for line in cells] for i, key in enumerate(keys)}, like=self.table)

    def sentences(self) -> list[str]:
        """What a reader needs in words: region, sum, the nearest change, and how usual the row is."""
        told = [
            f"Row {plain(self.row)} is in region {self.region} ({self.rule}; {count(self.n_samples, 'fitting row')}).",
            f"The model says {number(self.prediction)}; the mean of the region is {number(self.mean)}.",
        ]
        if self.changes:
            told.append(f"With {self.changes[0].condition} it would be in region {self.changes[0].region}.")
        if self.typical != self.typical:
            return told
        usual = "It is a usual row there" if self.typical > NEAR / 2 else "It is unusual there"
        near = f"{count(self.near, 'fitting row')} of the region are near it"
        return [*told, f"{usual}: {near}, and {percent(self.typical, 0)} of the region's rows have no more near them."]

    def strongest(self, most: int = 3) -> str:
        """The largest contributions in one line."""
        return ", ".join(f"{plain(self.sets[i])} {signed(self.contributions[i])}" for i in self.order[:most])

    def lines(self, most: int = 12) -> list[tuple[str, ...]]:
        """The strongest sets, what the others add, and what all do only together, as cells of a table."""
        shown, others = self.order[:most], self.order[most:]
        cells = [
            (
                shortened(plain(self.sets[i]), 40),
                self.values[i],
                percent(self.percentiles[i], 0),
                signed(self.contributions[i]),
            )
            for i in shown
        ]
        if len(others):
            cells.append((count(len(others), "other"), "", "", signed(self.contributions[others].sum())))
        head = ("", "value", "percentile", f"contribution ({self.explanation})")
        return [head, *cells, ("only together", "", "", signed(self.rest))]

    def __str__(self) -> str:
        """Sentences and a table."""
        return "\n".join([*self.sentences()[:2], "", aligned(self.lines(), (0, 1)), "", *self.sentences()[2:]])

    def __repr__(self) -> str:
        """The row, its region and the two numbers."""
        numbers = f"prediction {number(self.prediction)}, mean of the region {number(self.mean)}"
        return f"<RowExplanation of row {plain(self.row)}: region {self.region}, {numbers}>"

    def _repr_html_(self) -> str:
        """Sentences and a table."""
        return html_table(self.lines(), " ".join(self.sentences()))


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
    region, has_rows = int(regions[0]), not isinstance(fitted.table.container, Outline)
    here = AgainstFit(NewRows(fitted, Route(fitted.predictor, table), None, resources), region)
    inside = fitted.table.take(here.references) if has_rows else fitted.table
    name, effect = _contributing(fitted, table, resources, seed, has_rows)
    players = [tuple(sorted(union(members))) for members in effect.layout.sets]
    own = {curve.column.position: curve for curve in fitted.surrogate.regions[region].curves}
    curves = tuple(own.get(columns[0]) if len(columns) == 1 else None for columns in players)
    standing = [
        _standing(table.columns[c[0]], inside) if has_rows and len(c) == 1 else (np.nan, np.nan) for c in players
    ]
    near, typical = _neighbours(table, inside, seed) if has_rows else (0, np.nan)
    if has_rows:
        part = here.part(name, np.zeros(1, dtype=np.intp), effect)
        found, errors, mean = part.values[0], part.errors[0], float(part.base[0])
    else:
        at = [0.0 if c is None else float(c.at(table.columns[c.column.position])[0]) for c in curves]
        found, errors, mean = np.array(at), np.zeros(len(at)), fitted.surrogate.regions[region].mean
    return RowExplanation(
        row=table.row_labels([0])[0],
        region=region,
        rule=str(fitted.partition[region].rule),
        n_samples=fitted.partition[region].n_samples,
        prediction=float(fitted.predictor.on_rows(table)[0]),
        mean=mean,
        explanation=name,
        sets=tuple(":".join(names) for names in effect.layout.labels),
        values=tuple(", ".join(cell_text(table.columns[j]) for j in columns) for columns in players),
        percentiles=np.array([each[0] for each in standing]),
        shares=np.array([each[1] for each in standing]),
        contributions=np.where(np.abs(found) > 1e-12 * np.abs([mean, *found]).max(), found, 0.0),
        errors=errors,
        changes=tuple(sorted(_changes(fitted, table, region), key=lambda change: (change.distance, change.region))),
        near=near,
        typical=typical,
        curves=curves,
        table=table,
        references=inside,
    )


def _contributing(
    fitted: FitResult, table: Table, resources: Resources, seed: int, has_rows: bool
) -> tuple[str, ResolvedExplainer]:
    """The second explanation of the question, where it tells of every player from the region's mean; otherwise PDP."""
    question = fitted.comparisons[0]
    side, effect = question.question.second, question.second
    players = effect.layout.players
    adds_up = effect.behavior.is_linear and effect.masking.redraws and side.interaction.key in ("pure", "partial")
    if has_rows and adds_up and [*effect.layout.sets] == [(player,) for player in players]:
        return side.name or "second", without_paths(side, effect, table, resources, seed)
    known = {
        members[0]: names[0]
        for members, names in zip(effect.layout.sets, effect.layout.labels, strict=True)
        if len(members) == 1
    }
    labels = tuple((known.get(player) or ", ".join(table.names[i] for i in sorted(player)),) for player in players)
    layout = PlayersAndSets(players, tuple((player,) for player in players), labels)
    terms = tuple(Pure().terms(players, members) for members in layout.sets)
    return "pdp", ResolvedExplainer(Marginal(), Local(), layout, terms)


def cell_text(column: Column, row: int = 0) -> str:
    """A cell as a person would write it."""
    cell = column.values[row]
    if column.missing[row]:
        return MISSING
    return value(float(cell)) if column.kind == "numeric" else shortened(plain(cell), 40)


def _places(column: Column, among: Column) -> FloatArray:
    """The place of each row's value among the values of a column: mid-ranks from 0 to 1; NaN without an order."""
    if among.kind in ("nominal", "boolean") or not len(among.levels):
        return np.full(len(column.values), np.nan)
    levels, keys = sortable(column, among)
    below = np.append(0.0, np.cumsum(np.bincount(among.codes[among.codes >= 0], minlength=len(levels))))
    middle = (below[np.searchsorted(levels, keys, "left")] + below[np.searchsorted(levels, keys, "right")]) / 2
    return np.append(middle / below[-1], np.nan)[column.codes]


def _standing(column: Column, inside: Table) -> tuple[float, float]:
    """Percentile of a row's value, and the share of rows that have the same."""
    among = inside.columns[column.position]
    same = among.missing if column.missing[0] else np.array([v == column.values[0] for v in among.values])
    return float(_places(column, among)[0]), float(np.mean(same))


def _gaps(table: Table, among: Table) -> FloatArray:
    """Mean over the columns of how far rows are apart: ranks of ordered columns, 0 or 1 for others and for missing."""
    total = np.zeros((table.n_rows, among.n_rows))
    for column, other in zip(table.columns, among.columns, strict=True):
        apart = np.abs(_places(column, other)[:, None] - _places(other, other))
        levels = {level: i for i, level in enumerate(other.levels.tolist())}
        own = np.array([*(levels.get(level, -2) for level in column.levels.tolist()), -1])[column.codes]
        total += np.where(np.isnan(apart), own[:, None] != other.codes, apart)
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
        lacking = []
        distance = 0.0
        for name, condition in region.rule.conditions:
            j = fitted.table.names.index(name)
            column, everyone = table.columns[j], fitted.table.columns[j]
            if not satisfied(condition, column)[0]:
                lacking.append(condition.text(name))
                apart = np.abs(_places(everyone, everyone) - _places(column, everyone)[0])[
                    satisfied(condition, everyone)
                ]
                distance += 1.0 + float(np.nanmin(apart, initial=1.0) if np.isfinite(apart).any() else 1.0)
        if region.index != own and lacking:
            yield RuleChange(region.index, " and ".join(lacking), distance)
