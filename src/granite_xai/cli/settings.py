"""Options of a command as those of the library."""

from __future__ import annotations

import argparse
from typing import Any

import granite_xai as gx

MEBIBYTE = 2**20


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `Granite`."""
    return {
        "features": options.features,
        "split_features": options.split_features,
        "response": options.response,
        "missing": options.missing,
        "max_depth": options.max_depth,
        "min_samples_leaf": options.min_samples_leaf,
        "alpha": options.alpha,
        "output": _output_of(options.output),
        "n_jobs": options.jobs,
        "random_state": options.seed,
        **limits_of(options),
    }


def _output_of(text: str | None) -> str | int | None:
    """The name of a class, or the number of an output."""
    if text is not None and text.lstrip("-").isdigit():
        return int(text)
    return text


def limits_of(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments that say what it may cost: rows to draw, and resources."""
    max_samples = options.max_samples
    if max_samples in ("all", 0):
        max_samples = None
    max_grid = options.max_grid
    if max_grid == "exact":
        max_grid = None
    resources = gx.Resources(
        max_grid=max_grid,
        max_evaluations=options.max_evaluations,
        batch_size=options.batch_size,
        memory_limit=options.memory * MEBIBYTE,
    )
    return {"max_samples": max_samples, "resources": resources}
