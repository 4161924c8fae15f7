"""What a story measures, in plain types: the tree and its regions, curves, sizes of effects, and what explains them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import FEW_ROWS
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.display.axis import places_of
from granite_xai.display.page_axis import PageAxis
from granite_xai.display.tree import boxes_of
from granite_xai.explanation.catalog import title
from granite_xai.explanation.influence import Interactions
from granite_xai.fitting.causes import cause
from granite_xai.report import sentences
from granite_xai.report.sentences import (
    Amounts,
    ReportSource,
    listed,
    set_labels,
    sides_named,
    spoken,
    swing,
)
from granite_xai.results.fit_values import Band, FitValues
from granite_xai.results.profile import profiles
from granite_xai.surrogate.additive import RegionSurrogate
from granite_xai.surrogate.grids import dependence_bins
from granite_xai.tables import Column

LEADING, MOST_DRAWN, MOST_LISTED = (
    3,
    15,
    200,
)  # columns that open the report, that are drawn, that are listed
POINTS = 32  # places along a curve, at most
Scopes = list[tuple[int | None, RegionSurrogate]]
MANY_CELLS = (
    20_000  # rows times columns up to which other questions are read off the evaluations too
)


def gaps_left(source: ReportSource) -> dict[int, tuple[float, float, float, float]]:
    """R on all rows (-1) and inside each region with its interval, and how many rows say so: those of the estimate."""
    # Without an estimate, or where a region has no such row, those of the fitting rows.
    fitted, found, total = source.fitted, source.fitted.estimate, source.granite.disagreement_
    inside = ((r, r.disagreement * total / (r.fraction or 1.0)) for r in fitted.partition)
    told = {-1: (total, np.nan, np.nan, float(source.n_rows))}
    told |= {
        region.index: (left, np.nan, np.nan, float(region.n_samples)) for region, left in inside
    }
    if found is not None and len(fitted.comparisons) == 1 and not found.below_noise_floor:
        lines = (
            (r.region, (max(r.corrected, 0.0), r.low, r.high, float(r.n_samples)))
            for r in found.lines
        )
        told |= {region: each for region, each in lines if np.isfinite(each[0])}
    return told


def tree(
    source: ReportSource, gaps: Mapping[int, tuple[float, ...]], at: int = 0
) -> dict[str, Any]:
    """The nodes that a `PartitionDisplay` draws, nested: rule, rows, regions below, and R left in those."""
    box = boxes_of(source.fitted.partition)[at]
    children = [tree(source, gaps, child) for child in box.children]
    regions = [r for child in children for r in child["regions"]] if children else [box.region or 0]
    left, rows = zip(*((gaps[r][0], gaps[r][3]) for r in regions), strict=True)
    own: dict[str, Any] = {
        "id": f"node-{box.node}" if children else f"region-{box.region}",
        "region": box.region,
    }
    own["conditions"] = spoken(box.rule, source.fitted.table)[-1:]
    own |= {"id": "all", "region": None, "conditions": []} if box.parent is None else {}
    own |= {
        "text": box.condition,
        "column": box.column,
        "n_samples": box.n_samples,
        "regions": regions,
    }
    return {
        **own,
        "left": float(np.average(left, weights=rows)) if sum(rows) else None,
        "children": children,
    }


def regions(
    source: ReportSource, drawn: Sequence[dict[str, Any]], gaps: Mapping[int, Any]
) -> list[dict[str, Any]]:
    """Each region: rule, rows, gap, how well its own curves describe it, and how far columns move the prediction."""
    fitted, values, again = source.fitted, source.values, source.granite.stability_
    explained = (
        {}
        if values is None
        else {scope.region: values.explained(scope) for scope in values.regions}
    )
    words = (
        [] if values is None else [each.sentences() for each in profiles(fitted, *values.by_row())]
    )
    found = []
    for each in fitted.partition:
        k, moves = each.index, _moves(drawn, each.index)
        shares = (each.fraction, each.disagreement, *gaps[k][:3])
        fraction, left, *gap = (float(share) if share == share else None for share in shares)
        told = {
            "region": k,
            "rule": str(each.rule),
            "conditions": spoken(each.rule, source.fitted.table),
        }
        told |= {
            "n_samples": each.n_samples,
            "fraction": fraction,
            "disagreement": left,
            "gap": gap,
        }
        told |= {
            "mean": float(fitted.additive.value.surrogate.regions[k].mean),
            "explained": explained.get(k),
        }
        told |= {
            "found_again": None if again is None or again.searches == 0 else again.overlaps[k],
            "moves": moves,
        }
        told |= {"profile": words[k] if words else [], "lead": sentences.region_lead(moves)}
        found.append(told | {"stop_reason": each.stop_reason, "small": each.n_samples < FEW_ROWS})
    return found


def _moves(drawn: Sequence[dict[str, Any]], region: int) -> list[dict[str, Any]]:
    """The columns that move the prediction most in a region, and how far they move it on all rows."""
    several = [
        (e["set"], e["panels"][0], e["panels"][region + 1]) for e in drawn if len(e["panels"]) > 1
    ]
    found = [
        {"set": name, "here": swing(own), "everywhere": swing(whole)}
        for name, whole, own in several
    ]
    found.sort(key=lambda each: -each["here"])
    return [each for each in found[:4] if each["here"] > 1e-9]


def importance(values: FitValues, resolved: ResolvedQuestion) -> dict[str, Any]:
    """Both sides of a question, a number for each set and scope: root mean square of local effects."""
    found = [values.question(resolved, scope) for scope in values.scopes]
    sizes, gaps = np.stack([each.sizes for each in found]), np.stack([each.gaps for each in found])
    for cells, share in (
        (sizes, 1e-12),
        (gaps, 1e-20),
    ):  # what is nothing beside the largest is rounding
        cells[np.abs(cells) < share * np.nan_to_num(np.abs(cells), posinf=0.0).max(initial=0.0)] = (
            0.0
        )
    keys, told = ("region", "first", "second", "gap"), zip(values.scopes, sizes, gaps, strict=True)
    lines = ((scope.region, *map(listed, (*both, gap))) for scope, both, gap in told)
    measure = (
        "typical size of the effect (root mean square)"
        if resolved.first.behavior.per_row
        else "importance"
    )
    order = np.argsort(-np.abs(np.nan_to_num(sizes[0])).max(axis=0), kind="stable").tolist()
    named = {
        **sides_named(resolved.question),
        "measure": measure,
        "sets": set_labels(resolved),
        "order": order,
    }
    return {**named, "scopes": [dict(zip(keys, line, strict=True)) for line in lines]}


def triage(
    source: ReportSource, importance: Mapping[str, Any], amounts: Amounts
) -> list[dict[str, Any]]:
    """What one explanation of each set shows and how far the other differs, in root units: all rows and each region."""
    inside = importance["scopes"][1:]
    counted = 0.0 if source.fitted.below_noise_floor else 1.0  # rounding is no gap
    mass, found = (
        np.array([region.n_samples for region in source.fitted.partition], dtype=np.float64),
        [],
    )
    for i, name in enumerate(importance["sets"]):
        told = [
            (scope["second"][i] or 0.0, scope["gap"][i] or 0.0) for scope in importance["scopes"]
        ]
        cells = [(abs(size), counted * amounts.root(gap)) for size, gap in told]
        within = (
            np.sqrt(np.average(np.square(cells[1:]), axis=0, weights=mass)).tolist()
            if inside
            else list(cells[0])
        )
        nodes = {str(s["region"]): list(cell) for s, cell in zip(inside, cells[1:], strict=True)}
        found.append(
            {
                "set": name,
                "shows": cells[0][0],
                "hides": cells[0][1],
                "within": within,
                "nodes": nodes,
            }
        )
    return sorted(found, key=lambda each: -max(each["hides"], 1e-3 * each["shows"]))


def effects(source: ReportSource, sizes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Curves of single columns in each scope; first those that disagree most and vary in several regions (leading)."""
    gaps = {each["set"]: (each["hides"], each["within"][1]) for each in sizes}
    names, scopes = source.fitted.table.names, _scopes(source)
    reach = {
        curve.column.position: _reach(source, scopes, place)
        for place, curve in enumerate(scopes[0][1].curves)
    }
    ranked = sorted((i for i in reach if reach[i] > 0), key=lambda i: -reach[i])
    compared = [i for i in ranked if _compared(source, scopes, source.fitted.table.columns[i])]
    leading = sorted(compared, key=lambda i: -gaps.get(names[i], (0.0,))[0])[:LEADING]
    drawn = (leading + [i for i in ranked if i not in leading])[:MOST_DRAWN]
    others = {} if source.values is None else _other_sides(source.values)
    return [
        {**_effect(source, scopes, i, others), "leading": i in leading, "gap": gaps.get(names[i])}
        for i in drawn
    ]


def _scopes(source: ReportSource) -> Scopes:
    """All rows and each region, with their curves; an older file knows the regions', whose mean is that of all rows."""
    fitted, known = source.fitted, source.fitted.additive.value
    parts = known.surrogate.regions
    inside: Scopes = list(enumerate(parts)) if len(parts) > 1 else []
    if known.everywhere is not None:
        return [(None, known.everywhere), *inside]
    shares = np.array([region.n_samples / source.n_rows for region in fitted.partition])
    means, curves = np.array([part.mean for part in parts]), []
    for same in zip(*(part.curves for part in parts), strict=True):
        around = shares @ (
            np.stack([curve.effects for curve in same]) + (means - shares @ means)[:, None]
        )
        curves.append(replace(same[0], effects=around))
    return [
        (None, RegionSurrogate(float(shares @ means), tuple(curves), parts[0].rows[:0])),
        *inside,
    ]


def _counts(source: ReportSource, column: Column, region: int | None = None) -> FloatArray:
    """Rows of each level, missing first; of a loaded object, which has no rows, one each."""
    codes = column.codes if region is None else column.codes[source.fitted.regions == region]
    counts = np.bincount(codes + 1, minlength=len(column.levels) + 1).astype(np.float64)
    return counts if len(codes) else np.append(0.0, np.ones(len(column.levels)))


def _reach(source: ReportSource, scopes: Scopes, place: int) -> float:
    """Root mean square of a column's curves, at the same place in every scope; less than rounding is nothing."""
    total, scale = 0.0, 0.0
    for region, part in scopes:
        curve = part.curves[place]
        counts = _counts(source, source.fitted.table.columns[curve.column.position], region)
        largest = (
            float(np.max(np.abs(curve.effects))) or 1.0
        )  # of predictions whose squares are no numbers as well
        mean = counts @ np.square(curve.effects / largest) / max(counts.sum(), 1.0)
        total, scale = float(np.hypot(total, largest * np.sqrt(mean))), max(scale, abs(part.mean))
    return total if total > 1e-12 * scale else 0.0


def _compared(source: ReportSource, scopes: Scopes, column: Column) -> bool:
    """Whether a column takes several values in two regions, or in the only one."""
    varies = [bool(np.count_nonzero(_counts(source, column, region)) > 1) for region, _ in scopes]
    return sum(varies[1:]) > 1 if len(varies) > 1 else varies[0]


def _effect(source: ReportSource, scopes: Scopes, position: int, others: Any) -> dict[str, Any]:
    column, values = source.fitted.table.columns[position], source.values
    counts, place = (
        _counts(source, column),
        [curve.column.position for curve in scopes[0][1].curves].index(position),
    )
    axis = PageAxis(column, scopes[0][1].curves[place].effects, counts, POINTS)
    bands = [] if values is None else values.bands(position, axis.at)
    panels: list[dict[str, Any]] = []
    for k, (region, part) in enumerate(scopes):
        own, curve = _counts(source, column, region), part.curves[place].effects
        inside, whole = axis.reaches(own), axis.at(curve, np.arange(len(curve))) + part.mean
        panel: dict[str, Any] = {
            "region": region,
            "centre": float(part.mean),
            "values": int(np.count_nonzero(own)),
        }
        panel |= {
            "curve": listed(whole),
            "rows": axis.bars(own).rows,
            **dict.fromkeys(Band._fields),
        }
        for key, each in {"mean": whole, **(bands[k]._asdict() if bands else {})}.items():
            panel[key] = listed(np.where(inside, each, np.nan))
        lines = others.get(column.name, ())
        panel["lines"] = [{"name": name, **_line(column, by[k], part.mean)} for name, by in lines]
        panels.append(panel)
    told = {
        "style": axis.style,
        "x": axis.x,
        "texts": [plain(text) for text in axis.texts],
        "log": axis.log,
    }
    told |= {
        "gone": axis.has_missing,
        "note": axis.note,
        "named": column.kind not in ("numeric", "date"),
    }
    return {
        "set": column.name,
        "kind": column.kind,
        **told,
        "bars": axis.bars(counts).middles,
        "panels": panels,
    }


def _other_sides(values: FitValues) -> dict[str, list[Any]]:
    """Local explanations other than ICE and PDP that were asked: name, rows and values by scope, for each column."""
    found: dict[str, list[Any]] = {}
    for resolved in values.fitted.comparisons:
        sides = {"first": resolved.question.first.name, "second": resolved.question.second.name}
        told = [key for key, name in sides.items() if name not in ("ice", "pdp")]
        if resolved.first.behavior.key == "local" and len(resolved.first.layout.sets) > 1 and told:
            known = [
                (scope.rows, values.question(resolved, scope).sides) for scope in values.scopes
            ]
            for key, (i, label) in itertools.product(told, enumerate(set_labels(resolved))):
                by_scope = [(rows, both[key == "second"][:, i]) for rows, both in known]
                found.setdefault(label, []).append((title(sides[key], key), by_scope))
    return found


def _line(column: Column, local: tuple[IntArray, FloatArray], mean: float) -> dict[str, Any]:
    """Mean of local effects in the tenths of a column that has an order, around the mean prediction."""
    if column.kind in ("nominal", "boolean"):
        return {"x": [], "y": []}
    rows, effects = local
    part = column.take(rows)
    bins, places = np.where(part.codes < 0, 0, dependence_bins(part)), places_of(column)[part.codes]
    used = [bins == b for b in np.unique(bins).tolist() if b > 0]
    return {
        "x": listed([places[b].mean() for b in used]),
        "y": listed([effects[b].mean() + mean for b in used]),
    }


def ledger(source: ReportSource) -> dict[str, Any]:
    """Explained variance: one curve per column, the same in each region, and the strongest pairs on top."""
    fitted, explained = source.fitted, source.fitted.additive.value
    steps = [{"step": source.unit, "explained": float(explained.global_fidelity)}]
    if len(fitted.partition) > 1:
        text = f"{source.unit} in each of {len(fitted.partition)} regions"
        steps.append({"step": text, "explained": float(explained.fidelity)})
    told: dict[str, Any] = {"steps": steps, "note": "", "pairs": []}
    order_two = isinstance(fitted.comparisons[0].question.first.influence, Interactions)
    # Pairs could add something where there are three of them, and the surrogate has none yet.
    if (
        source.values is None
        or len(fitted.layout.explained) <= 2
        or order_two
        or not explained.fidelity < 1 - 1e-9
    ):
        return told
    found = source.values.pairs()
    if found.needed:
        more = f"they would take {found.needed:,} more evaluations; the fit took {found.spent:,}"
        told["note"] = f"Pairs of columns are left out: {more}."
    if found.explained is not None:
        layout, names = (
            zip(fitted.layout.sets, fitted.layout.labels, strict=True),
            fitted.table.names,
        )
        named = {sets[0]: labels[0] for sets, labels in layout if len(sets) == 1}
        told["pairs"] = [
            [named.get(p) or ", ".join(names[i] for i in sorted(p)) for p in pair]
            for pair in found.pairs
        ]
        pairs = ", ".join(
            " with ".join(shortened(plain(name), 40) for name in pair) for pair in told["pairs"]
        )
        text = f"the joint effects of the strongest pairs: {pairs}"
        steps.append({"step": text, "explained": float(found.explained)})
    return told


def disagreement_map(values: FitValues) -> dict[str, Any]:
    """Share of each column in the disagreement of each question (others where they cost little), and what is left."""
    found: dict[str, dict[str, Any]] = {}
    cheap = values.table.n_rows * values.table.n_columns <= MANY_CELLS
    for resolved in (*values.fitted.comparisons, *(values.further_questions() if cheap else ())):
        asked, many = resolved.question, len(resolved.first.layout.sets) > 1
        gaps = values.gaps(resolved) if many and asked.label not in found else None
        if gaps is not None:
            total, left = (float(each.sum()) for each in gaps)
            whole = total or 1.0
            line: dict[str, Any] = {
                **sides_named(asked),
                "cause": cause(asked),
                "behavior": asked.behavior.key,
            }
            line |= {
                "disagreement": total,
                "remaining": left / whole,
                "shares": listed(gaps[0] / whole),
            }
            found[asked.label] = {**line, "sets": set_labels(resolved)}
    sets = set_labels(values.fitted.comparisons[0])
    return {"sets": sets, "questions": [line for line in found.values() if line["sets"] == sets]}
