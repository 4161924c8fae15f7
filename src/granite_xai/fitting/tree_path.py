"""The path of a fit: its trees from the largest to none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.kept_run import kept_run
from granite_xai.fitting.searching import RootFigures, find_path
from granite_xai.inference.path import Path
from granite_xai.search.tree import Tree


def path_of_fit(g: Any) -> Path:
    """The trees from the largest to none; kept with the fit and in its file, once it is known.

    Parameters
    ----------
    g : Granite
        Fitted.

    Raises
    ------
    InputError
        P03, where the fit has no evaluations any more, or no tree.
    """
    result: FitResult = vars(g)["_fitted"]
    if result.path is not None:
        return result.path
    run = kept_run(g, "path_", "alpha", "Fit again, or read path_ before the fit is saved.")
    if not isinstance(run.inputs.partitioner, Tree):
        name = type(run.inputs.partitioner).__name__
        raise InputError(
            f"{name} has no path: its regions have no price.",
            code="P03",
            argument="partitioner",
            hint="Leave partitioner out.",
        )
    root = RootFigures(
        disagreements=result.root_disagreements,
        floors=result.floors,
        error=run.error,
        chance=result.chance,
    )
    path = find_path(run.inputs, run.evaluations, root)
    vars(g)["_fitted"] = replace(result, path=path)
    return path
