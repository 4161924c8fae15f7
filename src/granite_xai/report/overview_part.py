"""Effects of all features on all rows, as the story tells them: counted in cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.base.typing import FloatArray
from granite_xai.display.overview import value_ranks
from granite_xai.report.source import rounded, set_labels
from granite_xai.results.values import Scope, Values

MOST_FEATURES = 12  # strips of the overview
ACROSS = 96  # cells of a strip from left to right
UPWARDS = 9  # and from low to high values
TRIMMED = 0.004  # share of effects on each side that lie at the edge of the overview


def overview(values: Values) -> dict[str, Any] | None:
    """Effects of the strongest features on all rows, in cells.

    Parameters
    ----------
    values : Values
        Of a fit whose first question is the one that is told.

    Returns
    -------
    dict or None
        ``limits`` of the effects, ``across`` and ``upwards`` (numbers of cells), ``features`` with
        their ``cells`` (region, column, line, rows) by mean absolute effect, ``beyond`` (whether
        effects lie beyond the limits), ``left_out`` (how many features). None where the question
        has no effects of single features on single rows, or where all are 0.
    """
    resolved = values.fitted.questions[0]
    positions = _single_columns(resolved)
    if positions is None:
        return None
    effects = np.zeros((values.table.n_rows, len(positions)))
    in_scopes = values.of_question(resolved).scopes
    in_regions = in_scopes[1:] or in_scopes  # a single region is all rows
    for in_region in in_regions:
        effects[in_region.scope.rows] = in_region.parts[0].values
    strongest = np.argsort(-np.abs(effects).mean(axis=0), kind="stable")[:MOST_FEATURES]
    strongest_effects = effects[:, strongest]
    limits = _limits(strongest_effects)
    if limits is None:
        return None
    low, high = limits
    names = set_labels(resolved)
    features = []
    for i in strongest.tolist():
        ranks = value_ranks(values.table.columns[positions[i]])
        cells = _cells(effects[:, i], ranks, [each.scope for each in in_regions], limits)
        features.append({"set": names[i], "cells": cells})
    return {
        "limits": rounded(limits, 3),
        "across": ACROSS,
        "upwards": UPWARDS,
        "features": features,
        "beyond": bool((strongest_effects < low).any() or (strongest_effects > high).any()),
        "left_out": len(positions) - len(features),
    }


def _single_columns(resolved: ResolvedQuestion) -> list[int] | None:
    """The column of each set; None unless a question is about effects of single columns on rows."""
    if resolved.first.behavior.key != "local":
        return None
    positions = []
    for players in resolved.first.layout.sets:
        if len(players) != 1:
            return None
        columns = list(next(iter(players)))
        if len(columns) != 1:
            return None
        positions.append(columns[0])
    return positions


def _limits(effects: FloatArray) -> tuple[float, float] | None:
    """Where almost all effects lie, with 0; None where there are none."""
    low = min(float(np.quantile(effects, TRIMMED)), 0.0)
    high = max(float(np.quantile(effects, 1.0 - TRIMMED)), 0.0)
    if low == high:
        return None
    return low, high


def _cells(
    effects: FloatArray,
    ranks: FloatArray,
    regions: Sequence[Scope],
    limits: tuple[float, float],
) -> list[list[int | None]]:
    """Cells of one feature that hold rows: region, column, line and number of rows.

    Parameters
    ----------
    effects : array of shape (n_rows,)
    ranks : array of shape (n_rows,)
        Of the values of the feature, from 0 to 1; nan: missing, which lies in the middle.
    regions : sequence of Scope
        A single one is all rows, and has the region None.
    limits : (float, float)
        Effects of the first and the last column.
    """
    low, high = limits
    share_across = np.clip((effects - low) / (high - low), 0.0, 1.0)
    share_upwards = np.nan_to_num(ranks, nan=0.5)
    columns = np.minimum((share_across * ACROSS).astype(np.intp), ACROSS - 1)
    lines = np.minimum((share_upwards * UPWARDS).astype(np.intp), UPWARDS - 1)
    cells: list[list[int | None]] = []
    for scope in regions:
        region = scope.region if len(regions) > 1 else None
        places = columns[scope.rows] * UPWARDS + lines[scope.rows]
        filled, counts = np.unique(places, return_counts=True)
        for place, n_rows in zip(filled.tolist(), counts.tolist(), strict=True):
            column, line = divmod(place, UPWARDS)
            cells.append([region, column, line, n_rows])
    return cells
