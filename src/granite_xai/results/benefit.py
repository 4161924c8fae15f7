"""How much of the model curves and regions describe, in a sentence."""

from __future__ import annotations

import math

from granite_xai.algebra.influence import Influence, Interactions
from granite_xai.base.numbers import amount, share
from granite_xai.inference.estimate import WHAT_GIVES_AN_INTERVAL, rows_in_words
from granite_xai.inference.nodes import NodeFigures
from granite_xai.results.described import Described, in_regions_text
from granite_xai.results.fit_facts import FitFacts

LITTLE = 0.75  # share described in regions below which pairs of features are recommended

# The upper bound of what is hidden falls like one over the root of the rows:
MORE_ROWS = 4  # with so many times more rows
FEWER_HIDDEN = 2.0  # so many times less may be hidden


def benefit(facts: FitFacts, described: Described | None) -> str:
    """How much of the model curves describe, overall and in regions; empty where nothing can be said.

    Parameters
    ----------
    facts : FitFacts
    described : Described or None
        None: the share has not been computed.
    """
    if facts.n_rows == 1:
        return ""
    if not facts.is_effect:
        return _difference_removed(facts)
    if facts.outcome == "noise":
        return _possibly_hidden(facts)
    if facts.outcome == "nothing" and not facts.model_is_unsteady:
        return f"{_curves_describe(_influence(facts))} the whole model."
    if described is None:
        return ""
    return _described_sentence(facts, described)


def _influence(facts: FitFacts) -> Influence:
    return facts.question.first.influence


def _curves_describe(influence: Influence) -> str:
    """What describes the model, with its verb."""
    if isinstance(influence, Interactions):
        return f"The effects of up to {influence.order} features describe"
    if influence.key == "individual":
        return "One curve per feature describes"
    return "One effect per feature or group describes"


def _described_sentence(facts: FitFacts, described: Described) -> str:
    influence = _influence(facts)
    overall = share(max(described.overall, 0.0))
    describes = _curves_describe(influence)
    if facts.fitted.level is None:
        describes = "The paper's surrogate describes"
    opening = f"{describes} {overall} of the model"
    basis = _basis(described)
    if facts.outcome != "regions":
        return f"{opening}{basis}."
    n_regions = len(facts.fitted.partition)
    in_regions = in_regions_text(described).share
    sentences = [f"{opening}; in {n_regions} regions, {in_regions}{basis}."]
    if described.in_regions <= described.overall:
        sentences.append("Regions do not describe it better: do not rely on them.")
    elif described.in_regions < LITTLE and not isinstance(influence, Interactions):
        sentences.append("For the rest look at pairs: influence='interaction'.")
    measured_on_search_rows = described.rows in ("fitting", "cross-validated")
    has_no_interval = math.isnan(described.low) and facts.fitted.estimate is not None
    if measured_on_search_rows and has_no_interval:
        sentences.append(f"{WHAT_GIVES_AN_INTERVAL}.")
    return " ".join(sentences)


def _basis(described: Described) -> str:
    """Interval and rows of the shares, in brackets."""
    rows = rows_in_words(described.rows, described.n_rows)
    interval = in_regions_text(described).interval
    if not interval:
        return f" ({rows})"
    return f" ({100 * described.confidence_level:g}% interval {interval}, {rows})"


def _possibly_hidden(facts: FitFacts) -> str:
    """How much may be hidden where nothing stands out, and how many rows would show half of that."""
    estimate = facts.fitted.estimate
    if estimate is None or not estimate.fidelities.is_computed or math.isnan(estimate.hidden_high):
        return ""
    high = estimate.hidden_high
    needed_rows = int(float(f"{facts.n_rows * MORE_ROWS:.2g}"))  # two digits
    return (
        f"Up to {share(high)} of the model could still be hidden; "
        f"about {needed_rows:,} rows would show {share(high / FEWER_HIDDEN)}."
    )


def _difference_removed(facts: FitFacts) -> str:
    """How large the difference of two explanations is over all rows and inside the regions, as the tree shows it."""
    if facts.outcome in ("nothing", "noise") or facts.is_doubtful:
        return ""
    if facts.outcome == "no rule":
        return "No simple rule says where."
    figures = facts.figures
    if figures is None:
        return ""
    opening = f"Inside {len(facts.fitted.partition)} regions, the difference"
    overall = figures.root.heterogeneity
    inside = figures.size(figures.by_set_inside_regions())
    basis = _basis_of_difference(facts, figures)
    if inside < overall:
        return f"{opening} falls from {amount(overall)} to {amount(inside)}{basis}."
    return f"{opening} is {amount(inside)}, over all rows {amount(overall)}{basis}."


def _basis_of_difference(facts: FitFacts, figures: NodeFigures) -> str:
    """The rows that the difference inside the regions is measured on, in brackets; before them its interval."""
    estimate = facts.fitted.estimate
    rows = f"{figures.n_rows:,} {figures.rows} rows"
    if (
        estimate is None or len(facts.fitted.questions) > 1
    ):  # of several questions it is a mean of shares
        return f" ({rows})"
    overall = figures.root.heterogeneity

    def inside(remaining: float) -> str:
        """The difference inside the regions, from the share that they leave of the squared one."""
        return amount(overall * figures.size([remaining]))

    if estimate.rows == "cross-validated":
        return f" ({rows}; cross-validated: {inside(estimate.remaining)})"
    low, high = inside(estimate.low), inside(estimate.high)
    if low == high:
        return f" ({rows})"
    return f" ({100 * estimate.confidence_level:g}% interval {low}–{high}, {rows})"
