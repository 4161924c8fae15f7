"""The regional surrogate: means, and curves on the values of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.files import broken, members, number, numbers, position
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.persistence.effects_file import mask_from_text, mask_to_text
from granite_xai.surrogate import Curve, RegionSurrogate, Surrogate

if TYPE_CHECKING:
    from granite_xai.tables import Table


def surrogate_to_dict(surrogate: Surrogate) -> dict[str, Any]:
    """Write G in every region."""
    return {
        "effects": [[mask_to_text(player) for player in part] for part in surrogate.effects],
        "regions": [
            {
                "mean": region.mean,
                "curves": [{"column": c.column.position, "effects": c.effects.tolist()} for c in region.curves],
            }
            for region in surrogate.regions
        ],
    }


def surrogate_from_dict(
    data: object, table: Table, weights: FloatArray, regions: IntArray, count: int, place: str
) -> Surrogate:
    """Read what `surrogate_to_dict` wrote, with the fitting rows of each region where there are any."""
    effects = []
    for i, item in enumerate(members(data, "effects", place)):
        if not isinstance(item, list) or not item:
            raise broken(f"{place}.effects[{i}]", "is not a list of players")
        effects.append(tuple(mask_from_text(text, table.n_columns, f"{place}.effects[{i}]") for text in item))
    items = members(data, "regions", place)
    if len(items) != count:
        raise broken(f"{place}.regions", f"has {len(items)} entries for {count} regions")
    parts = [
        _region(item, table, np.flatnonzero(regions == k), f"{place}.regions[{k}]") for k, item in enumerate(items)
    ]
    return Surrogate(tuple(effects), tuple(parts), table, weights)


def _region(data: object, table: Table, rows: IntArray, place: str) -> RegionSurrogate:
    curves = tuple(_curve(item, table, f"{place}.curves[{i}]") for i, item in enumerate(members(data, "curves", place)))
    return RegionSurrogate(number(data, "mean", place), curves, rows)


def _curve(data: object, table: Table, place: str) -> Curve:
    column = table.columns[position(data, "column", place, table.n_columns)]
    return Curve(column, numbers(data, "effects", place, count=len(column.levels) + 1))
