"""What is worth a note about a fit: noise floors, causes of a disagreement, thin bins, coarse grids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from granite_xai.algebra.copula import DensityRatios
from granite_xai.algebra.disagreement import Disagreement, ResolvedQuestion
from granite_xai.algebra.effects import Attributed
from granite_xai.algebra.masked_model import MaskedModel
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import BinWarning, Diagnostics, ModelWarning
from granite_xai.base.numbers import count
from granite_xai.base.text import listing
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.curves.curves import pdp_of_regions
from granite_xai.evaluations.evaluations import Attribution, Evaluations, Sample
from granite_xai.evaluations.probe import out_of_range
from granite_xai.fitting.find import Task, disagreements_of
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.plan import Plan

# Noise floors -------------------------------------------------------------------------------------------

LARGEST_MERE_ROUNDING = 0.05
"""Share of its floor below which a disagreement may be rounding alone, which makes about a thousandth of it."""
EQUAL_PREDICTIONS = 2.0**-49
"""Share of their size by which equal predictions differ from their mean, at most."""
CODES_OF_HIGH_FLOORS = ("M09", "N01", "D20: the model")
"""Beginnings of warnings that already say that the floor is high, and why."""


def note_floors(
    questions: Sequence[ResolvedQuestion], sample: Sample, record: Diagnostics
) -> FloatArray:
    """The noise floor of each question (C4), with warnings of floors that hide more than rounding.

    Parameters
    ----------
    questions : sequence of Q questions
    sample : Sample
        The rows that search.
    record : Diagnostics
        Gets floors and disagreements.

    Raises
    ------
    InputError
        N06, where a disagreement is too large to be a number.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an overflow is named below (N06)
        disagreements = disagreements_of(questions, sample.outputs)
        floors = np.array(
            [
                each.floor(sample.outputs[each.output], sample.errors[each.output])
                for each in questions
            ]
        )
        total_losses = disagreements * len(sample.rows)
    labels = [question.label for question in questions]
    record.note("noise_floor", dict(zip(labels, floors.tolist(), strict=True)))
    record.note("measured_disagreement", dict(zip(labels, disagreements.tolist(), strict=True)))
    scales = [
        float(np.max(np.abs(evaluations.f + evaluations.offset))) for evaluations in sample.outputs
    ]
    if not np.all(np.isfinite(total_losses) & np.isfinite(floors)):
        raise out_of_range(
            f"the disagreement is too large to be a number; predictions reach {max(scales):.3g}."
        )
    for question, floor, disagreement in zip(questions, floors, disagreements, strict=True):
        scale = scales[question.output]
        varies = np.abs(sample.outputs[question.output].f).max() > EQUAL_PREDICTIONS * scale
        is_named = any(text.startswith(CODES_OF_HIGH_FLOORS) for text in record.warnings)
        hides_more = LARGEST_MERE_ROUNDING * floor < disagreement <= floor
        if varies and hides_more and not is_named and not question.is_sampled:
            record.warn(
                f"N10: {question.label}: the measured disagreement {disagreement:.3g} is below its noise floor "
                f"{floor:.3g}, but no mere rounding; it is reported as 0. The predictions reach {scale:.3g}: "
                "explain them minus a constant, or in double precision.",
                ModelWarning,
            )
    return floors


# Causes -----------------------------------------------------------------------------------------------------

MOST_ROWS = 500
"""Rows on which the additive model is looked at, at most."""
INTERACT = "features interact"
DEPEND = "features depend on each other"
EITHER = f"{INTERACT} or depend on each other"


def cause(question: Disagreement) -> str:
    """What makes the two explanations of a question differ; covariances count in variances and risks."""
    first = question.first
    second = question.second
    if first.masking.key != second.masking.key:
        if first.interaction == second.interaction:
            return DEPEND
        return EITHER
    if question.behavior.key == "local" and first.masking.key != "conditional":
        return INTERACT
    return EITHER


def causes(task: Task, sample: Sample) -> dict[str, Any]:
    """The cause of each question's disagreement, and the share of it that is left without interactions.

    Variances and risks under marginal masking mix both causes, so it is measured: how much of the disagreement
    would the additive model keep, the sum of one curve per feature? Its evaluations follow from those of the model.

    Parameters
    ----------
    task : Task
    sample : Sample
        The rows that search.

    Returns
    -------
    dict
        By the label of a question: ``cause``, and ``without_interactions``, the share of the disagreement that a sum of
        the model's curves keeps; None where that cannot be read.
    """
    n_rows = len(sample.rows)
    places = np.linspace(0, n_rows - 1, min(n_rows, MOST_ROWS)).astype(np.intp)
    by_label = {}
    for question, floor in zip(task.questions, task.floors.tolist(), strict=True):
        reason = cause(question.question)
        share: float | None = 0.0
        if reason != INTERACT:
            share = None
            additive = additive_evaluations(question, sample, task.plan, places)
            of_rows = sample.outputs[question.output].take(places)
            whole = RegionWeights.whole(of_rows.weights)
            of_model = float(question.regional(of_rows, whole)[0, 0])
            if additive is not None and of_model > floor:
                share = float(question.regional(additive, whole)[0, 0]) / of_model
        by_label[question.label] = {"cause": reason, "without_interactions": share}
    return by_label


def additive_evaluations(
    question: ResolvedQuestion, sample: Sample, plan: Plan, places: IntArray
) -> Evaluations | None:
    """What the additive model says about some of the rows; None where its curves cannot be read.

    With the curve ``c_i`` of each player and the mean prediction ``c_0``, its answer about row x in the
    columns S and row x' in the others is ``c_0 + sum over S of c_i(x) + sum over the others of c_i(x')``.
    """
    evaluations = sample.outputs[question.output]
    table = sample.rows.table
    players = question.first.layout.players
    is_asked = all(player in evaluations.matrices or len(players) == 1 for player in players)
    has_references = any(isinstance(fact, MaskedModel) for fact in evaluations.facts.values())
    if has_references or not is_asked or any(len(player) > 1 for player in players):
        return None
    shares = (evaluations.weights / evaluations.weights.sum())[None]
    mean = float(shares[0] @ evaluations.f)
    curves = {}  # of each player at each of its levels, (1 + levels,)
    at_rows = {}  # and at the rows, (len(places),)
    for player in players:
        position = min(player)
        column = table.columns[position]
        cells = plan.cells.get(position)
        pdp = pdp_of_regions(column, evaluations, shares, cells, question.output)[0]
        curves[player] = pdp - mean
        at_rows[player] = curves[player][column.codes[places] + 1]

    def added_up(columns: Coalition) -> FloatArray:
        """What the players among some columns add at the rows."""
        inside = (at_rows[player] for player in players if player <= columns)
        return np.asarray(sum(inside, start=np.zeros(len(places))))

    f = mean + added_up(evaluations.everything)
    of_rows = evaluations.take(places)
    matrices = {}
    for columns, matrix in of_rows.matrices.items():
        at_columns = added_up(columns)
        if columns in curves and matrix.levels is not None:
            of_values = curves[columns][matrix.levels + 1]
        else:
            first_rows = np.zeros(matrix.values.shape[1], dtype=np.intp)
            first_rows[matrix.codes[::-1]] = np.arange(len(places) - 1, -1, -1)
            of_values = at_columns[first_rows]
        matrices[columns] = matrix._replace(values=(f - at_columns)[:, None] + of_values[None, :])
    facts = dict(of_rows.facts)
    for key, fact in facts.items():
        if isinstance(key, Attributed) and isinstance(fact, Attribution):
            effect = np.zeros(len(places))
            if len(key.members) == 1:  # interactions of an additive model are 0
                effect = added_up(key.members[0])
            facts[key] = Attribution(effect[:, None] - effect[None, :])
    return replace(of_rows, f=f, matrices=matrices, facts=facts)


# Thin bins ----------------------------------------------------------------------------------------------------

FEWEST_ROWS = 5
"""Rows of a region below which a conditional mean over them is called thin (C10)."""
FEW_MEANS = 0.01
"""Share of the thin means of a feature up to which they need no warning: outermost rows always have few neighbours."""
NAMED_FEATURES = 5
"""Features that a warning names, at most."""


def note_bins(
    record: Diagnostics, result: FitResult, sample: Sample, single_bins_are_meant: bool
) -> None:
    """Count conditional means that rest on few rows, and regions that share one bin; warn once at most.

    Parameters
    ----------
    record : Diagnostics
        Gets the counts as ``thin_bins``.
    result : FitResult
    sample : Sample
        The rows that searched.
    single_bins_are_meant : bool
        Whether a column has one bin because it shows no dependence beyond chance, which needs no warning.
    """
    names = sample.rows.table.names
    everything = sample.outputs[0].everything
    regions = [np.flatnonzero(result.regions == k) for k in range(len(result.partition))]
    thin_bins: Counter[str] = Counter()  # by feature, in all regions
    regions_in_one_bin: Counter[str] = Counter()
    thin_means: Counter[str] = Counter()
    n_densities = 0
    for key, fact in sample.outputs[0].facts.items():
        if isinstance(fact, DensityRatios):
            n_densities += 1
            feature = names[fact.column]
            for rows in regions:
                masking, visible = cast(tuple[Any, Any], key)
                masked = masking.masked_model(sample.outputs[0].take(rows), visible)
                effective = masked.cell_sizes()
                thin_means[feature] += int(np.count_nonzero(effective < FEWEST_ROWS))
        elif isinstance(key, tuple) and isinstance(fact, np.ndarray) and fact.dtype.kind in "iu":
            is_single = bool(fact.min(initial=0) == fact.max(initial=0))
            if is_single and single_bins_are_meant:
                continue
            # The features of a conditional mean: those shown, or those hidden, whichever are fewer.
            shown = key[1]
            hidden = everything - shown
            fewer = shown if len(shown) <= len(hidden) else hidden
            feature = " + ".join(names[position] for position in sorted(fewer))
            for rows in regions:
                _, rows_of_bins = np.unique(fact[rows], return_counts=True)
                thin_bins[feature] += int(np.count_nonzero(rows_of_bins < FEWEST_ROWS))
                regions_in_one_bin[feature] += len(rows_of_bins) == 1
    note = {"cells": thin_bins.total(), "single_bin": regions_in_one_bin.total()}
    if n_densities:  # a copula weighs the rows instead of bins
        note["weighted_rows"] = thin_means.total()
    record.note("thin_bins", note)
    n_means = len(sample.rows) * n_densities / max(len(thin_means), 1)  # of a feature
    many = Counter({name: n for name, n in thin_means.items() if n > FEW_MEANS * n_means})
    # Each with the features it is about.
    clauses = []
    if thin_bins.total():
        n_bins = count(thin_bins.total(), "bin")
        features = _listed_features(thin_bins)
        clauses.append(f"has {n_bins} with fewer than {FEWEST_ROWS} rows of a region ({features})")
    if regions_in_one_bin.total():
        clauses.append(
            f"has {_times(regions_in_one_bin)} a region whose rows share one bin, where conditional equals "
            f"marginal by construction ({_listed_features(regions_in_one_bin)})"
        )
    if many.total():
        clauses.append(
            f"by a copula leaves a row of a region {_times(many)} fewer than {FEWEST_ROWS} rows to "
            f"average over, by the effective number of its weights ({_listed_features(many)})"
        )
    if clauses:
        record.warn(f"C10: conditional masking {'; '.join(clauses)}.", BinWarning)


def _times(counts: Counter[str]) -> str:
    return "once" if counts.total() == 1 else f"{counts.total():,} times"


def _listed_features(counts: Counter[str]) -> str:
    """The features that are affected, most of all first; of those alike, by name."""
    most_first = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    affected = [name for name, number in most_first if number]
    word = "feature" if len(affected) == 1 else "features"
    return f"{word} {listing(affected, NAMED_FEATURES)}"
