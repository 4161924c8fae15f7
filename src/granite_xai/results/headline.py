"""The first sentence about a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from granite_xai.algebra.catalog import title as explanation_title
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.base.numbers import OutputUnit, amount
from granite_xai.fitting.remarks import DEPEND, EITHER, INTERACT, cause
from granite_xai.inference.estimate import Estimate, rows_in_words
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Partition, feature_text, word_list
from granite_xai.results.dependence import Dependence
from granite_xai.results.fit_facts import FitFacts
from granite_xai.results.output_words import OutputWords

HARDLY = 0.1  # share of a difference that a cause has to have to be named
MOST_NAMED = 4  # features that are named


def headline(facts: FitFacts, dependence: Dependence, output: OutputWords) -> str:
    """The finding in a sentence.

    Parameters
    ----------
    facts : FitFacts
    dependence : Dependence
        Whose effects depend on which features.
    output : OutputWords
        What the explained output is called.
    """
    if facts.n_rows == 1:
        return "1 row: nothing can be said."
    if facts.is_doubtful and facts.fitted.estimate is not None:
        return _doubt(facts, facts.fitted.estimate)
    if facts.is_effect:
        return _headline_of_effects(facts, dependence, output)
    sides = both_titles(facts.question)
    if facts.outcome == "nothing":
        return f"{sides} agree: there is nothing to explain."
    if facts.outcome == "noise":
        return f"{sides} differ by sampling noise only on {facts.n_rows:,} rows."
    reason = _reason(facts.question, facts.diagnostics)
    return f"{_largest_difference(facts.question, facts.figures, output.unit)} Why: {reason}."


def _doubt(facts: FitFacts, estimate: Estimate) -> str:
    """Regions were found in which the rows that judge them see nothing beyond noise."""
    n_regions = len(facts.fitted.partition)
    first_split = ""
    if facts.figures is not None and facts.figures.root.column:
        first_split = f" (first split: {feature_text(facts.figures.root.column)})"
    where = f"the {rows_in_words(estimate.rows, estimate.n_rows)}"
    if estimate.rows == "cross-validated":
        where = "rows left out in turn"
    differs = "the difference between the two explanations"
    if facts.is_effect:
        differs = "the difference between rows"
    return (
        f"The search found {n_regions} regions{first_split}, but on {where} {differs} "
        "does not stand out from sampling noise: do not rely on them."
    )


def _headline_of_effects(facts: FitFacts, dependence: Dependence, output: OutputWords) -> str:
    """The finding of a question about effects of features."""
    if facts.outcome == "nothing" and facts.model_is_unsteady:
        return "No interaction stands out from the model's own jumps: see the note."
    if facts.outcome == "nothing":
        return "No interactions: every row follows the average curves."
    if facts.outcome == "noise":
        return f"No interaction stands out from sampling noise on {facts.n_rows:,} rows."
    if facts.outcome == "no rule":
        spread = ""
        if facts.figures is not None:
            spread = f" ({_heterogeneity_text(facts.figures, output.unit)})"
        return f"Rows differ{spread}{_why_no_rule(facts.fitted.partition)}"
    return _dependence_sentence(dependence, output)


def _heterogeneity_text(figures: NodeFigures, unit: OutputUnit) -> str:
    """Heterogeneity over all rows, in units of the output where it is a root."""
    if not figures.is_rooted:
        return f"±{amount(figures.root.heterogeneity)}"
    return unit.spread(figures.root.heterogeneity)


def _why_no_rule(partition: Partition) -> str:
    """The end of the sentence about rows that differ in one region.

    There was no search, or it found no rule.
    """
    (region,) = partition
    if region.stop_reason == "maximum depth":
        return ". No regions were searched (max_depth=0)."
    if region.stop_reason == "too few samples":
        return f"; {region.n_samples:,} rows are too few to search for regions."
    return ", but no simple rule says where."


def _dependence_sentence(dependence: Dependence, output: OutputWords) -> str:
    """``The effects of hr and temp on the probability depend on workingday.``."""
    on_output = f" on {output.target}" if output.target else ""
    names = [feature_text(feature) for feature in dependence.features]
    first_split = feature_text(dependence.first_split)
    if not names and first_split:
        return f"Effects{on_output} differ between regions, which {first_split} divides first."
    if not names:
        return f"Effects{on_output} differ between regions."
    if dependence.is_mutual:
        effects = f"The effects of {_first_names(names)}{on_output}"
        on_first_split = ""
        if first_split and first_split not in names:
            on_first_split = f"on {first_split} and "
        return f"{effects} depend {on_first_split}on each other."
    moderators = [feature_text(feature) for feature in dependence.moderators]
    if len(names) == 1:
        subject = f"The effect of {names[0]}{on_output}"
        depends = "depends"
        differs = "differs"
    else:
        subject = f"The effects of {word_list(names)}{on_output}"
        depends = "depend"
        differs = "differ"
    if not moderators:
        return f"{subject} {differs} between regions."
    return f"{subject} {depends} on {word_list(moderators)}."


def _first_names(names: list[str]) -> str:
    """``a, b, c and 2 more``; all of them where there are few."""
    if len(names) <= MOST_NAMED:
        return word_list(names)
    n_named = MOST_NAMED - 1
    return word_list([*names[:n_named], f"{len(names) - n_named} more"])


def both_titles(question: Disagreement) -> str:
    """Both explanations of a question by name, as the beginning of a sentence."""
    first = explanation_title(question.first.name, "first")
    second = explanation_title(question.second.name, "second")
    text = f"{first} and {second}"
    return text[:1].upper() + text[1:]


def _reason(question: Disagreement, diagnostics: Mapping[str, Any]) -> str:
    """What makes two explanations differ, as far as an additive model of the fit can tell."""
    reason = cause(question)
    record = (diagnostics.get("cause") or {}).get(question.label) or {}
    share_without_interactions = record.get("without_interactions")
    if reason != EITHER or share_without_interactions is None:
        return reason
    if share_without_interactions < HARDLY:
        return INTERACT
    if share_without_interactions > 1.0 - HARDLY:
        return DEPEND
    return reason


def _largest_difference(
    question: Disagreement, figures: NodeFigures | None, unit: OutputUnit
) -> str:
    """The feature for which two explanations differ most, and by how much."""
    sides = both_titles(question)
    if figures is None:
        return f"{sides} differ."
    root = figures.root
    number = max(range(len(figures.sets)), key=lambda index: root.by_set[index])
    feature = " × ".join(feature_text(member) for member in figures.sets[number])
    if root.first:  # sensitivity and risk: one value of each explanation for all rows
        values = f"{amount(root.first[number])} and {amount(root.second[number])}"
        return f"{sides} differ most for {feature}: {values}."
    gap = max(root.by_set[number], 0.0)
    size = f"±{amount(gap)}"
    if figures.is_rooted:
        size = unit.spread(math.sqrt(gap))
    return f"{sides} differ most for {feature}, by {size} at single rows."
