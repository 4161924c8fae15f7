"""Regions and their tree, curves of every column and importances of every set, on all rows and in each region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, FEW_ROWS, plain, shortened
from granite_xai.catalog import title
from granite_xai.curves import dependence_bins
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.display.axis import places_on_page
from granite_xai.display.lines import MOST_CURVES
from granite_xai.display.tree import Box, boxes_of
from granite_xai.fit_values import ColumnCurves, FitValues
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.report.source import ReportSource, listed, set_labels
from granite_xai.tables import Column

MOST_DRAWN = 30
_CELLS = 50_000
"""Points of single curves in the whole report; more panels get fewer curves, so that the file stays small."""
_END = 14
"""Characters of a condition's end that stay when it is cut."""


def regions(source: ReportSource, importance: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Each region: rule, rows, disagreement, how well its own curves describe it, its strongest sets."""
    partition, values = source.fitted.partition, source.values
    explained: list[float | None] = [None] * len(partition)
    if values is not None:
        explained = [values.explained(scope) for scope in values.regions]
    return [
        {
            "region": region.index,
            "rule": str(region.rule),
            "short": short_rule(region.rule),
            "n_samples": region.n_samples,
            "fraction": _finite(region.fraction),
            "disagreement": _finite(region.disagreement),
            "explained": share,
            "strongest": _strongest(importance, region.index, len(partition)),
            "stop_reason": region.stop_reason,
            "small": region.n_samples < FEW_ROWS,
        }
        for region, share in zip(partition, explained, strict=True)
    ]


def short_rule(rule: Rule) -> str:
    """A rule for narrow places: every condition is cut in its middle, so that its end stays readable.

    >>> short_rule(Rule.parse("`a very long name of some column that goes on and on` > 3 and x ≤ 1"))
    '`a very long name of some…on and on` > 3 and x ≤ 1'
    """
    return " and ".join(shortened(c.text(name), 40, _END) for name, c in rule.conditions) or ALL_ROWS


def _finite(value: float) -> float | None:
    return float(value) if value == value else None


def _strongest(importance: dict[str, Any] | None, region: int, count: int) -> list[str]:
    if importance is None:
        return []
    scope = importance["scopes"][0 if count == 1 else region + 1]
    size = [abs(value or 0.0) for value in scope["second"]]
    ranked = sorted(range(len(size)), key=lambda i: -size[i])
    return [importance["sets"][i] for i in ranked[:3] if size[i] > 1e-9 * max(size)]


def tree(partition: Partition) -> dict[str, Any] | None:
    """The nodes that a `PartitionDisplay` draws, nested; None for regions that have no tree."""
    boxes = boxes_of(partition)
    return None if partition.root is None else _node(partition, boxes, boxes[0])


def _node(partition: Partition, boxes: Sequence[Box], box: Box) -> dict[str, Any]:
    facts = {
        "text": box.condition,
        "short": shortened(box.condition, 60, _END),
        "n_samples": box.n_samples,
        "fraction": float(box.fraction),
        "disagreement": float(box.disagreement),
        "left": float(box.after),
    }
    if box.region is not None:
        return {**facts, "region": box.region, "stop_reason": partition[box.region].stop_reason}
    return {**facts, "column": box.column, "children": [_node(partition, boxes, boxes[i]) for i in box.children]}


def importances(values: FitValues) -> list[dict[str, Any]]:
    """Both sides of each question, a number for each set and scope: root mean square of local effects."""
    return [_importance(values, question) for question in values.fitted.comparisons]


def _importance(values: FitValues, resolved: ResolvedQuestion) -> dict[str, Any]:
    question = resolved.question
    scopes: list[dict[str, Any]] = []
    for scope in values.scopes:
        found = values.question(resolved, scope)
        first, second = (listed(side) for side in found.sizes)
        scopes.append({"region": scope.region, "first": first, "second": second, "gap": listed(found.gaps)})
    _without_rounding(scopes)
    whole = scopes[0]
    size = [max(abs(a or 0.0), abs(b or 0.0)) for a, b in zip(whole["first"], whole["second"], strict=True)]
    local = resolved.first.behavior.per_row
    return {
        "question": question.label,
        "first": title(question.first.name, "first"),
        "second": title(question.second.name, "second"),
        "measure": "typical size of the effect (root mean square)" if local else "importance",
        "sets": set_labels(resolved),
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


def effects(values: FitValues) -> list[dict[str, Any]]:
    """Curves of the columns that are players of their own, strongest first, on all rows and in each region."""
    drawn = values.columns_with_curves()[:MOST_DRAWN]
    panels = max(1, len(drawn) * len(values.scopes))
    points = int(np.clip(2400 // panels, 8, 24))
    curves = int(np.clip(_CELLS // (panels * points), 5, MOST_CURVES))
    others = _other_sides(values)
    return [_effect(values, i, points, curves, others) for i in drawn]


def _effect(values: FitValues, position: int, points: int, most: int, others: Any) -> dict[str, Any]:
    column = values.table.columns[position]
    generator = np.random.default_rng([values.seed, position])
    found = []
    for k, scope in enumerate(values.scopes):
        panel = _panel(column, values.curves(position, scope, points), most, generator)
        lines = [{"name": name, **_line(column, scope.rows, by[k])} for name, by in others.get(column.name, ())]
        found.append({"region": scope.region, **panel, "lines": lines})
    return {"set": column.name, "kind": column.kind, **_axis(column), "panels": found}


def _panel(column: Column, ice: ColumnCurves, most: int, generator: np.random.Generator) -> dict[str, Any]:
    """Mean curve, 10 % and 90 %, and a few curves of nobody in particular."""
    drawn = np.sort(generator.permutation(len(ice.weights))[:most])
    return {
        "x": places_on_page(column, ice.codes),
        "mean": listed(ice.values @ ice.weights / ice.weights.sum()),
        "low": listed(_quantile(ice.values, ice.weights, 0.1)),
        "high": listed(_quantile(ice.values, ice.weights, 0.9)),
        # In no order of the table, and without labels: a curve belongs to nobody.
        "curves": [listed(curve, 3) for curve in ice.values.T[generator.permutation(drawn)]],
    }


def _quantile(values: FloatArray, weights: FloatArray, share: float) -> FloatArray:
    """Smallest value of each line below which lies this share of the weight."""
    order = np.argsort(values, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    place = (below < share * below[:, -1:] * (1 - 1e-12)).sum(axis=1)
    return np.asarray(np.take_along_axis(values, order, axis=1)[np.arange(len(values)), place])


def _axis(column: Column) -> dict[str, Any]:
    if column.kind == "numeric":
        return {"labels": None}
    if column.kind == "date":
        return {"labels": None, "origin": str(column.levels[0])}
    return {"labels": [plain(level) for level in column.levels]}


def _other_sides(values: FitValues) -> dict[str, list[tuple[str, list[FloatArray]]]]:
    """Local explanations other than ICE and PDP that were asked about: their values in each scope, by column."""
    found: dict[str, list[tuple[str, list[FloatArray]]]] = {}
    for resolved in values.fitted.comparisons:
        sides = (resolved.question.first, resolved.question.second)
        told = [place for place, side in enumerate(sides) if side.name not in ("ice", "pdp")]
        if resolved.first.behavior.key != "local" or len(resolved.first.layout.sets) < 2 or not told:
            continue
        known = [values.question(resolved, scope) for scope in values.scopes]
        for place in told:
            name = title(sides[place].name, ("first", "second")[place])
            for i, label in enumerate(set_labels(resolved)):
                by_scope = [(each.first, each.second)[place][:, i] for each in known]
                found.setdefault(label, []).append((name, by_scope))
    return found


def _line(column: Column, rows: IntArray, values: FloatArray) -> dict[str, Any]:
    """Mean of local effects in the tenths (or levels) of a column."""
    part = column.take(rows)
    bins = np.where(part.codes < 0, 0, dependence_bins(part))
    places = np.array(places_on_page(column, np.maximum(column.codes[rows], 0)))
    used = [b for b in np.unique(bins).tolist() if b > 0]
    return {
        "x": listed([places[bins == b].mean() for b in used]),
        "y": listed([values[bins == b].mean() for b in used]),
    }


def stored_effects(source: ReportSource) -> list[dict[str, Any]]:
    """The curves that a loaded object carries: means only, no rows."""
    singles = [next(iter(player)) for player in source.fitted.layout.players if len(player) == 1]
    several = len(source.fitted.partition) > 1
    found = []
    for column in (source.table.columns[i] for i in singles[:MOST_DRAWN]):
        chosen = np.unique(np.linspace(0, len(column.levels) - 1, 24).astype(np.intp))
        panels = []
        for region, part in enumerate(source.fitted.surrogate.regions):
            curve = next(c for c in part.curves if c.column.position == column.position)
            mean = {"x": places_on_page(column, chosen), "mean": listed(curve.effects[1:][chosen])}
            nothing: dict[str, Any] = {"low": None, "high": None, "curves": [], "lines": []}
            panels.append({"region": region if several else None, **mean, **nothing})
        found.append({"set": column.name, "kind": column.kind, **_axis(column), "panels": panels})
    return found
