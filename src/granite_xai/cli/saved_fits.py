"""Commands that use saved regions."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import pandas as pd

import granite_xai as gx
from granite_xai.cli.models import load_model
from granite_xai.cli.printing import remark, remarks_instead_of_warnings, say, say_frame, say_json
from granite_xai.cli.reports import write_report
from granite_xai.cli.settings import limits_of
from granite_xai.cli.tables import (
    features_and_target,
    hint_at_categories,
    read_parts,
    read_table,
)
from granite_xai.cli.written_files import check_outputs


class FitAndRows(NamedTuple):
    """A saved fit with its model, and other rows with their target and weights."""

    granite: gx.Granite
    X: Any  # with columns that are no features of the fit
    y: Any
    weights: Any

    @property
    def features(self) -> Any:
        """The rows as the fit takes them."""
        return _features_of_fit(self.granite, self.X)


def _load(path: str, model: Any = None) -> Any:
    """What a saved file holds; F04 where it cannot be read."""
    try:
        return gx.load(path, model=model)
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise gx.FormatError(message, code="F04", argument="saved") from error


def _load_fit(path: str, model: Any) -> gx.Granite:
    """The fit that a saved file holds; F04 where it holds something that has no model."""
    try:
        granite: gx.Granite = _load(path, model)
    except gx.InputError as error:
        if (error.code, error.argument) != ("P03", "model"):
            raise
        hint = "Save with granite explain --save."
        raise gx.FormatError(
            f"{path} holds no fit.", code="F04", argument="saved", hint=hint
        ) from error
    return granite


def _fit_and_rows(options: argparse.Namespace) -> FitAndRows:
    """Read the table, load the model, then the fit that is about it."""
    draws_rows = hasattr(options, "max_samples")
    table = read_table(options.data, options if draws_rows else None)
    columns = features_and_target(table, options)
    model = load_model(options)
    with hint_at_categories(columns.X):
        granite = _load_fit(options.saved, model)
    return FitAndRows(granite=granite, X=columns.X, y=columns.y, weights=columns.weights)


def _features_of_fit(granite: gx.Granite, X: Any) -> Any:
    """The columns of the fit, where the table has them all; others are no features."""
    names = list(getattr(granite, "feature_names_in_", []))
    if names and set(names) <= set(X):
        return X[names]
    return X


def evaluate(options: argparse.Namespace) -> None:
    """Disagreement on other rows, with and without the saved regions."""
    fit = _fit_and_rows(options)
    with remarks_instead_of_warnings(options), hint_at_categories(fit.X):
        evaluation = fit.granite.evaluate(fit.features, fit.y, fit.weights, **limits_of(options))
    if options.json:
        say_json(_evaluation_facts(evaluation))
        return
    say(str(evaluation))


def _evaluation_facts(evaluation: Any) -> dict[str, Any]:
    estimate = evaluation.estimate
    regions = evaluation.frame().to_dict(orient="records")
    return {
        "remaining": _none_if_nan(evaluation.remaining),
        "disagreement": _none_if_nan(evaluation.disagreement),
        "global_disagreement": _none_if_nan(evaluation.global_disagreement),
        "estimate": None if estimate is None else estimate.facts(),
        "regions": [_with_none_for_nan(region) for region in regions],
    }


def _with_none_for_nan(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: _none_if_nan(value) for name, value in figures.items()}


def _none_if_nan(value: Any) -> Any:
    """JSON has no NaN; None becomes null."""
    return None if value != value else value


def row(options: argparse.Namespace) -> None:
    """Rows one by one: one of them in full, several as a table."""
    fit = _fit_and_rows(options)
    positions = _positions_of_rows(fit.X, options)
    with remarks_instead_of_warnings(options), hint_at_categories(fit.X):
        features = fit.features
        row_explanations = [
            fit.granite.explain_row(features.iloc[[position]]) for position in positions
        ]
    if len(row_explanations) == 1 and not options.json:
        say(str(row_explanations[0]))
    else:
        frames = [explanation.frame() for explanation in row_explanations]
        say_frame(pd.concat(frames), options.json)


def _positions_of_rows(X: Any, options: argparse.Namespace) -> list[int]:
    """The rows that ``--row`` or ``--key`` names."""
    if options.key:
        column, _, value = options.key.partition("=")
        if column not in X:
            message = f"the table has no column {column!r}."
            raise gx.InputError(message, code="P04", argument="key", columns=[column])
        cells = X[column].astype(str)
        positions = [position for position, cell in enumerate(cells) if cell == value]
        option = f"--key {options.key}"
    else:
        positions = options.row
        option = f"--row {' '.join(map(str, positions))}"
    if not positions or not all(0 <= position < len(X) for position in positions):
        message = f"{option}: no such row among {len(X):,}."
        raise gx.InputError(message, code="P04", argument="row")
    return positions


def compare(options: argparse.Namespace) -> None:
    """The saved regions under two models, or under one model on two tables."""
    check_outputs(
        options,
        data=options.data,
        test=options.other_data,
        model=options.model,
        saved=options.saved,
    )
    fit = _fit_and_rows(options)
    models: dict[str, Any] = {"first": fit.granite}
    sample_weight = fit.weights
    if options.other_data:
        other = features_and_target(read_table(options.other_data), options)
        X: Any = {
            options.data: (fit.features, fit.y),
            options.other_data: (_features_of_fit(fit.granite, other.X), other.y),
        }
        y = None
        if options.weights:
            sample_weight = {options.data: fit.weights, options.other_data: other.weights}
    else:
        models["second"] = _load_other_model(options)
        X = fit.features
        y = fit.y
    with remarks_instead_of_warnings(options):
        comparison = gx.compare(
            models,
            X,
            y,
            sample_weight=sample_weight,
            max_samples=options.max_samples or None,
        )
    if options.report:
        comparison.html(options.report)
        remark(f"Written: {options.report}")
    if options.json:
        say_frame(comparison.frame(), as_json=True)
    else:
        say(str(comparison))


def _load_other_model(options: argparse.Namespace) -> Any:
    other = argparse.Namespace(**vars(options))
    other.model = options.other_model
    other.predictor = options.other_predictor
    return load_model(other)


def apply(options: argparse.Namespace) -> None:
    """The region of each row."""
    saved = _load(options.saved)
    if not isinstance(saved, gx.Granite | gx.Partition):
        raise gx.FormatError(f"{options.saved} holds no regions.", code="F04", argument="saved")

    def regions_of(X: Any) -> list[int]:
        if isinstance(saved, gx.Granite):
            X = _features_of_fit(saved, X)
        regions: list[int] = saved.apply(X).tolist()
        return regions

    with remarks_instead_of_warnings(options):
        parts = (regions_of(X) for X in read_parts(options.data))
        if options.json:
            say_json({"regions": list(chain.from_iterable(parts))})
        else:
            _say_regions(parts)


def _say_regions(parts: Iterable[list[int]]) -> None:
    """Print CSV part by part; the head stands above the first."""
    head = ["row,region"]
    first_row = 0
    for part in parts:
        lines = [f"{row},{region}" for row, region in enumerate(part, start=first_row)]
        say("\n".join([*head, *lines]))
        head = []
        first_row += len(part)


def show(options: argparse.Namespace) -> None:
    """What a saved file holds."""
    check_outputs(options, saved=options.saved)
    saved = _load(options.saved)
    if isinstance(saved, gx.Granite):
        write_report(gx.Report(saved), options)
    elif options.report:
        message = f"{options.saved} holds no fit to report on."
        raise gx.InputError(message, code="P03", argument="report")
    elif not isinstance(saved, gx.Partition):
        say_frame(saved.frame(), options.json)
    elif options.json:
        say_json(saved.to_dict())
    else:
        say(str(saved))
