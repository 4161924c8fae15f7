"""What a fit found, in sentences: finding, how much better, notes.

Printed results and the report say the same, from here. Nothing is computed that asks the model: what
a fit does not know (any more) is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from granite_xai.base.formats import (
    OutputUnit,
    amount,
    share,
    share_interval,
    share_with_interval,
)
from granite_xai.base.text import plain, shortened
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.explanation.catalog import title as explanation_title
from granite_xai.explanation.influence import Interactions
from granite_xai.fitting.causes import DEPEND, EITHER, INTERACT, cause
from granite_xai.fitting.fit_result import FitResult
from granite_xai.inference.estimate import WHAT_GIVES_AN_INTERVAL, rows_in_words
from granite_xai.inference.node_figures import NodeFigures
from granite_xai.regions.words import Vocabulary, vocabulary
from granite_xai.results.contrasts import is_quiet
from granite_xai.results.dependence import Dependence, dependence
from granite_xai.results.notes import WAVERING, notes_of
from granite_xai.results.output_words import OutputWords, output_words
from granite_xai.results.region_shapes import shape_sentences

Case = Literal["regions", "nothing", "noise", "no rule"]

LITTLE = 0.75  # share described in regions below which pairs of features are recommended
HARDLY = 0.1  # share of a difference that a cause has to have to be named
MOST_NAMED = 4  # features that the first sentence names
FEWER_HIDDEN = 2.0  # times fewer that so many more rows could hide:
MORE_ROWS = 4  # the upper bound of what is hidden falls like one over the root of the rows


class Described(NamedTuple):
    """Share of the model that curves describe.

    Attributes
    ----------
    overall, in_regions : float
        With one curve per feature, and with one per feature and region; NaN: not known.
    low, high : float
        Interval of the share in regions; NaN: there is none.
    confidence_level : float
    rows : "held-out", "given", "cross-validated", "fitting"
        What rows these are shares of.
    n_rows : int
    """

    overall: float
    in_regions: float
    low: float
    high: float
    confidence_level: float
    rows: str
    n_rows: int


@dataclass(frozen=True, eq=False)
class Finding:
    """What a fit found.

    Attributes
    ----------
    case : "regions", "nothing", "noise" or "no rule"
        Regions were found; there is nothing to explain; nothing beyond sampling noise; rows differ,
        but no rule says where.
    is_effect : bool
        Whether the question is about effects of features (ICE and PDP), whose heterogeneity
        interactions make; others compare two explanations.
    headline : str
        The finding in a sentence, without markup.
    details : str
        Where the main feature does what, and where predictions vary little; may be empty.
    benefit : str
        How much of the model curves describe; may be empty.
    by_question : tuple of str
        A sentence for each of several questions or outputs.
    notes : tuple of str
        What a reader should know before relying on it, most important first.
    dependence : Dependence
    described : Described
    output : OutputWords
    vocabulary : mapping
        What the words of rules need to know.
    quiet_regions : tuple of int
        Where predictions vary far less than overall.
    """

    case: Case
    is_effect: bool
    headline: str
    details: str
    benefit: str
    by_question: tuple[str, ...]
    notes: tuple[str, ...]
    dependence: Dependence
    described: Described | None
    output: OutputWords
    vocabulary: Vocabulary
    quiet_regions: tuple[int, ...]

    @property
    def main_feature(self) -> str:
        """The feature that the finding is about; empty where it is about none."""
        return self.dependence.features[0] if self.dependence.features else ""


def finding_of(
    fitted: FitResult, diagnostics: Mapping[str, Any], target: str = "", unit: str = ""
) -> Finding:
    """What a fit found.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    target, unit : str
        Name and unit of the target, where the caller knows better than the fit.

    Returns
    -------
    Finding
    """
    output = output_words(fitted.predictor, target or diagnostics.get("target") or "", unit)
    words_of_rules = vocabulary(fitted.partition.rules, fitted.table)
    figures = fitted.nodes[0] if fitted.nodes else None
    question = fitted.comparisons[0].question
    is_effect = question.behavior.key == "local" and cause(question) == INTERACT
    case = _case(fitted)
    described = described_share(fitted)
    depends = Dependence((), (), is_mutual=False)
    if case == "regions" and figures is not None:
        depends = dependence(figures)
    quiet = _quiet_regions(figures)
    details = ""
    if case == "regions" and is_effect and figures is not None:
        details = shape_sentences(fitted, figures, depends, quiet, output, words_of_rules)
    return Finding(
        case=case,
        is_effect=is_effect,
        headline=_headline(fitted, case, is_effect, depends, output, diagnostics),
        details=details,
        benefit=_benefit(fitted, case, is_effect, described, diagnostics),
        by_question=_by_question(fitted, case),
        notes=tuple(notes_of(fitted.partition, diagnostics, words_of_rules)),
        dependence=depends,
        described=described,
        output=output,
        vocabulary=words_of_rules,
        quiet_regions=quiet,
    )


def _case(fitted: FitResult) -> Case:
    if len(fitted.partition) > 1:
        return "regions"
    if fitted.below_noise_floor:
        return "nothing"
    estimate = fitted.estimate
    if fitted.by_chance or (estimate is not None and math.isnan(estimate.remaining)):
        return "noise"
    return "no rule"


def _quiet_regions(figures: NodeFigures | None) -> tuple[int, ...]:
    """Regions in which predictions vary far less than overall.

    None where that would be all of them: then regions differ by their level, and their curves tell what happens inside.
    """
    if figures is None or len(figures.leaves) < 2:
        return ()
    spread = figures.root.spread
    quiet = tuple(leaf.region for leaf in figures.leaves if is_quiet(leaf.spread, spread))
    if len(quiet) == len(figures.leaves):
        return ()
    return quiet


def described_share(fitted: FitResult) -> Described | None:
    """Share of the model that curves describe; None where nobody has asked for it yet."""
    estimate = fitted.estimate
    if estimate is not None and estimate.fidelities.is_computed:
        return Described(
            overall=estimate.global_fidelity,
            in_regions=estimate.fidelity,
            low=estimate.fidelity_low,
            high=estimate.fidelity_high,
            confidence_level=estimate.confidence_level,
            rows=estimate.rows,
            n_rows=estimate.n_rows,
        )
    if estimate is None and fitted.additive.is_computed:
        return Described(
            overall=fitted.additive.value.global_fidelity,
            in_regions=fitted.additive.value.fidelity,
            low=math.nan,
            high=math.nan,
            confidence_level=math.nan,
            rows="fitting",
            n_rows=len(fitted.regions),
        )
    return None


def named(feature: str) -> str:
    """The name of a feature as it is shown."""
    return shortened(plain(feature))


def joined(texts: Sequence[str]) -> str:
    """``a, b and c``."""
    *first, last = texts
    return f"{', '.join(first)} and {last}" if first else last


def _headline(
    fitted: FitResult,
    case: Case,
    is_effect: bool,
    depends: Dependence,
    output: OutputWords,
    diagnostics: Mapping[str, Any],
) -> str:
    question = fitted.comparisons[0].question
    figures = fitted.nodes[0] if fitted.nodes else None
    if _is_one_row(fitted):
        return "1 row: nothing can be said."
    if case == "nothing" and is_effect and _jumps(diagnostics):
        return "No interaction stands out from the model's own jumps: see the note."
    if case == "nothing" and is_effect:
        return "No interactions: every row follows the average curves."
    if case == "nothing":
        return f"{_sides(question)} agree: there is nothing to explain."
    if case == "noise" and is_effect:
        rows = _rows_looked_at(fitted)
        return f"No interaction stands out from sampling noise on {rows:,} rows."
    if case == "noise":
        rows = _rows_looked_at(fitted)
        return f"{_sides(question)} differ by sampling noise only on {rows:,} rows."
    if not is_effect:
        reason = _reason(question, diagnostics)
        return f"{_largest_difference(question, figures, output.unit)} Why: {reason}."
    if case == "no rule":
        spread = "" if figures is None else f" ({_stray(figures, output.unit)})"
        return f"Rows differ{spread}{_why_no_rule(fitted)}"
    return _dependence_headline(depends, output)


def _is_one_row(fitted: FitResult) -> bool:
    return _rows_looked_at(fitted) == 1


def _why_no_rule(fitted: FitResult) -> str:
    """The end of the sentence about rows that differ in one region: nothing was searched, or nothing found."""
    (region,) = fitted.partition
    if region.stop_reason == "maximum depth":
        return ". No regions were searched (max_depth=0)."
    if region.stop_reason == "too few samples":
        return f"; {region.n_samples:,} rows are too few to search for regions."
    return ", but no simple rule says where."


def _jumps(diagnostics: Mapping[str, Any]) -> bool:
    """Whether the model's answers jump or waver, so that little stands out from them."""
    return any(warning.startswith(WAVERING) for warning in diagnostics.get("warnings", ()))


def _sides(question: Disagreement) -> str:
    """Both explanations of a question by name, as the beginning of a sentence."""
    first = explanation_title(question.first.name, "first")
    second = explanation_title(question.second.name, "second")
    text = f"{first} and {second}"
    return text[:1].upper() + text[1:]


def _rows_looked_at(fitted: FitResult) -> int:
    """Search rows and held-out rows."""
    searched = sum(region.n_samples for region in fitted.partition)
    estimate = fitted.estimate
    if estimate is not None and estimate.rows == "held-out":
        return searched + estimate.n_rows
    return searched


def _stray(figures: NodeFigures, unit: OutputUnit) -> str:
    if not figures.is_rooted:
        return f"±{amount(figures.root.heterogeneity)}"
    return unit.spread(figures.root.heterogeneity)


def _dependence_headline(depends: Dependence, output: OutputWords) -> str:
    on_target = f" on {output.target}" if output.target else ""
    if depends.is_mutual:
        names = [named(feature) for feature in depends.features]
        shown = names if len(names) <= MOST_NAMED else names[: MOST_NAMED - 1]
        further = len(names) - len(shown)
        listed = joined([*shown, f"{further} more"] if further else shown)
        return f"The effects of {listed}{on_target} depend on each other."
    moderators = joined([named(name) for name in depends.moderators]) if depends.moderators else ""
    if not depends.features:
        return f"Effects{on_target} differ between regions."
    names = [named(feature) for feature in depends.features]
    noun = "effect" if len(names) == 1 else "effects"
    verb = "depends" if len(names) == 1 else "depend"
    if not moderators:
        differs = "differs" if len(names) == 1 else "differ"
        return f"The {noun} of {joined(names)}{on_target} {differs} between regions."
    return f"The {noun} of {joined(names)}{on_target} {verb} on {moderators}."


def _reason(question: Disagreement, diagnostics: Mapping[str, Any]) -> str:
    """What makes two explanations differ, as far as an additive model of the fit can tell."""
    noted = (diagnostics.get("cause") or {}).get(question.label) or {}
    without_interactions = noted.get("without_interactions")
    reason = cause(question)
    if reason == EITHER and without_interactions is not None:
        if without_interactions < HARDLY:
            reason = INTERACT
        elif without_interactions > 1.0 - HARDLY:
            reason = DEPEND
    return reason


def _largest_difference(
    question: Disagreement, figures: NodeFigures | None, unit: OutputUnit
) -> str:
    """The feature for which two explanations differ most, and by how much."""
    if figures is None:
        return f"{_sides(question)} differ."
    root = figures.root
    number = max(range(len(figures.sets)), key=lambda index: root.by_set[index])
    feature = " × ".join(named(member) for member in figures.sets[number])
    if root.first:
        values = f"{amount(root.first[number])} and {amount(root.second[number])}"
        return f"{_sides(question)} differ most for {feature}: {values}."
    size = max(root.by_set[number], 0.0)
    stray = unit.spread(math.sqrt(size)) if figures.is_rooted else f"±{amount(size)}"
    return f"{_sides(question)} differ most for {feature}, by {stray} at single rows."


def _benefit(
    fitted: FitResult,
    case: Case,
    is_effect: bool,
    described: Described | None,
    diagnostics: Mapping[str, Any],
) -> str:
    if _is_one_row(fitted):
        return ""
    if case == "nothing" and is_effect and _jumps(diagnostics):
        return "" if described is None else _described_sentence(fitted, case, described)
    if case == "nothing":
        return f"{_curves(fitted)} the whole model." if is_effect else ""
    if case == "noise":
        return _hidden(fitted) if is_effect else ""
    if not is_effect:
        return _difference_gone(fitted, case)
    if described is None:
        return ""
    return _described_sentence(fitted, case, described)


def _curves(fitted: FitResult) -> str:
    """What describes the model, with its verb."""
    influence = fitted.comparisons[0].question.first.influence
    if isinstance(influence, Interactions):
        return f"The effects of up to {influence.order} features describe"
    if influence.key == "individual":
        return "One curve per feature describes"
    return "One effect per feature or group describes"


def _described_sentence(fitted: FitResult, case: Case, described: Described) -> str:
    opening = f"{_curves(fitted)} {_share_described(described.overall)} of the model"
    basis = _basis(described)
    if case != "regions":
        return f"{opening}{basis}."
    inside, _ = in_regions_text(described)
    sentence = f"{opening}; in {len(fitted.partition)} regions, {inside}{basis}."
    influence = fitted.comparisons[0].question.first.influence
    if described.in_regions <= described.overall:
        sentence += " Regions do not describe it better: do not rely on them."
    elif described.in_regions < LITTLE and not isinstance(influence, Interactions):
        sentence += " For the rest look at pairs: influence='interaction'."
    is_own = described.rows in ("fitting", "cross-validated")
    if is_own and math.isnan(described.low) and fitted.estimate is not None:
        sentence += f" {WHAT_GIVES_AN_INTERVAL}."
    return sentence


def _share_described(value: float) -> str:
    return share(max(value, 0.0))


def in_regions_text(described: Described) -> tuple[str, str]:
    """The share described in regions, and its interval; empty: there is none.

    Parameters
    ----------
    described : Described
    """
    value = max(described.in_regions, 0.0)
    if math.isnan(described.low):
        return share(value), ""
    return share_with_interval(value, max(described.low, 0.0), described.high)


def _basis(described: Described) -> str:
    """Interval and rows of the shares, in brackets."""
    parts = []
    _, interval = in_regions_text(described)
    if interval:
        level = f"{100 * described.confidence_level:g}%"
        parts.append(f"{level} interval {interval}")
    parts.append(rows_in_words(described.rows, described.n_rows))
    return f" ({', '.join(parts)})"


def _hidden(fitted: FitResult) -> str:
    """How much may be hidden where nothing stands out, and how many rows would show half of that."""
    estimate = fitted.estimate
    if estimate is None or not estimate.fidelities.is_computed:
        return ""
    high = estimate.hidden_high
    if math.isnan(high):
        return ""
    rows = _rows_looked_at(fitted) * MORE_ROWS
    rounded = int(float(f"{rows:.2g}"))
    return (
        f"Up to {share(high)} of the model could still be hidden; "
        f"about {rounded:,} rows would show {share(high / FEWER_HIDDEN)}."
    )


def _difference_gone(fitted: FitResult, case: Case) -> str:
    if case == "no rule":
        return "No simple rule says where."
    estimate = fitted.estimate
    remaining = fitted.remaining if estimate is None else estimate.remaining
    if math.isnan(remaining):
        return "On the rows that judge them alone, the difference does not stand out from sampling noise."
    interval = ""
    if estimate is not None and not math.isnan(estimate.low):
        low = max(1.0 - estimate.high, 0.0)
        interval = f" ({share_interval(low, 1.0 - estimate.low)})"
    gone = share(max(1.0 - remaining, 0.0))
    return f"Inside {len(fitted.partition)} regions, {gone} of the difference is gone{interval}."


def _by_question(fitted: FitResult, case: Case) -> tuple[str, ...]:
    """How much of the heterogeneity regions remove, for each of several questions or outputs."""
    if case != "regions" or len(fitted.comparisons) < 2 or not fitted.nodes:
        return ()
    titles = [figures.question for figures in fitted.nodes]
    if len(fitted.outputs) == len(fitted.nodes):  # one question about several outputs
        titles = [str(name) for name in fitted.outputs]
    return tuple(
        f"{plain(title)}: regions remove {share(removed_share(figures))} of the heterogeneity."
        for title, figures in zip(titles, fitted.nodes, strict=True)
    )


def removed_share(figures: NodeFigures) -> float:
    """Share of the heterogeneity (of squares) over all rows that regions remove; NaN where there is none."""
    whole = math.fsum(figures.root.by_set)
    if not whole > 0:
        return math.nan
    return max(float(figures.removed.sum()) / whole, 0.0)
