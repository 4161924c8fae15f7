"""Explanations and evaluations in the types of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.files import broken, entry, members, number, numbers, positions, texts
from granite_xai.base.typing import FloatArray
from granite_xai.explanation import Explanation, Part
from granite_xai.new_rows import Evaluation
from granite_xai.tables import outline_from_dict, outline_to_dict, require_rows, rows_from_dict, rows_to_dict

if TYPE_CHECKING:
    from granite_xai.tables import Table

_MOST_ROWS = 2**40


def explanation_to_dict(explanation: Explanation, include_data: bool) -> dict[str, Any]:
    """Write the values; the explained rows only if wanted."""
    return {
        "sets": [list(names) for names in explanation.sets],
        "parts": [_part_to_dict(part) for part in explanation.parts],
        **_table_to_dict(explanation.table, include_data),
    }


def explanation_from_dict(data: object, place: str) -> Explanation:
    """Read what `explanation_to_dict` wrote."""
    sets = members(data, "sets", place)
    if not sets or not all(isinstance(names, list) and all(isinstance(n, str) for n in names) for names in sets):
        raise broken(f"{place}.sets", "is not a list of names")
    items = members(data, "parts", place)
    if not items:
        raise broken(f"{place}.parts", "is empty")
    parts = tuple(_part_from_dict(item, len(sets), f"{place}.parts[{i}]") for i, item in enumerate(items))
    return Explanation(tuple(tuple(names) for names in sets), parts, _table_from_dict(data, place))


def evaluation_to_dict(evaluation: Evaluation, include_data: bool) -> dict[str, Any]:
    """Write the figures; the evaluated rows only if wanted."""
    return {
        "rules": list(evaluation.rules),
        "counts": [int(count) for count in evaluation.counts],
        "regional": _gaps(evaluation.regional),
        "by_region": _gaps(evaluation.by_region),
        "disagreement": evaluation.disagreement,
        "global_disagreement": evaluation.global_disagreement,
        **_table_to_dict(evaluation.table, include_data),
    }


def evaluation_from_dict(data: object, place: str) -> Evaluation:
    """Read what `evaluation_to_dict` wrote."""
    rules = texts(data, "rules", place)
    counts = positions(data, "counts", place, _MOST_ROWS)
    if not rules or len(counts) != len(rules) or not counts.sum():
        raise broken(f"{place}.counts", "is not one number of rows for each rule")
    return Evaluation(
        tuple(rules),
        tuple(counts.tolist()),
        numbers(data, "regional", place, count=len(rules), gaps=True),
        numbers(data, "by_region", place, count=len(rules), gaps=True),
        number(data, "disagreement", place),
        number(data, "global_disagreement", place),
        _table_from_dict(data, place),
    )


def _part_to_dict(part: Part) -> dict[str, Any]:
    return {
        "region": int(part.region),
        "name": part.name,
        "rows": None if part.rows is None else part.rows.tolist(),
        "values": _gaps(part.values.ravel()),
        "errors": _gaps(part.errors.ravel()),
        "base": part.base.tolist(),
    }


def _part_from_dict(data: object, n_sets: int, place: str) -> Part:
    rows = None
    shape: tuple[int, ...] = (n_sets,)
    if entry(data, "rows", object, place) is not None:
        rows = positions(data, "rows", place, _MOST_ROWS)
        shape = (len(rows), n_sets)
    values, errors = (
        numbers(data, key, place, count=int(np.prod(shape)), gaps=True).reshape(shape) for key in ("values", "errors")
    )
    region, name = entry(data, "region", int, place), entry(data, "name", str, place)
    if region < 0:
        raise broken(f"{place}.region", "is below 0")
    base = numbers(data, "base", place, count=1 if rows is None else len(rows))
    return Part(region, name, rows, values, errors, base)


def _table_to_dict(table: Table, include_data: bool) -> dict[str, Any]:
    if include_data:
        require_rows(table, "include_data=True")
    return {"table": outline_to_dict(table, grids=False), "rows": rows_to_dict(table) if include_data else None}


def _table_from_dict(data: object, place: str) -> Table:
    outline = outline_from_dict(entry(data, "table", dict, place), f"{place}.table")
    if entry(data, "rows", object, place) is None:
        return outline
    return rows_from_dict(entry(data, "rows", dict, place), outline, f"{place}.rows")


def _gaps(values: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else value for value in values.tolist()]
