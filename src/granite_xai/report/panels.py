"""What a story measures: regions and their tree, curves, importances, and two tables.

The tables: how much of the model simpler descriptions explain, and whose effects disagree, by question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, FEW_ROWS, plain, shortened
from granite_xai.catalog import title
from granite_xai.compute.units import by_power_of_two
from granite_xai.curves import dependence_bins
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.display.axis import places_on_page
from granite_xai.display.lines import MOST_CURVES
from granite_xai.display.tree import Box, boxes_of
from granite_xai.fit_checks import cause
from granite_xai.fit_values import ColumnCurves, FitValues
from granite_xai.influence import Interactions
from granite_xai.profile import profiles
from granite_xai.regions.partition import Partition
from granite_xai.regions.rule import Rule
from granite_xai.report.sentences import ReportSource, listed, set_labels
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
    words: list[list[str]] = [[] for _ in partition]
    if values is not None:
        words = [each.sentences() for each in profiles(source.fitted, *values.by_row())]
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
            "profile": words[region.index],
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
    found = [values.question(resolved, scope) for scope in values.scopes]
    sizes, gaps = np.stack([each.sizes for each in found]), np.stack([each.gaps for each in found])
    for cells, share in ((sizes, 1e-12), (gaps, 1e-20)):  # what is nothing beside the largest is rounding
        cells[np.abs(cells) < share * np.nan_to_num(np.abs(cells), posinf=0.0).max(initial=0.0)] = 0.0
    scopes: list[dict[str, Any]] = [
        {"region": scope.region, "first": listed(first), "second": listed(second), "gap": listed(gap)}
        for scope, (first, second), gap in zip(values.scopes, sizes, gaps, strict=True)
    ]
    both = zip(scopes[0]["first"], scopes[0]["second"], strict=True)
    size = np.array([max(abs(one or 0.0), abs(two or 0.0)) for one, two in both])
    local = resolved.first.behavior.per_row
    return {
        **_named(resolved),
        "measure": "typical size of the effect (root mean square)" if local else "importance",
        "sets": set_labels(resolved),
        "order": np.argsort(-size, kind="stable").tolist(),
        "scopes": scopes,
    }


def _named(resolved: ResolvedQuestion) -> dict[str, str]:
    question = resolved.question
    sides = {"first": title(question.first.name, "first"), "second": title(question.second.name, "second")}
    return {"question": question.label, **sides}


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
    return _told(column, found)


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


def _told(column: Column, panels: list[dict[str, Any]]) -> dict[str, Any]:
    """A column with its axis and panels."""
    labels = None if column.kind in ("numeric", "date") else [plain(level) for level in column.levels]
    axis = {"labels": labels} | ({"origin": str(column.levels[0])} if column.kind == "date" else {})
    return {"set": column.name, "kind": column.kind, **axis, "panels": panels}


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
                by_scope = [each.sides[place][:, i] for each in known]
                found.setdefault(label, []).append((name, by_scope))
    return found


def _line(column: Column, rows: IntArray, values: FloatArray) -> dict[str, Any]:
    """Mean of local effects in the tenths (or levels) of a column."""
    part = column.take(rows)
    bins = np.where(part.codes < 0, 0, dependence_bins(part))
    places = np.array(places_on_page(column, np.maximum(column.codes[rows], 0)))
    used = [bins == b for b in np.unique(bins).tolist() if b > 0]
    return {name: listed([cells[b].mean() for b in used]) for name, cells in (("x", places), ("y", values))}


def stored_effects(source: ReportSource) -> list[dict[str, Any]]:
    """The curves that a loaded object carries: means only, no rows."""
    singles = [next(iter(player)) for player in source.fitted.layout.explained if len(player) == 1]
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
        found.append(_told(column, panels))
    return found


def ledger(source: ReportSource) -> dict[str, Any]:
    """Explained variance: one curve per column, the same in each region, and the strongest pairs on top."""
    fitted = source.fitted
    steps = [{"step": source.unit, "explained": float(fitted.global_fidelity)}]
    if len(fitted.partition) > 1:
        text = f"{source.unit} in each of {len(fitted.partition)} regions"
        steps.append({"step": text, "explained": float(fitted.fidelity)})
    told: dict[str, Any] = {"steps": steps, "note": "", "pairs": []}
    order_two = isinstance(fitted.comparisons[0].question.first.influence, Interactions)
    # Pairs could add something where there are three of them, and the surrogate has none yet.
    if source.values is None or len(fitted.layout.explained) <= 2 or order_two or not fitted.fidelity < 1 - 1e-9:
        return told
    found = source.values.pairs()
    if found.needed:
        more = f"they would take {found.needed:,} more evaluations; the fit took {found.spent:,}"
        told["note"] = f"Pairs of columns are left out: {more}."
    if found.explained is not None:
        told["pairs"] = [[_player(source, player) for player in pair] for pair in found.pairs]
        names = ", ".join(" with ".join(shortened(plain(name), 40) for name in pair) for pair in told["pairs"])
        text = f"the joint effects of the strongest pairs: {names}"
        steps.append({"step": text, "explained": float(found.explained)})
    return told


def _player(source: ReportSource, player: Coalition) -> str:
    layout = source.fitted.layout
    named = (names[0] for sets, names in zip(layout.sets, layout.labels, strict=True) if tuple(sets) == (player,))
    return next(named, None) or ", ".join(source.table.names[i] for i in sorted(player))


def disagreement_map(values: FitValues) -> dict[str, Any]:
    """Share of each column in the disagreement of each question, before any split, and what the regions leave of it."""
    found = {}
    for question in (*values.fitted.comparisons, *values.further_questions()):
        label = question.question.label
        if label in found or len(question.first.layout.sets) < 2:
            continue
        gaps = values.gaps(question)
        found[label] = None if gaps is None else _map_line(question, values.evaluations.exponent, *gaps)
    sets = set_labels(values.fitted.comparisons[0])
    return {"sets": sets, "questions": [line for line in found.values() if line and line["sets"] == sets]}


def _map_line(resolved: ResolvedQuestion, exponent: int, before: FloatArray, after: FloatArray) -> dict[str, Any]:
    total = float(before.sum())
    shares = before / total if total > 0 else np.zeros_like(before)
    return {
        **_named(resolved),
        "cause": cause(resolved.question),
        "behavior": resolved.question.behavior.key,
        "disagreement": float(by_power_of_two(total, exponent * (resolved.degree or 0))),
        "remaining": float(after.sum() / total) if total > 0 else 0.0,
        "sets": set_labels(resolved),
        "shares": listed(shares),
    }
