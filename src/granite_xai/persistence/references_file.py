"""What maskings learned from the fitting rows: bins, baseline rows, and the intervals of accumulated effects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.files import broken, entry, members, position, positions
from granite_xai.masking.accumulated import AleIntervals
from granite_xai.masking.fitted import FittedMaskings
from granite_xai.masking import Baseline, Conditional
from granite_xai.persistence.bins_file import bins_from_dict, bins_to_dict
from granite_xai.persistence.effects_file import mask_from_text, mask_to_text
from granite_xai.persistence.models import has_rows
from granite_xai.persistence.rows import without_rows
from granite_xai.persistence.values import value_from_json, value_to_json
from granite_xai.tables import rows_from_dict, rows_to_dict

if TYPE_CHECKING:
    from granite_xai.tables import Table


def reference_to_dict(reference: FittedMaskings, table: Table) -> dict[str, Any]:
    """Write a reference; no row of the data is in it."""
    return {
        "bins": [
            {"masking": value_to_json(masking, "masking"), "visible": mask_to_text(visible), **bins_to_dict(bins)}
            for (masking, visible), bins in reference.bins.items()
        ],
        "baselines": [
            {"masking": value_to_json(masking, "masking"), "row": rows_to_dict(row)}
            for masking, row in reference.baselines.items()
        ],
        "steps": [_steps_to_dict(steps, table) for steps in reference.steps.values()],
    }


def reference_from_dict(data: object, table: Table, place: str) -> FittedMaskings:
    """Read what `reference_to_dict` wrote."""
    bins = {}
    for i, item in enumerate(members(data, "bins", place)):
        here = f"{place}.bins[{i}]"
        masking = _masking(item, Conditional, here)
        visible = mask_from_text(entry(item, "visible", str, here), table.n_columns, f"{here}.visible")
        bins[masking, visible] = bins_from_dict(item, table, here)
    baselines = {}
    for i, item in enumerate(members(data, "baselines", place)):
        here = f"{place}.baselines[{i}]"
        row = rows_from_dict(entry(item, "row", dict, here), table, f"{here}.row")
        if row.n_rows != 1:
            raise broken(f"{here}.row", "is not one row")
        baselines[_masking(item, Baseline, here)] = row
    steps = [
        _steps_from_dict(item, table, f"{place}.steps[{i}]") for i, item in enumerate(members(data, "steps", place))
    ]
    return FittedMaskings(bins, baselines, {step.fitted.position: step for step in steps})


def _masking(data: object, kind: type[Any], place: str) -> Any:
    masking = value_from_json(entry(data, "masking", dict, place), f"{place}.masking")
    try:
        hash(masking)
    except TypeError as error:
        raise broken(f"{place}.masking", "has a row that is no list of cells") from error
    if not isinstance(masking, kind):
        raise broken(f"{place}.masking", f"is no {kind.__name__}")
    return masking


def _steps_to_dict(steps: AleIntervals, table: Table) -> dict[str, Any]:
    column = steps.fitted.position
    # The ends were rows of the data; of these only the column itself is read.
    ends = without_rows(steps.ends, column, table) if has_rows(table) else steps.ends
    return {"column": column, "edges": steps.edges.tolist(), "ends": rows_to_dict(ends)}


def _steps_from_dict(data: object, table: Table, place: str) -> AleIntervals:
    column = table.columns[position(data, "column", place, table.n_columns)]
    edges = positions(data, "edges", place, max(1, len(column.levels)))
    ends = rows_from_dict(entry(data, "ends", dict, place), table, f"{place}.ends")
    if len(edges) != ends.n_rows or len(edges) < 2 or np.any(np.diff(edges) <= 0):
        raise broken(f"{place}.edges", "do not ascend, or have no rows")
    return AleIntervals(column, edges, ends)
