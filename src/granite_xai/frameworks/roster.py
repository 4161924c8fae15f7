"""Which frameworks are compared, and about which column."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.catalog import explanations
from granite_xai.estimator import Granite
from granite_xai.frameworks.cohex import cohex
from granite_xai.frameworks.fd_trees import fd_trees
from granite_xai.frameworks.gadget import gadget
from granite_xai.frameworks.repid import repid
from granite_xai.frameworks.transformation_trees import transformation_trees
from granite_xai.frameworks.vine import vine


def roster(
    model: Any, X: Any, question: Any, frameworks: Any, feature: Hashable | None, options: Mapping[str, Any]
) -> dict[str, Granite]:
    """The frameworks to compare, unfitted, by name."""
    if isinstance(frameworks, Mapping):
        return dict(frameworks)
    names = list(_MAKERS) if frameworks is None else list(frameworks)
    makers = {name: choose("frameworks", name, {known: known for known in _MAKERS}) for name in names}
    if not makers:
        raise InputError("frameworks is empty.", code="P01", argument="frameworks", hint="Name at least one.")
    if feature is None and set(makers) & _ONE_COLUMN:
        feature = busiest_column(model, X, options)
    return {name: _MAKERS[name](model, question, feature, dict(options)) for name in makers}


_ONE_COLUMN = {"vine", "repid", "transformation_trees"}
_MAKERS: dict[str, Any] = {
    "granite": lambda model, question, feature, options: Granite(model, question, **options),
    "vine": lambda model, question, feature, options: vine(model, feature, **options),
    "cohex": lambda model, question, feature, options: cohex(model, **options),
    "repid": lambda model, question, feature, options: repid(model, feature, **options),
    "gadget": lambda model, question, feature, options: gadget(model, **options),
    "fd_trees": lambda model, question, feature, options: fd_trees(model, **options),
    # Its regions depend on the rows alone: the question is only what is reported in them.
    "transformation_trees": lambda model, question, feature, options: transformation_trees(
        model, feature, question, **options
    ),
}


def reading(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that say how model and table are read, and what that may cost."""
    names = ("output", "response", "missing", "kinds", "max_samples", "n_jobs", "random_state", "resources")
    return {name: options[name] for name in names if name in options}


def busiest_column(model: Any, X: Any, options: Mapping[str, Any]) -> str:
    """The column whose full and pure local effects differ most."""
    chosen = {name: options[name] for name in ("output", "response", "resources") if name in options}
    sides = [explanations()[name].explain(model, X, **chosen) for name in ("ice", "pdp")]
    gaps = np.square(sides[0].values - sides[1].values).mean(axis=0)
    return sides[0].sets[int(np.argmax(gaps))][0]
