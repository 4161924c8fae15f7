"""Loading what was saved.

Nothing in a file is run, and what it holds is checked.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import entry, read_json, require
from granite_xai.estimator import Granite
from granite_xai.explanation.result import Explanation
from granite_xai.fitting.evaluation import Evaluation
from granite_xai.persistence.document import KINDS, TIMES, Saved, checksum, kind_of, without_unit
from granite_xai.persistence.findings import check_findings
from granite_xai.persistence.fitted import granite_from_dict
from granite_xai.persistence.forms import structure
from granite_xai.persistence.times import put_back
from granite_xai.regions import Partition
from granite_xai.tables import Table, outline_from_dict, rows_from_dict


def load(path: str | os.PathLike[str], model: Any = None, verify: bool = True) -> Saved:
    """Load what `save` wrote. Nothing in a file is ever run, and what it holds is checked first.

    Parameters
    ----------
    model : object, optional
        The model of a saved Granite. It is asked about up to 1,000 rows, some of every region, and its predictions
        must be those it had; ``diagnostics_["loaded"]`` says how many were compared. Without it the object applies,
        prints and predicts from its curves, and everything that has to ask the model is an error.
    verify : bool
        Refuse a file that was changed after it was saved. The checksum notices accidents; it is no signature.

    Raises
    ------
    FormatError or ModelError
        F04 broken or changed file, F05 hostile file, F06 pickle, F07 file of another version; F09 another model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(gx.save(g, Path(folder) / "g.json"), model=toy.model)
    >>> [str(region.rule) for region in again.partition_]
    ['x2 ≤ 0', 'x2 > 0']
    """
    checksums: list[str] = []
    data = read_json(path, lambda raw: checksums.append(checksum(raw)))
    kind = kind_of(data)
    if verify and entry(data, "sha256", str, "the file") != checksums[0]:
        raise FormatError(
            f"{path} was changed after it was saved: its checksum is not that of its content.",
            code="F04",
            argument="path",
            hint="Save again, or pass verify=False to load it.",
        )
    content = entry(data, kind, dict, "the file")
    if model is not None and kind != "granite":
        message = f"the file holds a saved {kind}, which has no model."
        raise InputError(message, code="P03", argument="model", hint="Leave model out.")
    if kind == "partition":
        return Partition.from_dict(content)
    if kind == "granite":
        return _read_granite(data, content, model)
    table = _read_table(data)
    loaded: Explanation | Evaluation = structure(table).read(
        without_unit(content, "ratios"), KINDS[kind], kind
    )
    if isinstance(loaded, Evaluation):
        _check_evaluation(loaded, kind)
    else:
        _check_explanation(loaded, kind)
    return loaded


def _read_granite(data: dict[str, Any], content: dict[str, Any], model: Any) -> Granite:
    table = _read_table(data, outline_has_levels=True)
    granite = granite_from_dict(content, model, table, "granite")
    if TIMES in data:
        require(list(data)[-1] == TIMES, TIMES, "are not the last entry of the file")
        put_back(granite.diagnostics_, data[TIMES], TIMES)
        check_findings(granite.diagnostics_, TIMES)
    return granite


def _read_table(data: Any, outline_has_levels: bool = False) -> Table:
    """The table of a file, with its rows if the file holds them.

    ``outline_has_levels``: the outline of the table has the levels of its columns, and rows must have the same.
    """
    outline = outline_from_dict(entry(data, "table", dict, "the file"), "table")
    if entry(data, "rows", object, "the file") is None:
        return outline
    table = rows_from_dict(data["rows"], outline, "rows")
    if outline_has_levels:
        for column, outlined in zip(table.columns, outline.columns, strict=False):
            has_levels = outlined.passes or np.array_equal(column.levels, outlined.levels)
            what = f"have other levels in column {column.name!r} than the table"
            require(has_levels, "rows", what)
    return table


def _check_evaluation(evaluation: Evaluation, place: str) -> None:
    """Numbers must be as many as the rules."""
    n_rules = len(evaluation.rules)
    counts = evaluation.counts
    are_counts = len(counts) == n_rules > 0 and min(counts) >= 0 and sum(counts) > 0
    require(are_counts, f"{place}.counts", "is not one number of rows for each rule")
    has_shape = evaluation.regional.shape == evaluation.by_region.shape == (n_rules,)
    require(has_shape, f"{place}.regional", "is not one number for each rule")


def _check_explanation(explanation: Explanation, place: str) -> None:
    """Numbers must be as many as what they are of: rows and sets."""
    require(explanation.sets and explanation.parts, place, "has no sets or no parts")
    for position, part in enumerate(explanation.parts):
        place_of_part = f"{place}.parts[{position}]"
        shape_of_rows: tuple[int, ...] = ()
        has_numbers = part.region >= 0
        if part.rows is not None:
            shape_of_rows = part.rows.shape
            are_rows = len(shape_of_rows) < 2 and bool(np.all(part.rows >= 0))
            has_numbers = has_numbers and are_rows
        require(has_numbers, place_of_part, "has a region or a row below 0")
        shape = (*shape_of_rows, len(part.sets or explanation.sets))
        has_values = part.values.shape == part.errors.shape == shape
        has_base = part.base.shape == (shape_of_rows or (1,))
        what = f"do not have the shape {shape} of rows and sets"
        require(has_values and has_base, f"{place_of_part}.values", what)
