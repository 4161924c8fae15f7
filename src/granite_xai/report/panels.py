"""Curves of every column and importances of every set, on all rows and in each region."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves import dependence_bins
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.report.basis import Basis, listed, over_rows, set_labels, sides
from granite_xai.report.disagreements import by_set
from granite_xai.report.words import plain, side_words
from granite_xai.surrogate import additive
from granite_xai.tables import Column

MOST_CURVES = 50
MOST_DRAWN = 30
_CELLS = 50_000
"""Points of single curves in the whole report; more panels get fewer curves, so that the file stays small."""


def importances(basis: Basis) -> list[dict[str, Any]]:
    """Both sides of each question, a number for each set and scope: root mean square of local effects."""
    return [_importance(basis, comparison) for comparison in basis.fitted.comparisons]


def _importance(basis: Basis, comparison: ResolvedQuestion) -> dict[str, Any]:
    local = comparison.first.behavior.per_row
    question = comparison.question
    scopes: list[dict[str, Any]] = []
    for region, rows in basis.scopes:
        node = basis.known.restrict(rows)
        first, second = sides(comparison, node)
        if local:
            first, second = (np.sqrt(over_rows(np.square(side), node.weights, True)) for side in (first, second))
        gaps = by_set(comparison, node)
        scopes.append({"region": region, "first": listed(first), "second": listed(second), "gap": listed(gaps)})
    _without_rounding(scopes)
    whole = scopes[0]
    size = [max(abs(a or 0.0), abs(b or 0.0)) for a, b in zip(whole["first"], whole["second"], strict=True)]
    return {
        "question": question.label,
        "first": side_words(question.first.name, "first")[0],
        "second": side_words(question.second.name, "second")[0],
        "measure": "typical size of the effect (root mean square)" if local else "importance",
        "sets": set_labels(comparison),
        "order": [int(i) for i in np.argsort(-np.array(size), kind="stable")],
        "scopes": scopes,
    }


def _without_rounding(scopes: list[dict[str, Any]]) -> None:
    """Turn numbers that are nothing beside the largest of their kind into 0."""
    for kinds, share in ((("first", "second"), 1e-12), (("gap",), 1e-20)):
        cells = [abs(v) for scope in scopes for kind in kinds for v in scope[kind] if v is not None]
        least = share * max(cells, default=0.0)
        for scope in scopes:
            scope.update(
                {kind: [0.0 if v is not None and abs(v) < least else v for v in scope[kind]] for kind in kinds}
            )


def region_explained(basis: Basis) -> list[float]:
    """Share of the variance inside each region that its own curves explain; 1 where nothing varies."""
    found = []
    players = basis.fitted.layout.players
    for rows in basis.regions:
        node = basis.known.restrict(rows)
        gap = node.predictions - additive(basis.table, basis.known, players, 1, rows)
        mean = np.average(node.predictions, weights=node.weights)
        total = float(node.weights @ np.square(node.predictions - mean))
        nothing = total <= 1e-20 * basis.variance * float(node.weights.sum())  # rounding: the region is constant
        found.append(1.0 if nothing else 1.0 - float(node.weights @ np.square(gap)) / total)
    return found


def effects(basis: Basis) -> list[dict[str, Any]]:
    """Curves of the columns that are players of their own, strongest first, on all rows and in each region."""
    columns = [next(iter(p)) for p in basis.fitted.layout.players if len(p) == 1]
    if basis.evaluations is None:
        return [_stored(basis, i) for i in columns][:MOST_DRAWN]
    columns = [i for i in columns if frozenset({i}) in basis.known.places and len(basis.table.columns[i].levels) > 1]
    size = {i: _reach(basis.known, i) for i in columns}
    drawn = sorted(columns, key=lambda i: -size[i])[:MOST_DRAWN]
    panels = max(1, len(drawn) * len(basis.scopes))
    points = int(np.clip(2400 // panels, 8, 24))
    curves = int(np.clip(_CELLS // (panels * points), 5, MOST_CURVES))
    others = _other_sides(basis)
    return [_effect(basis, i, points, curves, others) for i in drawn]


def _reach(evaluations: Evaluations, position: int) -> float:
    matrix = evaluations.matrix(frozenset({position}))
    shares = np.bincount(matrix.codes, weights=evaluations.weights, minlength=len(matrix.values))
    centred = matrix.values - shares @ matrix.values / shares.sum()
    return float((np.square(centred).mean(axis=1) @ shares) / shares.sum())


def _effect(basis: Basis, position: int, points: int, curves: int, others: Any) -> dict[str, Any]:
    column = basis.table.columns[position]
    generator = np.random.default_rng([int(basis.granite.diagnostics_["seed"]), position])
    found = []
    for scope, (region, rows) in enumerate(basis.scopes):
        panel = _panel(basis.known, column, rows, points, curves, generator)
        lines = [{"name": name, **_line(column, rows, values[scope])} for name, values in others.get(column.name, ())]
        found.append({"region": region, **panel, "lines": lines})
    return {"set": column.name, "kind": column.kind, **_axis(column), "panels": found}


def _panel(
    evaluations: Evaluations,
    column: Column,
    rows: IntArray,
    points: int,
    most: int,
    generator: np.random.Generator,
) -> dict[str, Any]:
    """ICE around each curve's own mean: mean curve, 10 % and 90 %, and a few curves of nobody in particular."""
    matrix, weights = evaluations.matrix(frozenset({column.position})), evaluations.weights[rows]
    level = column.codes if matrix.levels is None else matrix.levels[matrix.codes]  # on a grid, that of the grid
    present = rows[level[rows] >= 0]
    codes, first = np.unique(level[present], return_index=True)
    chosen = _spread_out(level[present], codes, points, column.kind in ("nominal", "boolean"))
    lines = matrix.codes[present[first[chosen]]]
    shares = np.bincount(matrix.codes[rows], weights=weights, minlength=len(matrix.values)) / weights.sum()
    values = matrix.values[:, rows]
    moved = values[lines] - shares @ values
    moved[np.abs(moved) < 1e-12 * np.abs(evaluations.predictions).max()] = 0.0  # rounding is no effect
    drawn = np.sort(generator.permutation(len(rows))[:most])
    return {
        "x": positions(column, codes[chosen]),
        "mean": listed(moved @ weights / weights.sum()),
        "low": listed(_quantile(moved, weights, 0.1)),
        "high": listed(_quantile(moved, weights, 0.9)),
        # In no order of the table, and without labels: a curve belongs to nobody.
        "curves": [listed(curve, 3) for curve in moved.T[generator.permutation(drawn)]],
    }


def _spread_out(all_codes: IntArray, codes: IntArray, points: int, every: bool) -> IntArray:
    """Places among the levels present: all of few ones, otherwise quantiles with both ends."""
    if len(codes) <= points or every:
        return np.arange(len(codes))[: max(points, 40)]
    below = np.cumsum(np.bincount(np.searchsorted(codes, all_codes), minlength=len(codes)))
    wanted = np.linspace(1, below[-1], points)
    return np.unique(np.searchsorted(below, wanted)).astype(np.intp)


def _quantile(values: FloatArray, weights: FloatArray, share: float) -> FloatArray:
    """Smallest value of each line below which lies this share of the weight."""
    order = np.argsort(values, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    place = (below < share * below[:, -1:] * (1 - 1e-12)).sum(axis=1)
    return np.asarray(np.take_along_axis(values, order, axis=1)[np.arange(len(values)), place])


def positions(column: Column, codes: IntArray) -> list[float]:
    """Where levels stand on the axis: numbers at their value, dates in days, labels at their number."""
    levels = column.levels[codes]
    if column.kind == "numeric":
        return [float(value) for value in levels]
    if column.kind == "date":
        return [float((value - column.levels[0]) / np.timedelta64(1, "s")) / 86400 for value in levels]
    return [float(code) for code in codes]


def _axis(column: Column) -> dict[str, Any]:
    if column.kind == "numeric":
        return {"labels": None}
    if column.kind == "date":
        return {"labels": None, "origin": str(column.levels[0])}
    return {"labels": [plain(level) for level in column.levels]}


def _other_sides(basis: Basis) -> dict[str, list[tuple[str, list[FloatArray]]]]:
    """Local explanations other than ICE and PDP that were asked about: their values in each scope, by column."""
    found: dict[str, list[tuple[str, list[FloatArray]]]] = {}
    for comparison in basis.fitted.comparisons:
        question = comparison.question
        if comparison.first.behavior.key != "local" or len(comparison.first.layout.sets) < 2:
            continue
        values = [sides(comparison, basis.known.restrict(rows)) for _, rows in basis.scopes]
        for place, side in enumerate((question.first, question.second)):
            if side.name in ("ice", "pdp"):
                continue
            name = side_words(side.name, ("first", "second")[place])[0]
            for i, label in enumerate(set_labels(comparison)):
                found.setdefault(label, []).append((name, [pair[place][:, i] for pair in values]))
    return found


def _line(column: Column, rows: IntArray, values: FloatArray) -> dict[str, Any]:
    """Mean of local effects in the tenths (or levels) of a column."""
    part = column.take(rows)
    bins = np.where(part.codes < 0, 0, dependence_bins(part))
    places = np.array(positions(column, np.maximum(column.codes[rows], 0)))
    used = [b for b in np.unique(bins).tolist() if b > 0]
    return {
        "x": listed([places[bins == b].mean() for b in used]),
        "y": listed([values[bins == b].mean() for b in used]),
    }


def _stored(basis: Basis, position: int) -> dict[str, Any]:
    """The curves that a loaded object carries: means only, no rows."""
    column = basis.table.columns[position]
    panels = []
    for region, part in enumerate(basis.fitted.surrogate.regions):
        curve = next(c for c in part.curves if c.column.position == position)
        chosen = np.unique(np.linspace(0, len(column.levels) - 1, 24).astype(np.intp))
        panels.append(
            {
                "region": region if len(basis.fitted.partition) > 1 else None,
                "x": positions(column, chosen),
                "mean": listed(curve.effects[1:][chosen]),
                "low": None,
                "high": None,
                "curves": [],
                "lines": [],
            }
        )
    return {"set": column.name, "kind": column.kind, **_axis(column), "panels": panels}
