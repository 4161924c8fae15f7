"""Effects resolved on a table, and what a model answers about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import FittedMaskings, fit_maskings
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer

import granite_xai as gx
from granite_xai.base.limits import Resources
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.models import as_predictor
from granite_xai.tables import Table
from granite_xai.trees.ensembles import Route


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1]


def effect_on(table: Table, *axes: Any) -> ResolvedExplainer:
    """An explanation, by its axes, of a product on a table."""
    route = Route(as_predictor(product), table)
    return gx.Explainer(*axes).effect(route, Resources(), 0)


def fitted_to(effects: Sequence[ResolvedExplainer], table: Table) -> FittedMaskings:
    """What the maskings of some effects learn from a table without weights."""
    readings = set().union(*(effect.readings() for effect in effects))
    changes = set().union(*(effect.changes() for effect in effects))
    return fit_maskings(readings, changes, table, np.ones(table.n_rows), 0)


def evaluations_of(model: Any, table: Table, effects: Sequence[ResolvedExplainer]) -> Evaluations:
    """All that some effects read of a model on a table without weights."""
    evaluations, _ = evaluate(
        Route(as_predictor(model), table),
        request(table, effects),
        fitted_to(effects, table),
        weights=np.ones(table.n_rows),
        y=None,
        resources=Resources(),
    )
    return evaluations
