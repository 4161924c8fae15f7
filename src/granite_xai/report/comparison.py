"""The page of a comparison: what changed, the figures of every region, and the curves of all cases."""

from __future__ import annotations

from typing import Any

from granite_xai.base.files import write_text
from granite_xai.base.wording import plain
from granite_xai.comparison import CaseCurve, Comparison
from granite_xai.display.axis import places_on_page
from granite_xai.report.page import render
from granite_xai.report.panels import axis_of, short_rule
from granite_xai.report.sentences import listed
from granite_xai.tables import Column

MOST_DRAWN = 12


def page(found: Comparison, path: Any = None) -> str:
    """One self-contained page; also written to a path."""
    text = render(_story(found), "comparison.html")
    if path is not None:
        write_text(path, text)
    return text


def _story(found: Comparison) -> dict[str, Any]:
    opening, *further = found.sentences(12)
    regions = [{"region": r.index, "rule": str(r.rule), "short": short_rule(r.rule)} for r in found.partition]
    return {
        "title": " and ".join(map(plain, found.names)),
        "opening": opening,
        "further": further,
        "names": list(map(plain, found.names)),
        "regions": regions,
        "table": [list(line) for line in found.lines()],
        "effects": [_effect(found, i) for i in found.columns[:MOST_DRAWN]],
        "importances": [],
    }


def _effect(found: Comparison, position: int) -> dict[str, Any]:
    """One panel a region: the first case with its interval, the others as lines."""
    column = found.cases[0].values.table.columns[position]
    panels: dict[int, dict[str, Any]] = {}
    for case, scope, curve in found.curves(position):
        x = _places(column, case.values.table.columns[position], curve)
        if case is found.cases[0]:
            drawn = {key: listed(getattr(curve, key)) for key in ("mean", "low", "high")}
            panels[scope.region or 0] = {"region": scope.region, "x": x, **drawn, "curves": [], "lines": []}
        elif (scope.region or 0) in panels:
            kept = [(at, y) for at, y in zip(x, listed(curve.mean), strict=True) if at is not None]
            line = {"name": plain(case.name), "x": [at for at, _ in kept], "y": [y for _, y in kept]}
            panels[scope.region or 0]["lines"].append(line)
    return axis_of(column, list(panels.values()))


def _places(column: Column, own: Column, curve: CaseCurve) -> list[Any]:
    """Where a case's levels lie on the axis of the first case; None for a label that it does not have."""
    if column.kind in ("numeric", "date"):
        return places_on_page(own, curve.codes)
    ranks = {level: float(i) for i, level in enumerate(column.levels.tolist())}
    return [ranks.get(level) for level in own.levels[curve.codes].tolist()]
