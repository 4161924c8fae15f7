"""The search on random halves of the rows of a fit, which shows what comes back."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.typing import IntArray
from granite_xai.compute import progress
from granite_xai.fitting.fit_inputs import FitInputs
from granite_xai.fitting.fit_result import FitRun
from granite_xai.fitting.kept_run import kept_run
from granite_xai.fitting.searching import search_again
from granite_xai.inference.stability import Stability
from granite_xai.inference.tree_agreement import affordable_pairs, halves, stability_of
from granite_xai.regions import Partition
from granite_xai.search.given_rules import GivenRules
from granite_xai.search.price import search_price
from granite_xai.search.tree import Tree

LEAVES_OF_HALF = 2
"""Regions of the smallest size that a half must have room for."""


def stability_on_halves(g: Any, n_pairs: int | None) -> Stability:
    """The search on random halves of the rows of a fit, and on their complements; the model is not asked.

    Parameters
    ----------
    g : Granite
        Fitted.
    n_pairs : int, optional
        Halves, each searched together with its complement. None: as many as cost no more than the fit, between 4
        and 25.

    Raises
    ------
    InputError
        P03, where the regions were given or the evaluations are gone; D30, where the rows are one cluster.
    """
    run = kept_run(g, "stability()", "models", "Fit again, or read stability_ of a saved fit.")
    inputs = run.inputs
    _require_halves(inputs)
    if _halves_are_too_small(inputs):
        return Stability.unmeasured(run.result.partition)
    if n_pairs is None:
        n_pairs = _affordable_pairs(inputs, g.diagnostics_["plan"]["model_rows"])
    pairs_of_rows = halves(inputs.clusters, n_pairs, inputs.seed)
    pairs_of_trees = []
    for half, complement in progress(pairs_of_rows, inputs.resources, "resamples", n_pairs):
        pairs_of_trees.append((_search_rows(run, half), _search_rows(run, complement)))
    return stability_of(run.result.partition, inputs.table, pairs_of_trees)


def _require_halves(inputs: FitInputs) -> None:
    """Refuse regions that were not searched, and rows that cannot be halved."""
    if isinstance(inputs.partitioner, GivenRules):
        raise InputError(
            "the regions were given, so that they are the same on any rows.",
            code="P03",
            argument="partitioner",
            hint="Ask the fit that searched.",
        )
    n_clusters = len(np.unique(inputs.clusters))
    if n_clusters >= 2:
        return
    what = "one cluster of rows"
    if len(inputs.clusters) == 1:
        what = "one row"
    raise InputError(
        f"stability() searches halves of the fitting rows, and there is {what}.",
        code="D30",
        argument="X",
        hint="Fit on more rows.",
    )


def _halves_are_too_small(inputs: FitInputs) -> bool:
    """Whether no half has room for two regions."""
    if not isinstance(inputs.partitioner, Tree):
        return False
    fewest_rows = 2 * LEAVES_OF_HALF * inputs.partitioner.min_samples_leaf
    return inputs.table.n_rows < fewest_rows


def _affordable_pairs(inputs: FitInputs, model_rows: int) -> int:
    """Pairs of searches on halves that cost no more than a fit that sends so many rows to the model."""
    n_sets = sum(len(question.first.layout.sets) for question in inputs.comparisons)
    cost_of_half = search_price(inputs.table.n_rows // 2, n_sets, len(inputs.table.explained))
    return affordable_pairs(cost_of_half, model_rows)


def _search_rows(run: FitRun, rows: IntArray) -> Partition:
    return search_again(run.inputs, run.evaluations, run.result.floors, run.error, rows)
