"""Which questions follow from sums over rows, and from which."""

from __future__ import annotations

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.compute.primitives import SQUARE
from granite_xai.disagreement.disagreement import ResolvedQuestion
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.matrix import Matrix
from granite_xai.explanation.behavior import Risk, Sensitivity
from granite_xai.moments.conditional_statistics import (
    ConditionalAgainstMarginalMean,
    ConditionalAgainstMarginalRisk,
    ConditionalAgainstMarginalTotal,
)
from granite_xai.moments.factors import factor
from granite_xai.moments.statistics import (
    FullAgainstPure,
    SquaredRisk,
    Statistics,
    TotalAgainstFirstOrder,
    VarianceDifference,
)

# Masking and interaction of the first explanation of a question, and of the second.
FULL_AGAINST_PURE = (("marginal", "full"), ("marginal", "pure"))
CONDITIONAL_AGAINST_MARGINAL_PURE = (("conditional", "pure"), ("marginal", "pure"))
CONDITIONAL_AGAINST_MARGINAL_FULL = (("conditional", "full"), ("marginal", "full"))
BY_BEHAVIOR: dict[str, dict[object, type[Statistics]]] = {
    "local": {
        FULL_AGAINST_PURE: FullAgainstPure,
        CONDITIONAL_AGAINST_MARGINAL_PURE: ConditionalAgainstMarginalMean,
    },
    "sensitivity by difference": {FULL_AGAINST_PURE: VarianceDifference},
    "sensitivity by Jansen": {
        FULL_AGAINST_PURE: TotalAgainstFirstOrder,
        CONDITIONAL_AGAINST_MARGINAL_FULL: ConditionalAgainstMarginalTotal,
    },
    "squared risk": {
        FULL_AGAINST_PURE: SquaredRisk,
        CONDITIONAL_AGAINST_MARGINAL_FULL: ConditionalAgainstMarginalRisk,
    },
}


def statistics_kind(question: ResolvedQuestion) -> type[Statistics] | None:
    """The sums that a question follows from; None: it needs the predictions themselves."""
    if question.first.layout.order > 1 or question.first.pairwise or question.second.pairwise:
        return None
    layout = question.first.layout
    everything = union(layout.players)
    if any(union(members) == everything for members in layout.sets):
        return None  # nothing is left to combine the set with
    sides = (question.question.first, question.question.second)
    explanations = tuple((side.masking.key, side.interaction.key) for side in sides)
    return BY_BEHAVIOR.get(_behavior_name(question), {}).get(explanations)


def _behavior_name(question: ResolvedQuestion) -> str:
    """The behavior in the words of the table; empty where no sums are known."""
    behavior = question.first.behavior
    if behavior.key == "local" and question.gap_loss.mode == SQUARE:
        return "local"
    if isinstance(behavior, Sensitivity):
        if behavior.total == "jansen":
            return "sensitivity by Jansen"
        return "sensitivity by difference"
    if isinstance(behavior, Risk):
        is_of_prediction = not behavior.pointwise and behavior.average == "prediction"
        if is_of_prediction and behavior.loss in ("squared", "brier"):
            return "squared risk"
    return ""


def question_statistics(
    question: ResolvedQuestion, evaluations: Evaluations
) -> list[Statistics] | None:
    """The statistics of each set of a question; None where it needs the predictions themselves.

    Parameters
    ----------
    question : ResolvedQuestion
    evaluations : Evaluations
        What the model answered for all rows of a fit or of a node.
    """
    kind = statistics_kind(question)
    if kind is None:
        return None
    evaluations = evaluations.outputs[question.output]
    if any(masking == question.first.masking for masking, _ in evaluations.densities):
        return None  # weights of rows differ from row to row
    target = None
    if evaluations.y is not None:
        target = evaluations.y - evaluations.offset
    by_set = []
    for members in question.first.layout.sets:
        columns = union(members)
        of_set = evaluations.on_grid(columns)
        factors = factor(_matrix(of_set, columns), of_set.weights, of_set.offset)
        statistics = kind(
            factors=factors,
            weights=of_set.weights,
            target=target,
            bins=_bins(question, of_set, columns),
        )
        by_set.append(statistics)
    return by_set


def _matrix(evaluations: Evaluations, columns: Coalition) -> Matrix:
    """``E`` of a set as one matrix, where it was evaluated, or turned where its complement was."""
    matrix, is_own = evaluations.stored(columns)
    if is_own:
        return matrix.compact()
    return evaluations.matrix(columns)


def _bins(
    question: ResolvedQuestion, evaluations: Evaluations, columns: Coalition
) -> IntArray | None:
    """Bins of the columns that the conditional side shows; None where all rows share one."""
    side = question.first
    if side.masking.key != "conditional":
        return None
    shows_set = question.question.first.interaction.key == "pure"
    visible = columns
    if not shows_set:
        visible = evaluations.everything - columns
    bins = evaluations.bins.get((side.masking, visible))
    if bins is None or bins.single:
        return None
    return bins.numbers
