"""The evaluations: trees against the model's own predict, and a whole fit against its model calls alone."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import granite_xai as gx
from cases import ANY_NUMBER, bike, fit, timed
from granite_xai.evaluations.asking import ask
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.request import Needs, request
from granite_xai.models import as_predictor
from granite_xai.tables import Rows, read_table

REPEATS = 3


def rows(quick: bool, jobs: int) -> Iterator[dict[str, Any]]:
    """Nothing where the data are not at hand."""
    n = 200 if quick else 1000
    try:
        yield from _ensemble_rows(n, jobs)
        yield _black_box_row(n, jobs)
    except gx.InputError as error:
        print(f"bike sharing is left out: {error}\n")


def _ensemble_rows(n: int, jobs: int) -> Iterator[dict[str, Any]]:
    """All matrices of the individual questions, by the model, by sparse products and by the compiled walk."""
    (case,) = bike(n=n)
    rows = Rows.of(read_table(case.X, missing="error"))
    model = as_predictor(case.model)
    single_columns = frozenset(frozenset({column}) for column in range(rows.table.n_columns))
    requested = request(Needs(single_columns), rows.table)
    (trees,) = Reading(model, rows.table).decision.parts
    function = as_predictor(lambda X: case.model.predict(X))  # whose trees are not read
    resources = gx.Resources(max_evaluations=ANY_NUMBER, progress=False)

    def by_model() -> None:
        ask(function, rows, requested, Reading(function, rows.table), resources=resources)

    def by_trees(is_compiled: bool) -> None:
        way = replace(trees, fast=is_compiled, n_jobs=jobs)
        for columns, values in requested.matrices.items():
            way.matrix(columns, values.carriers)

    ways = {
        "model": by_model,
        "trees (numpy)": lambda: by_trees(is_compiled=False),
        "trees (numba)": lambda: by_trees(is_compiled=True),
    }
    seconds_by_way = {}
    for name, way in ways.items():
        seconds_by_way[name] = min(timed(way)[0] for _ in range(REPEATS))
    for name, seconds in seconds_by_way.items():
        yield {
            "work": f"evaluations by {name}",
            "N": n,
            "rows": requested.n_recombined,
            "seconds": seconds,
            "ratio": seconds_by_way["model"] / seconds,
        }


def _black_box_row(n: int, jobs: int) -> dict[str, Any]:
    """A model that can only be asked: the whole fit over the time spent in the model."""
    network = make_pipeline(
        StandardScaler(),
        MLPRegressor(
            hidden_layer_sizes=(50, 50), max_iter=1000, early_stopping=True, random_state=0
        ),
    )
    (case,) = bike(n=n, model=TransformedTargetRegressor(network, transformer=StandardScaler()))
    ratios = []
    for _ in range(REPEATS):
        diagnostics = fit(case, jobs).diagnostics_
        ratios.append(diagnostics["seconds"]["total"] / diagnostics["model"]["seconds"])
    return {
        "work": "whole fit over its model calls",
        "N": n,
        "rows": diagnostics["model"]["rows"],
        "seconds": diagnostics["seconds"]["total"],
        "ratio": statistics.median(ratios),
    }
