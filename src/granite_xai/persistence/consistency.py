"""What belongs together in a loaded fit must fit together (F04).

Otherwise the file would fail only when it is used. Each check names the place that is wrong.
"""

from __future__ import annotations

import math

import numpy as np

from granite_xai.base.files import require
from granite_xai.estimator import Granite
from granite_xai.fitting.fit_result import FitResult
from granite_xai.persistence.checks import are_numbers, has_rows
from granite_xai.surrogate.additive import SurrogateFit


def check_consistency(result: FitResult, place: str) -> None:
    """Refuse a fit whose parts do not fit together.

    Parameters
    ----------
    result : FitResult
        What was read from a file.
    place : str
        Where it stands there.

    Raises
    ------
    FormatError
        F04, with the place.
    """
    _check_figures(result, place)
    _check_levels(result, place)
    has_names = result.partition.names == result.table.names
    require(has_names, f"{place}.partition.names", "are not those of the table")
    _check_surrogate(result.additive.value, len(result.partition), f"{place}.surrogate")
    _check_learned(result, place)
    _check_reference(result, f"{place}.reference")
    if has_rows(result.table):
        _check_rows(result, place)


def _check_figures(result: FitResult, place: str) -> None:
    """One number for each question, and finite shares."""
    n_questions = len(result.comparisons)
    by_question = {
        "roots": result.root_disagreements,
        "floors": result.floors,
        "question_weights": result.question_weights,
    }
    for name, figures in by_question.items():
        what = f"is not one number for each of {n_questions} questions"
        require(are_numbers(figures, n_questions), f"{place}.{name}", what)
    additive = result.additive.value
    shares = {
        "remaining": result.remaining,
        "fidelity": additive.fidelity,
        "global_fidelity": additive.global_fidelity,
    }
    for name, share in shares.items():
        require(math.isfinite(share), f"{place}.{name}", "is not a finite number")


def _check_levels(result: FitResult, place: str) -> None:
    """Levels of confidence, and intervals with two ends or none."""
    levels = {}
    if result.confidence is not None:
        levels["confidence"] = result.confidence.level
    if result.estimate is not None:
        levels["estimate"] = result.estimate.confidence_level
    for name, level in levels.items():
        what = f"has the level {level:g}, not one in (0, 1)"
        require(0 < level < 1, f"{place}.{name}", what)
    if result.estimate is not None:
        estimate = result.estimate
        intervals = (
            (estimate.low, estimate.high),
            (estimate.disagreement_low, estimate.disagreement_high),
        )
        for low, high in intervals:
            has_both_ends_or_none = math.isnan(low) == math.isnan(high)
            require(has_both_ends_or_none, f"{place}.estimate", "has an interval with one end")


def _check_surrogate(additive: SurrogateFit, n_regions: int, place: str) -> None:
    """One curve for each single column in every region, with one number for each level."""
    surrogate = additive.surrogate
    has_regions = len(surrogate.regions) == n_regions and all(surrogate.effects)
    require(has_regions, f"{place}.regions", f"are not {n_regions}, or have effects of no columns")
    scopes = {f"regions[{k}]": region for k, region in enumerate(surrogate.regions)}
    if additive.everywhere is not None:
        scopes["everywhere"] = additive.everywhere
    single_columns: list[int] = []
    for members in surrogate.effects:
        if len(members) == 1 and len(members[0]) == 1:
            single_columns += members[0]
    for scope, region in scopes.items():
        place_of_scope = f"{place}.{scope}"
        require(math.isfinite(region.mean), f"{place_of_scope}.mean", "is not a number")
        has_centres = len(region.joint_centres) in (
            0,
            len(surrogate.joint_effects),
        )  # 0: an older file
        of_each = "are not one for each effect of several columns"
        require(has_centres, f"{place_of_scope}.joint_centres", of_each)
        has_curves = [curve.column.position for curve in region.curves] == single_columns
        require(has_curves, f"{place_of_scope}.curves", "are not one for each single column")
        for i, curve in enumerate(region.curves):
            place_of_curve = f"{place_of_scope}.curves[{i}]"
            has_effects = are_numbers(curve.effects, len(curve.column.levels) + 1)
            require(has_effects, f"{place_of_curve}.effects", "are not one number for each level")


def _check_learned(result: FitResult, place: str) -> None:
    """What a partitioner learned becomes attributes: no name of ours may be among them."""
    for name in result.learned:
        is_fitted_name = name.isidentifier() and name.endswith("_") and not name.startswith("_")
        is_free = is_fitted_name and not hasattr(Granite, name)
        require(is_free, f"{place}.learned", f"has {name[:60]!r}, which is no name of a finding")


def _check_reference(result: FitResult, place: str) -> None:
    """What the maskings learned is all that the questions read."""
    reference = result.reference
    for question in result.comparisons:
        for side in (question.first, question.second):
            needed = side.needed()
            masking = side.masking
            has_bins = all((masking, visible) in reference.bins for visible in needed.bins)
            has_distribution = masking in reference.copulas or has_bins
            has_baseline = not needed.against or masking in reference.baselines
            require(has_distribution and has_baseline, place, "does not hold what a question reads")
    for masking, rows in reference.baselines.items():
        has_references = rows.n_rows == masking.n_references
        require(has_references, f"{place}.baselines", "are not one row for each reference")


def _check_rows(result: FitResult, place: str) -> None:
    """Regions and weights are those of the rows."""
    surrogate = result.additive.value.surrogate
    regions = result.partition.apply(result.table)
    what = "are not those of the rows"
    require(np.array_equal(result.regions, regions), f"{place}.regions", what)
    for number, region in enumerate(surrogate.regions):
        rows = np.flatnonzero(regions == number)
        require(np.array_equal(region.rows, rows), f"{place}.regions", what)
    for weights in (result.weights, surrogate.weights):
        are_weights = are_numbers(weights, result.table.n_rows) and bool(np.all(weights > 0))
        require(are_weights, f"{place}.weights", "are not numbers above 0, one for each row")
