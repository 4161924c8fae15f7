"""A fitted Granite in the types of JSON, without its rows unless wanted."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.files import Structure, broken, entry, require
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.estimator import Granite, set_fitted_attributes
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.models import Predictor, as_predictor, joint_predictor
from granite_xai.persistence.checks import has_rows
from granite_xai.persistence.consistency import check_consistency
from granite_xai.persistence.detached import Detached
from granite_xai.persistence.document import without_unit
from granite_xai.persistence.findings import check_by_question, check_findings
from granite_xai.persistence.fingerprint import Fingerprint
from granite_xai.persistence.forms import structure
from granite_xai.persistence.made_up_rows import synthetic_rows
from granite_xai.persistence.questions import Resolution, as_learned, resolve_again
from granite_xai.persistence.times import without_times
from granite_xai.surrogate.additive import SurrogateFit
from granite_xai.tables import Column, Table, read_alike, recombine

LOADED = "loaded"
"""What loading adds to the findings; a file does not hold it."""

_WRITTEN_APART = ("table", "predictor", "comparisons", "fingerprint", "outputs", "additive")
"""Fields of a fit that stand elsewhere in the file, or not at all."""


def granite_to_dict(granite: Granite, include_data: bool) -> dict[str, Any]:
    """Write a fitted Granite; the model is left out.

    Parameters
    ----------
    granite : Granite
        A fitted one.
    include_data : bool
        Whether the file holds the rows.

    Returns
    -------
    dict
        In the types of JSON.
    """
    view = fitted_view(granite, several=True)
    result = view.result
    form = structure(result.table, by_row=include_data)
    parameters = granite.get_params(deep=False)
    del parameters["model"]
    questions = [question for question in result.comparisons if not question.output]
    resolutions = [Resolution.of(question) for question in questions]
    findings = without_times(view.diagnostics)
    findings.pop(LOADED, None)
    without_rows = replace(result, reference=_without_rows(result.reference, result.table))
    return {
        "parameters": {name: form.write(value, Any, name) for name, value in parameters.items()},
        "model": form.write(_fingerprint(result, include_data), Fingerprint, "model"),
        "questions": form.write(resolutions, list[Resolution], "questions"),
        "diagnostics": form.write(findings, dict[str, Any], "diagnostics_"),
        "fitted": {
            **form.write(without_rows, FitResult, "fitted", _WRITTEN_APART),
            **form.write(result.additive.value, SurrogateFit, "fitted"),
        },
        "outputs": [
            granite_to_dict(granite.of_output(name), include_data) for name in result.outputs
        ],
    }


def _fingerprint(result: FitResult, include_data: bool) -> Any:
    """What the model answers; for a loaded fit without rows or model, what its file said."""
    if not has_rows(result.table) or isinstance(result.predictor, Detached):
        return result.fingerprint
    return Fingerprint.of(result.predictor, result.table, result.regions, with_data=include_data)


def granite_from_dict(data: dict[str, Any], model: Any, table: Table, place: str) -> Granite:
    """Read what `granite_to_dict` wrote, and check the model if one is given.

    Parameters
    ----------
    data : dict
        What the file holds.
    model : object or None
        The model of the fit.
    table : Table
        That of the file.
    place : str
        Where the fit stands in the file.

    Returns
    -------
    Granite
        Fitted; without a model, whatever would ask it is an error (F09).
    """
    form = structure(table, by_row=has_rows(table))
    granite = _unfitted(form, data, model, place)
    fingerprint: Fingerprint = _read_entry(form, data, "model", Fingerprint, place)
    fingerprint.require_rows_of(table, f"{place}.model")
    findings: dict[str, Any] = _read_entry(form, data, "diagnostics", dict[str, Any], place)
    check_findings(findings, f"{place}.diagnostics")
    seed = entry(findings, "seed", int, f"{place}.diagnostics")
    resolutions = form.read(
        entry(data, "questions", list, place), list[Resolution], f"{place}.questions"
    )
    predictor = cast(Predictor, Detached(fingerprint))
    questions = resolve_again(granite, resolutions, seed, predictor, table, place)
    outputs = _read_outputs(data, model, table, findings, place)
    if outputs:
        predictor = joint_predictor({name: result.predictor for name, result in outputs.items()})
        questions = _about_each_output(questions, outputs)
    elif model is not None:
        predictor = _predictor(granite)
        findings[LOADED] = {"compared_predictions": fingerprint.check(predictor, table)}
    labels = [question.question.label for question in questions]
    check_by_question(findings, labels, f"{place}.diagnostics")
    result = _read_result(
        form,
        data,
        place,
        table=table,
        predictor=predictor,
        comparisons=questions,
        fingerprint=fingerprint,
        outputs=outputs,
    )
    check_consistency(result, f"{place}.fitted")
    set_fitted_attributes(granite, result, findings)
    return granite


def _read_entry(form: Structure, data: dict[str, Any], name: str, hint: Any, place: str) -> Any:
    """One entry of a file, which is an object there."""
    return form.read(entry(data, name, dict, place), hint, f"{place}.{name}")


def _unfitted(form: Structure, data: dict[str, Any], model: Any, place: str) -> Granite:
    """A Granite with the parameters of the file."""
    parameters = _read_entry(form, data, "parameters", dict[str, Any], place)
    parameters.setdefault("confidence_level", None)  # the first edition knew nothing of chance
    options = inspect.signature(Granite).parameters.keys() - {"model"}
    for name in sorted(parameters.keys() - options):
        raise broken(f"{place}.parameters", f"has {name[:60]!r}, which is not known")
    granite = Granite(model, **parameters)
    if not isinstance(granite.resources, Resources | None):
        raise broken(f"{place}.parameters.resources", "is not a set of limits")
    return granite


def _read_outputs(
    data: dict[str, Any], model: Any, table: Table, findings: dict[str, Any], place: str
) -> dict[Any, FitResult]:
    """The fits of single outputs by their names, where all outputs were explained; otherwise none.

    Where a model was compared with the file, ``findings`` is told how many answers that were.
    """
    outputs: dict[Any, FitResult] = {}
    if "outputs" not in data:
        return outputs
    place_of_outputs = f"{place}.outputs"
    for part in entry(data, "outputs", list, place):
        of_output = granite_from_dict(part, model, table, place_of_outputs)
        name = of_output.output
        is_new_name = isinstance(name, str | int | float) and name not in outputs
        is_one_output = is_new_name and not of_output.outputs_
        what = f"have {name!r:.60}, which is no name of one output"
        require(is_one_output, place_of_outputs, what)
        outputs[name] = fitted_view(of_output).result
        if LOADED in of_output.diagnostics_:
            findings[LOADED] = of_output.diagnostics_[LOADED]
    return outputs


def _about_each_output(
    questions: tuple[ResolvedQuestion, ...], outputs: Mapping[Any, FitResult]
) -> tuple[ResolvedQuestion, ...]:
    """The questions of a fit of all outputs: each about every output."""
    about_outputs = []
    for number, name in enumerate(outputs):
        for question in questions:
            label = f"{question.question.label} of {name}"
            about_outputs.append(question.about_output(number, label))
    return tuple(about_outputs)


def _predictor(granite: Granite) -> Predictor:
    resources = granite.resources or Resources()
    return as_predictor(
        granite.model,
        output=granite.output,
        response=granite.response,
        batch_size=resources.batch_size,
        n_jobs=granite.n_jobs,
        device=resources.device,
        block=resources.block,
    )


def _read_result(
    form: Structure, data: dict[str, Any], place: str, **fields_apart: Any
) -> FitResult:
    """Read the fit and its surrogate, which stand in one object of the file."""
    place_of_fit = f"{place}.fitted"
    saved = without_unit(entry(data, "fitted", dict, place), "exponent")
    of_surrogate = SurrogateFit.__dataclass_fields__
    surrogate_part = {name: part for name, part in saved.items() if name in of_surrogate}
    fit_part = {name: part for name, part in saved.items() if name not in of_surrogate}
    additive: SurrogateFit = form.read(surrogate_part, SurrogateFit, place_of_fit)
    fields_apart["additive"] = Deferred(lambda: additive, now=True)
    result: FitResult = form.read(fit_part, FitResult, place_of_fit, fields_apart)
    questions = [as_learned(question, result.reference) for question in result.comparisons]
    return replace(result, comparisons=tuple(questions))


def _without_rows(learned: Any, table: Table) -> Any:
    """What maskings learned, without rows of the data; dicts and dataclasses are searched to the ground.

    An object that holds a column and a table, such as the intervals of ALE, reads only that column of the table: its
    other columns are made up. Tables elsewhere are kept, such as a baseline, which the masking made or was given.
    """
    if isinstance(learned, dict):
        return {key: _without_rows(value, table) for key, value in learned.items()}
    is_ground = not is_dataclass(learned) or isinstance(learned, Table | Column | type)
    if is_ground or not has_rows(table):
        return learned
    parts = {field.name: getattr(learned, field.name) for field in fields(learned)}
    columns = [part for part in parts.values() if isinstance(part, Column)]
    if not columns:
        inner = {name: _without_rows(part, table) for name, part in parts.items()}
        return replace(learned, **inner)
    made_up = {}
    for name, part in parts.items():
        if isinstance(part, Table):
            made_up[name] = _with_one_column(part, columns[0], table)
    return replace(learned, **made_up)


def _with_one_column(rows: Table, column: Column, table: Table) -> Table:
    """Made-up rows that have one column of these rows."""
    first_row = np.zeros(rows.n_rows, dtype=np.intp)
    every_row = np.arange(rows.n_rows)
    made_up = recombine(synthetic_rows(table), first_row, rows, every_row, [column.position])
    return read_alike(made_up, table)
