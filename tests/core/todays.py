"""The problem of a fit of today's package in the shapes of the new core: the same predictions for both searches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from core.by_hand import named
from granite_xai.algebra.masking import Conditional
from granite_xai.algebra.objective import Shares
from granite_xai.evaluations.evaluations import Evaluations, Matrix
from granite_xai.search.problem import Problem, Tree


def evaluations_of(today: Any) -> Evaluations:
    """What the model said, of one output."""
    matrices = {}
    for columns, matrix in today.matrices.items():
        compact = matrix.compact()
        matrices[columns] = Matrix(np.ascontiguousarray(compact.values.T), compact.codes)
    bins = {
        (Conditional(), visible): bins.numbers
        for (_, visible), bins in today.bins.items()
        if not bins.single
    }
    return Evaluations(
        f=today.predictions,
        weights=today.weights,
        y=today.y,
        matrices=matrices,
        facts=bins,
        moved={columns: {} for columns in today.snapped},
        offset=today.offset,
        n_columns=len(today.everything),
    )


def problem_of(today: Any, question: str, **tree: Any) -> Problem:
    """The same problem, with one question by its name."""
    resolved = named(question, today.table.n_columns)
    options = {
        name: getattr(today.tree, name)
        for name in ("max_depth", "min_samples_leaf", "alpha", "max_candidates", "beam", "search")
    }
    shares = today.shares
    return Problem(
        sample=SimpleNamespace(
            rows=SimpleNamespace(table=today.table, weights=today.evaluations.weights),
            outputs=tuple(evaluations_of(output) for output in today.evaluations.outputs),
        ),
        measures=(resolved,),
        shares=Shares(
            factors=shares.factors,
            floors=shares.floors,
            total=shares.total,
            by_mass=shares.by_mass,
            root_factors=shares.root_factors,
        ),
        tree=Tree(**{**options, **tree}),
        missing=today.missing,
    )
