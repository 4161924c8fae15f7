"""A fitted Granite in the types of JSON, without its model and, unless wanted, without its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.files import broken, entry, members, number, numbers
from granite_xai.compute import Resources
from granite_xai.disagreement import ResolvedQuestion
from granite_xai.estimator import Granite
from granite_xai.fit import FitResult
from granite_xai.masking.fitted import FittedMaskings, Reading
from granite_xai.masking import Baseline, Conditional
from granite_xai.models import Predictor, as_predictor
from granite_xai.persistence.effects_file import comparison_from_dict, comparison_to_dict
from granite_xai.persistence.models import Detached, Fingerprint, has_rows
from granite_xai.persistence.references_file import reference_from_dict, reference_to_dict
from granite_xai.persistence.surrogates_file import surrogate_from_dict, surrogate_to_dict
from granite_xai.persistence.values import value_from_json, value_to_json
from granite_xai.regions.partition import Partition
from granite_xai.tables import Table, outline_from_dict, outline_to_dict, require_rows, rows_from_dict, rows_to_dict

_SHARES = ("remaining", "fidelity", "global_fidelity")


def granite_to_dict(granite: Granite, include_data: bool) -> dict[str, Any]:
    """Write a fitted Granite; the model is left out."""
    check_is_fitted(granite)
    fitted: FitResult = granite._fitted
    parameters = {name: value for name, value in granite.get_params(deep=False).items() if name != "model"}
    data: dict[str, Any] = {
        "parameters": {name: value_to_json(value, name) for name, value in parameters.items()},
        "table": outline_to_dict(fitted.table, grids=True),
        "partition": fitted.partition.to_dict(),
        "questions": [comparison_to_dict(comparison) for comparison in fitted.comparisons],
        "question_weights": [float(weight) for weight in fitted.question_weights],
        "roots": fitted.roots.tolist(),
        "floors": fitted.floors.tolist(),
        **{name: getattr(fitted, name) for name in _SHARES},
        "missing": fitted.missing,
        "centres": [[region, row] for region, row in fitted.centres.items()],
        "reference": reference_to_dict(fitted.reference, fitted.table),
        "surrogate": surrogate_to_dict(fitted.surrogate),
        "model": _fingerprint(granite, include_data).to_dict(),
        "diagnostics": value_to_json(granite.diagnostics_, "diagnostics_"),
        "learned": {name: value_to_json(value, name) for name, value in fitted.learned.items()},
        "rows": None,
    }
    if include_data:
        require_rows(fitted.table, "include_data=True")
        data["rows"] = {"table": rows_to_dict(fitted.table), "weights": fitted.weights.tolist()}
    return data


def granite_from_dict(data: object, model: Any, place: str) -> Granite:
    """Read what `granite_to_dict` wrote, and check the model if one is given."""
    parameters = _parameters(entry(data, "parameters", dict, place), f"{place}.parameters")
    outline = outline_from_dict(entry(data, "table", dict, place), f"{place}.table")
    table, weights = outline, np.empty(0)
    if entry(data, "rows", object, place) is not None:
        table, weights = _rows(entry(data, "rows", dict, place), outline, f"{place}.rows")
    fingerprint = Fingerprint.from_dict(entry(data, "model", dict, place), outline, f"{place}.model")
    findings = value_from_json(entry(data, "diagnostics", dict, place), f"{place}.diagnostics")
    if not isinstance(findings, dict):
        raise broken(f"{place}.diagnostics", "is not a set of findings")
    granite = Granite(model, **parameters)
    fitted = _fitted(data, table, weights, cast(Predictor, Detached(fingerprint)), place)
    if model is not None:
        fitted = _attached(granite, fitted, fingerprint)
    granite._keep(fitted, _Remembered(findings))
    granite.__dict__["_fingerprint"] = fingerprint
    return granite


def _fingerprint(granite: Granite, include_data: bool) -> Fingerprint:
    """Ask the model; a loaded object that has no rows, or no model, keeps the answers it came with."""
    fitted: FitResult = granite._fitted
    if has_rows(fitted.table) and not isinstance(fitted.predictor, Detached):
        return Fingerprint.of(fitted.predictor, fitted.table, include_data)
    kept: Fingerprint = granite._fingerprint
    return kept


def _attached(granite: Granite, fitted: FitResult, fingerprint: Fingerprint) -> FitResult:
    batch_size = None if granite.resources is None else granite.resources.batch_size
    predictor = as_predictor(granite.model, output=granite.output, response=granite.response, batch_size=batch_size)
    fingerprint.check(predictor)
    return replace(fitted, predictor=predictor)


def _parameters(data: dict[str, Any], place: str) -> dict[str, Any]:
    unknown = sorted(set(data) - (set(Granite._get_param_names()) - {"model"}))
    if unknown:
        raise broken(place, f"has {unknown[0][:60]!r}, which is not known")
    made = {name: value_from_json(value, f"{place}.{name}") for name, value in data.items()}
    if not isinstance(made.get("resources"), Resources | None):
        raise broken(f"{place}.resources", "is not a set of limits")
    return made


def _rows(data: dict[str, Any], outline: Table, place: str) -> tuple[Table, Any]:
    table = rows_from_dict(entry(data, "table", dict, place), outline, f"{place}.table")
    for column, known in zip(table.columns, outline.columns, strict=True):
        if len(column.levels) != len(known.levels) or not np.all(column.levels == known.levels):
            raise broken(f"{place}.table", f"has other levels in column {column.name!r} than the outline")
    weights = numbers(data, "weights", place, count=table.n_rows)
    if np.any(weights <= 0):
        raise broken(f"{place}.weights", "are not all above 0")
    return table, weights


def _fitted(data: object, table: Table, weights: Any, predictor: Predictor, place: str) -> FitResult:
    partition = Partition.from_dict(entry(data, "partition", dict, place))
    questions = members(data, "questions", place)
    if not questions:
        raise broken(f"{place}.questions", "is empty")
    comparisons = tuple(
        comparison_from_dict(item, table.n_columns, f"{place}.questions[{i}]") for i, item in enumerate(questions)
    )
    reference = reference_from_dict(entry(data, "reference", dict, place), table, f"{place}.reference")
    _check_reference(comparisons, reference, place)
    if partition.names != table.names:
        raise broken(f"{place}.partition.names", "are not those of the table")
    regions = partition.apply(table) if has_rows(table) else np.empty(0, dtype=np.intp)
    surrogate = surrogate_from_dict(
        entry(data, "surrogate", dict, place), table, weights, regions, len(partition), f"{place}.surrogate"
    )
    amounts = {key: numbers(data, key, place, count=len(questions)) for key in ("roots", "floors", "question_weights")}
    shares: dict[str, Any] = {name: number(data, name, place) for name in _SHARES}
    return FitResult(
        table=table,
        predictor=predictor,
        comparisons=comparisons,
        question_weights=tuple(amounts["question_weights"].tolist()),
        reference=reference,
        partition=partition,
        regions=regions,
        weights=weights,
        roots=amounts["roots"],
        floors=amounts["floors"],
        centres=_centres(data, table, len(partition), place),
        surrogate=surrogate,
        missing=entry(data, "missing", bool, place),
        learned=_learned(entry(data, "learned", dict, place), f"{place}.learned"),
        **shares,
    )


def _learned(data: dict[str, Any], place: str) -> dict[str, Any]:
    """What a partitioner found besides the regions becomes attributes: no name of ours may be among them."""
    for name in data:
        if not name.isidentifier() or not name.endswith("_") or name.startswith("_") or hasattr(Granite, name):
            raise broken(place, f"has {name[:60]!r}, which is no name of a finding")
    return {name: value_from_json(value, f"{place}.{name}") for name, value in data.items()}


def _check_reference(comparisons: Iterable[ResolvedQuestion], reference: FittedMaskings, place: str) -> None:
    """Whatever a question reads must have been learned: otherwise the file would fail only when it is used."""
    for comparison in comparisons:
        for masking, visible in _readings(comparison, place):
            needs_bins = isinstance(masking, Conditional) and (masking, visible) not in reference.bins
            fixed = isinstance(masking, Baseline) and masking.row != "region"
            if needs_bins or (fixed and masking not in reference.baselines):
                raise broken(f"{place}.reference", "does not hold what a question reads")


def _readings(comparison: ResolvedQuestion, place: str) -> set[Reading]:
    try:
        return comparison.first.readings() | comparison.second.readings()
    except TypeError as error:
        raise broken(f"{place}.questions", "have terms or baselines that cannot be read") from error


def _centres(data: object, table: Table, regions: int, place: str) -> dict[int | None, int]:
    centres: dict[int | None, int] = {}
    for i, pair in enumerate(members(data, "centres", place)):
        here = f"{place}.centres[{i}]"
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[1]) is not int:
            raise broken(here, "is not a region and a row")
        if pair[0] is not None and (type(pair[0]) is not int or not 0 <= pair[0] < regions):
            raise broken(here, "names a region that does not exist")
        if not 0 <= pair[1] < (table.n_rows if has_rows(table) else math.inf):
            raise broken(here, "names a row that does not exist")
        centres[pair[0]] = pair[1]
    if centres and len(centres) != regions + 1:
        raise broken(f"{place}.centres", "do not name one row for each region")
    return centres


class _Remembered(Diagnostics):
    """What an earlier run noticed and spent."""

    def __init__(self, findings: dict[str, Any]) -> None:
        super().__init__()
        self._findings = findings

    def as_dict(self) -> dict[str, Any]:
        return self._findings
