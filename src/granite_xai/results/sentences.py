"""What a fit says: its facts in English, the only sentences about a fit.

A `Sentence` is text that carries the figures it states, so that each of them can be computed anew. Who speaks first: a
doubt about the whole result; that one curve per feature is nearly enough; the finding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.catalog import title as explanation_title
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.influence import Interactions
from granite_xai.base.numbers import (
    OutputUnit,
    amount,
    share,
)
from granite_xai.base.text import capitalized, plain, shortened
from granite_xai.curves.shared import SharedCurve
from granite_xai.fitting.remarks import DEPEND, EITHER, INTERACT, cause
from granite_xai.inference.estimate import WHAT_GIVES_AN_INTERVAL, rows_in_words
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Rule, feature_text, rule_in_sentence, word_list
from granite_xai.results.facts import (
    FEW_ROWS,
    LARGE,
    Dependence,
    Described,
    FitFacts,
    Outcome,
    is_about_effects,
)
from granite_xai.results.shapes import (
    ERRORS,
    Shape,
    common_levels,
    distance_apart,
)

MOST_TIMES = 10  # ratio of errors beyond which its size says nothing more
MOST_NAMED = 4  # features that the finding names
MOST_LISTED = 3  # features that a list of the curves names
MOST_BY_RULE = 2  # small regions that are named by their rules
MOST_CONTRASTS = 3  # features of which a region says what is its own
HARDLY = 0.1  # share of a difference that a cause has to have to be named
NEARLY_ENOUGH = 0.03  # share of the model that regions have to add to be the finding
STRONGER = 1.3  # ratio of ranges from which a feature is said to do more
COMPARABLE = 0.3  # ratio of ranges below which strength is the news, not what a curve does
HIDDEN = 2.0  # how many times the range single rows move where the average is said to hide it
DIFFER = ("differs by region", "differ by region")
DIVIDE = ("divides the regions and has one curve", "divide the regions and have one curve each")
HARDLY_MATTER = ("hardly matters", "hardly matter")
SAME = ("is the same everywhere", "are the same everywhere")
ALIKE = 0.8  # adjusted Rand index from which other searches found nearly the same regions

# The upper bound of what is hidden falls like one over the root of the rows:
MORE_ROWS = 4  # with so many times more rows
FEWER_HIDDEN = 2.0  # so many times less may be hidden


class Fact(NamedTuple):
    """A figure that a sentence states.

    Attributes
    ----------
    what : str
        "described", "described in regions", "range", "spread", "shape", "apart", "stray", "difference", "rows",
        "curves", "regions", "halves", …
    value : float
    error : float
        Its standard error, where there is one.
    feature : str
        Which it is about.
    regions : tuple of int
        Whose rows it is of; empty: of all rows.
    rows : str
        "search", "held-out", "cross-validated", "given" or "fitting".
    shape : Shape or None
        Of a shape what the curve is said to do.
    """

    what: str
    value: float
    error: float = math.nan
    feature: str = ""
    regions: tuple[int, ...] = ()
    rows: str = "search"
    shape: Shape | None = None


class Sentence(str):
    """A sentence or more with the figures that it states."""

    facts: tuple[Fact, ...]

    def __new__(cls, text: str, facts: Sequence[Fact] = ()) -> Sentence:
        """Text with its figures."""
        sentence = super().__new__(cls, text)
        sentence.facts = tuple(facts)
        return sentence


NOTHING = Sentence("")


# The explained output ---------------------------------------------------------------------------------


class OutputWords(NamedTuple):
    """Names of the explained output, and its unit.

    Attributes
    ----------
    name : str
        As the subject of a sentence.
    target : str
        What the first sentence says that the effects are on: the name for a classifier; otherwise empty.
    unit : OutputUnit
    """

    name: str
    target: str
    unit: OutputUnit


def output_words(predictor: Any, target: str = "", unit: str = "") -> OutputWords:
    """How an output is called.

    Parameters
    ----------
    predictor : Predictor
        Of the fit; that of a fit loaded without its model knows enough.
    target : str
        Name of the target, where the fit was given one.
    unit : str
        Of the target, where the user gave one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from granite_xai.models import RESPONSE
    >>> plain_output = {"output_name": None, "scale": RESPONSE}
    >>> rentals = SimpleNamespace(is_probability=False, explained_class=None, **plain_output)
    >>> output_words(rentals, "cnt").name
    'predicted cnt'
    >>> income = SimpleNamespace(is_probability=True, explained_class=1, **plain_output)
    >>> output_words(income, "income").name
    'the probability of income = 1'
    """
    if predictor.output_name is None:
        words = _class_or_number(predictor, target, unit)
    else:
        words = _named_output(predictor, unit)
    scale = predictor.scale
    if scale.is_response:
        return words
    return words._replace(
        target=f"the {scale.title(words.name.removeprefix('the '))}",
        unit=replace(words.unit, scale=scale.name),
    )


def _class_or_number(predictor: Any, target: str, unit: str) -> OutputWords:
    """How the probability or the score of a class is called, or the only number that a model predicts."""
    target_text = shortened(plain(target))
    label = predictor.explained_class
    label_text = shortened(plain(label))
    of_class = f"{target_text} = {label_text}" if target_text else f"class {label_text}"
    if predictor.is_probability:
        name = "the predicted probability" if label is None else f"the probability of {of_class}"
        return OutputWords(name=name, target=name, unit=OutputUnit(probability=True))
    if label is not None:
        name = f"the score of {of_class}"
        return OutputWords(name=name, target=name, unit=OutputUnit(unit=unit))
    name = f"predicted {target_text}" if target_text else "the prediction"
    return OutputWords(name=name, target="", unit=OutputUnit(unit=unit))


def _named_output(predictor: Any, unit: str) -> OutputWords:
    """How an output is called that has a name and is no class, such as a forecast or a probability at some time."""
    label = shortened(plain(predictor.output_name))
    speaks_for_all = bool(predictor.outputs)
    if predictor.is_survival:
        at_time = "" if speaks_for_all else f" at {label}"
        name = f"the probability of survival{at_time}"
    elif predictor.axis is not None:
        axis = plain(predictor.axis.name)
        name = (
            f"the prediction at each {axis}"
            if speaks_for_all
            else f"the prediction at {axis} {label}"
        )
    else:
        name = "the outputs" if speaks_for_all else f"predicted {label}"
    is_probability = predictor.is_probability
    return OutputWords(
        name, name, OutputUnit(unit="" if is_probability else unit, probability=is_probability)
    )


def name_of_output(predictor: Any, name: Any) -> str:
    """How one of several outputs is called beside others: "t = 12", "horizon 24", "output 0", "setosa".

    Parameters
    ----------
    predictor : Predictor
        Of all of them.
    name : object
    """
    if predictor.axis is not None and not predictor.is_survival:
        return shortened(plain(f"{predictor.axis.name} {name}"))
    is_class = predictor.classes is not None
    return shortened(plain(str(name) if is_class or isinstance(name, str) else f"output {name}"))


# All of it --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class FitFinding:
    """What a fit found, in sentences; without the fit.

    Attributes
    ----------
    outcome : "regions", "nothing", "noise" or "no rule"
    is_effect : bool
        Whether the question is about effects of features (ICE and PDP).
    headline : Sentence
        The finding.
    details : Sentence
        What the main feature does where, and where predictions vary little; may be empty.
    benefit : Sentence
        How much of the model curves describe; may be empty.
    curves : Sentence
        How many curves there are, which features differ by region and which do not; may be empty.
    errors : Sentence
        Where the model errs more than elsewhere; empty where nothing stands out of chance, or y is not known.
    by_question : tuple of Sentence
        One for each of several questions or outputs.
    doubts : tuple of Sentence
        Reasons not to rely on it, the strongest first.
    notes : tuple of Sentence
        What else a reader should know.
    stability : Sentence
        What searches on half the rows said; empty: nobody asked for them, or a doubt says it.
    rows : Sentence
        How many rows there are, and which of them say what.
    rows_of_errors : Sentence
        On which rows the errors are that the tree shows; may be empty.
    main_feature : str
        The feature that the finding is about; empty where it is about none.
    """

    outcome: Outcome
    is_effect: bool
    headline: Sentence
    details: Sentence
    benefit: Sentence
    curves: Sentence
    errors: Sentence
    by_question: tuple[Sentence, ...]
    doubts: tuple[Sentence, ...]
    notes: tuple[Sentence, ...]
    stability: Sentence
    rows: Sentence
    rows_of_errors: Sentence
    main_feature: str


def finding_of(facts: FitFacts, output: OutputWords) -> FitFinding:
    """What a fit found.

    Parameters
    ----------
    facts : FitFacts
    output : OutputWords
    """
    features = facts.dependence.features
    notes = []
    if "errors" in facts.diagnostics:
        notes.append(Sentence(facts.diagnostics["errors"], [_n_regions(facts)]))
    if "alpha" in facts.diagnostics:
        notes.append(Sentence(facts.diagnostics["alpha"]["text"], [_n_regions(facts)]))
    return FitFinding(
        outcome=facts.outcome,
        is_effect=facts.is_effect,
        headline=_headline(facts, output),
        details=_details(facts, output),
        benefit=_benefit(facts),
        curves=_curves_line(facts),
        errors=_errors(facts),
        by_question=_by_question(facts, output.unit),
        doubts=tuple(_doubts(facts)),
        notes=tuple(notes),
        stability=_stability(facts),
        rows=_rows(facts),
        rows_of_errors=_rows_of_errors(facts),
        main_feature=features[0] if features else "",
    )


# The first sentence -----------------------------------------------------------------------------------


def _headline(facts: FitFacts, output: OutputWords) -> Sentence:
    """The finding in a sentence."""
    n_rows = facts.n_search_rows + facts.n_held_out_rows
    counted = Fact("rows", n_rows)
    sides = _both_titles(facts.question)
    if n_rows == 1:
        return Sentence("1 row: nothing can be said.", [counted])
    if facts.is_doubtful:
        return _doubt_about_all(facts)
    if facts.outcome == "nothing":
        text = f"No interactions{_on_scale(facts)}: every row follows the average curves."
        if not facts.is_effect:
            text = f"{sides} agree: there is nothing to explain."
        elif facts.wavering:
            text = "No interaction stands out from the model's own jumps: see the note."
        elif facts.is_constant:
            text = "The model gives every row the same prediction: there is nothing to explain."
        return Sentence(text, [_stray(facts)])
    if facts.outcome == "noise":
        text = f"{sides} differ by sampling noise only on {n_rows:,} rows."
        if facts.is_effect:
            text = f"No interaction{_on_scale(facts)} stands out from sampling noise on {n_rows:,} rows."
        return Sentence(text, [counted])
    if not facts.is_effect:
        return _largest_difference(facts, output.unit)
    if facts.outcome == "no rule":
        return _differ_without_rule(facts, output.unit)
    finding = _finding(facts, output)
    if facts.described is not None and facts.described.needs_no_regions_there:
        return _no_regions_needed(facts, facts.described, output)
    return _nearly_enough(facts, finding)


def _finding(facts: FitFacts, output: OutputWords) -> Sentence:
    """What depends on what, or that regions differ in their level alone."""
    if facts.curves is not None and not facts.curves.differs:
        return _means_differ(facts, output.unit)
    return _dependence_sentence(facts.dependence, output)


def _no_regions_needed(facts: FitFacts, described: Described, output: OutputWords) -> Sentence:
    """That one curve per feature on another scale describes as much as the regions do."""
    n_regions = len(facts.fitted.partition)
    on_output = _own_scale(output)
    return Sentence(
        f"No regions needed on the {described.other_scale} scale: one curve per feature describes "
        f"{share(described.on_other_scale)} of the model ({n_regions} regions on {on_output}: "
        f"{share(described.in_regions)}).",
        [*_described_facts(described), _on_other_scale(described), _n_regions(facts)],
    )


def _own_scale(output: OutputWords) -> str:
    """What regions are of where they are not those of another scale."""
    return "the probability" if output.unit.probability else "the prediction"


def _on_other_scale(described: Described) -> Fact:
    return Fact("described on another scale", described.on_other_scale, rows=described.rows)


def _on_scale(facts: FitFacts) -> str:
    """On which scale effects are compared, where that is not the prediction's own."""
    phrase = facts.fitted.model.scale.phrase
    return f" {phrase}" if phrase else ""


def _doubt_about_all(facts: FitFacts) -> Sentence:
    """Regions were found in which the rows that judge them see nothing beyond noise."""
    estimate = facts.fitted.estimate
    where = "rows left out in turn"
    if estimate is not None and estimate.rows != "cross-validated":
        where = f"the {rows_in_words(estimate.rows, estimate.n_rows)}"
    column = facts.figures.root.column
    first_split = f" (first split: {feature_text(column)})" if column else ""
    differs = "rows" if facts.is_effect else "the two explanations"
    return Sentence(
        f"The search found {len(facts.fitted.partition)} regions{first_split}, but on {where} the difference "
        f"between {differs} does not stand out from sampling noise: do not rely on them.",
        [_n_regions(facts)],
    )


def _differ_without_rule(facts: FitFacts, unit: OutputUnit) -> Sentence:
    """Rows differ in one region: there was no search, or it found no rule."""
    (region,) = facts.fitted.partition
    why = ", but no simple rule says where."
    if region.stop_reason == "maximum depth":
        why = ". No regions were searched (max_depth=0)."
    elif region.stop_reason == "too few samples":
        why = f"; {region.n_samples:,} rows are too few to search for regions."
    size = _spread(facts.figures, facts.figures.root.heterogeneity, unit)
    return Sentence(f"Rows differ ({size}){why}", [_stray(facts)])


def _nearly_enough(facts: FitFacts, finding: Sentence) -> Sentence:
    """That regions add little, where they do; the finding where they add more."""
    described = facts.described
    if described is None or facts.fitted.level is None:
        return finding
    gain = described.in_regions - described.overall
    if not 0 <= gain < NEARLY_ENOUGH:
        return finding
    points = "less than 1 point"
    if gain >= 0.005:
        points = f"{100 * gain:.0f} point{'s' if gain >= 0.015 else ''}"
    what, it, describe = what_describes(facts)
    where = f"where {finding[:1].lower()}{finding[1:]}"
    overall = f"{describe} {described.overall_text} of the model"
    are = "is" if it == "it" else "are"
    text = f"{capitalized(what)} {are} nearly enough: {it} {overall}; regions add {points}, {where}"
    if described.overall < LARGE:
        text = f"Regions help little: {what} {overall}, and they add {points}, {where}"
    return Sentence(text, [*_described_facts(described), *finding.facts])


def _n_regions(facts: FitFacts) -> Fact:
    return Fact("regions", len(facts.fitted.partition))


def _stray(facts: FitFacts) -> Fact:
    """How far rows stray on all rows."""
    return Fact("stray", facts.figures.root.heterogeneity, rows=facts.figures.rows)


def _spread(figures: NodeFigures, size: float, unit: OutputUnit) -> str:
    """How far rows stray, in the unit of the output where the loss is squared."""
    return unit.spread(size) if figures.is_rooted else f"±{amount(size)}"


def _dependence_sentence(dependence: Dependence, output: OutputWords) -> Sentence:
    """``The effects of hr and temp on the probability depend on workingday.``."""
    stated = [
        Fact("apart", size, feature=feature)
        for feature, size in zip(dependence.features, dependence.sizes, strict=True)
    ]
    stated += [Fact("split on", 1.0, feature=name) for name in dependence.moderators]
    on_output = f" on {output.target}" if output.target else ""
    features = dependence.features
    moderators = [feature_text(feature) for feature in dependence.moderators]
    if features:
        plural = "s" if len(features) > 1 else ""
        singular = "" if plural else "s"
        verb = f"differ{singular} between regions"
        if moderators:
            verb = f"depend{singular} on {word_list(moderators)}"
        text = f"The effect{plural} of {first_names(features, MOST_NAMED)}{on_output} {verb}."
    else:
        first_split = feature_text(dependence.first_split)
        divides = f", which {first_split} divides first" if first_split else ""
        text = f"Effects{on_output} differ between regions{divides}."
    return Sentence(text, stated)


def _means_differ(facts: FitFacts, unit: OutputUnit) -> Sentence:
    """That regions have the same curves, and differ in their mean alone."""
    leaves = facts.figures.leaves
    means = [leaf.mean for leaf in leaves]
    ends = f"{unit.level(min(means))} to {unit.level(max(means))}"
    return Sentence(
        f"Regions differ mostly in the level of predictions (means {ends}), hardly in the shape of effects.",
        [Fact("mean prediction", leaf.mean, regions=(leaf.region,)) for leaf in leaves],
    )


def first_names(features: Sequence[str], most: int) -> str:
    """``a, b, c and 2 more``; all of them where there are few.

    Parameters
    ----------
    features : sequence of str
    most : int
        Names, or names and the number of the others.
    """
    names = [feature_text(feature) for feature in features]
    if len(names) > most:
        names[most - 1 :] = [f"{len(names) - most + 1} more"]
    return word_list(names)


def clause(features: Sequence[str], verbs: tuple[str, str], most: int) -> str:
    """What some features do: ``hr and temp differ by region``.

    Parameters
    ----------
    features : sequence of str
        At least one.
    verbs : (str, str)
        What one does, and what several do.
    most : int
        Names, as in `first_names`.
    """
    return f"{first_names(features, most)} {verbs[len(features) > 1]}"


def _both_titles(question: Disagreement) -> str:
    """Both explanations of a question by name, as the beginning of a sentence."""
    first = explanation_title(question.first.name, "first")
    second = explanation_title(question.second.name, "second")
    return capitalized(f"{first} and {second}")


def _largest_difference(facts: FitFacts, unit: OutputUnit) -> Sentence:
    """The feature for which two explanations differ most, by how much, and why."""
    figures = facts.figures
    root = figures.root
    number = max(range(len(figures.sets)), key=lambda index: root.by_set[index])
    feature = word_list(figures.sets[number])
    differ = f"{_both_titles(facts.question)} differ most for {feature_text(feature)}"
    why = f"Why: {_reason(facts)}."
    if root.first:  # sensitivity and risk: one value of each explanation for all rows
        sizes = root.first[number], root.second[number]
        stated = [Fact("importance", value, feature=feature, rows=figures.rows) for value in sizes]
        return Sentence(f"{differ}: {' and '.join(map(amount, sizes))}. {why}", stated)
    size = figures.size([root.by_set[number]])
    fact = Fact("difference", size, feature=feature, rows=figures.rows)
    by = _spread(figures, size, unit)
    return Sentence(f"{differ}, by {by} at single rows. {why}", [fact])


def _reason(facts: FitFacts) -> str:
    """What makes two explanations differ, as far as an additive model of the fit can tell."""
    reason = cause(facts.question)
    record = facts.diagnostics.get("cause", {}).get(facts.question.label, {})
    share_without_interactions = record.get("without_interactions")
    if reason != EITHER or share_without_interactions is None:
        return reason
    if share_without_interactions < HARDLY:
        return INTERACT
    if share_without_interactions > 1.0 - HARDLY:
        return DEPEND
    return reason


# Where the model errs ---------------------------------------------------------------------------------


def _errors(facts: FitFacts) -> Sentence:
    """The regions in which the model errs more than in the others, beyond chance; the worst first."""
    errors = facts.fitted.errors
    if errors is None:
        return NOTHING
    standing_out = sorted(
        (figure for figure in errors.of_regions if figure.stands_out),
        key=lambda figure: -figure.ratio,
    )
    if not standing_out:
        return NOTHING
    level = facts.fitted.level
    parts = []
    told = ""
    for figure in standing_out[:MOST_BY_RULE]:
        rule = facts.fitted.partition[figure.region].rule
        where = f"where {rule_in_sentence(rule, facts.vocabulary)}"
        of_output = "" if figure.output is None else f" for {plain(str(figure.output))}"
        value = amount(figure.value)
        if level is not None and not math.isnan(figure.low):
            value += f", {100 * level:g}% interval {amount(figure.low)}–{amount(figure.high)}"
        times = f"{figure.ratio:.1f}"
        if figure.ratio > MOST_TIMES:
            times = f"more than {MOST_TIMES}"
        size = f"{times} times as large{of_output} "
        if math.isinf(figure.ratio):
            size = f"not 0{of_output} "
        parts.append(f"{'' if size == told else size}{where} ({value})")
        told = size
    named = {figure.region for figure in standing_out[:MOST_BY_RULE]}
    n_more = len({figure.region for figure in standing_out} - named)
    if n_more:
        parts.append(f"larger in {n_more} more region{'s' if n_more > 1 else ''}")
    stated = [
        Fact("error", figure.value, regions=(figure.region,), rows=errors.rows)
        for figure in standing_out
    ]
    name = name_of_errors(errors.measure)
    return Sentence(
        f"Compared with the other regions, the model's {name} is {word_list(parts)}.", stated
    )


def name_of_errors(measure: str) -> str:
    """As a reader calls them.

    Parameters
    ----------
    measure : str
        Of `ModelErrors`.
    """
    return {"rmse": "RMSE", "brier": "Brier score", "log": "log loss"}.get(
        measure, f"{measure} loss"
    )


# How much better --------------------------------------------------------------------------------------


def _benefit(facts: FitFacts) -> Sentence:
    """How much of the model curves describe, overall and in regions; empty where nothing can be said."""
    if facts.n_search_rows + facts.n_held_out_rows == 1:
        return NOTHING
    if not facts.is_effect:
        return _difference_removed(facts)
    if facts.outcome == "noise":
        return _possibly_hidden(facts)
    if facts.outcome != "nothing" or facts.wavering:
        return _described_sentence(facts)
    if facts.is_constant:
        return NOTHING
    what, _, describe = what_describes(facts)
    return Sentence(f"{capitalized(what)} {describe} the whole model.", [_stray(facts)])


def what_describes(facts: FitFacts) -> tuple[str, str, str]:
    """What describes the model, its pronoun, and its verb.

    Parameters
    ----------
    facts : FitFacts
    """
    if facts.fitted.level is None:
        return "the paper's surrogate", "it", "describes"
    influence = facts.question.first.influence
    if isinstance(influence, Interactions):
        return f"the effects of up to {influence.order} features", "they", "describe"
    if influence.key == "individual":
        return "one curve per feature", "it", "describes"
    return "one effect per feature or group", "it", "describes"


def _described_facts(described: Described) -> list[Fact]:
    return [
        Fact("described", described.overall, rows=described.rows),
        Fact("described in regions", described.in_regions, rows=described.rows),
    ]


def _described_sentence(facts: FitFacts) -> Sentence:
    """``One curve per feature describes 71% of the model; in 4 regions, 92% (…).``."""
    described = facts.described
    if described is None:
        return NOTHING
    in_regions, interval = described.in_regions_text
    basis = rows_in_words(described.rows, described.n_rows)
    if interval:
        basis = f"{100 * described.confidence_level:g}% interval {interval}, {basis}"
    what, _, describe = what_describes(facts)
    opening = f"{capitalized(what)} {describe} {described.overall_text} of the model"
    stated = _described_facts(described)
    if facts.outcome != "regions":
        return Sentence(f"{opening} ({basis}).", stated[:1])
    text = f"{opening}; in {len(facts.fitted.partition)} regions, {in_regions} ({basis})."
    if described.needs_no_regions_there:
        text += f' Fit with scale="{described.other_scale}" to read the model on that scale.'
    elif described.helps_on_other_scale:
        stated.append(_on_other_scale(described))
        text += (
            f" On the {described.other_scale} scale, one curve per feature describes "
            f'{share(described.on_other_scale)} without regions: scale="{described.other_scale}".'
        )
    are_pairs = isinstance(facts.question.first.influence, Interactions)
    if described.in_regions <= described.overall:
        text += " Regions do not describe it better: do not rely on them."
    elif described.in_regions < LARGE and not are_pairs:
        text += " For the rest look at pairs: influence='interaction'."
    measured_on_search_rows = described.rows in ("fitting", "cross-validated")
    if measured_on_search_rows and math.isnan(described.low) and facts.fitted.estimate is not None:
        text += f" {WHAT_GIVES_AN_INTERVAL}."
    return Sentence(text, [*stated, _n_regions(facts)])


def _possibly_hidden(facts: FitFacts) -> Sentence:
    """How much may be hidden where nothing stands out, and how many rows would show half of that."""
    estimate = facts.fitted.estimate
    if estimate is None or not estimate.fidelities.is_computed or math.isnan(estimate.hidden_high):
        return NOTHING
    high = estimate.hidden_high
    n_rows = facts.n_search_rows + facts.n_held_out_rows
    needed_rows = int(float(f"{n_rows * MORE_ROWS:.2g}"))  # two digits
    return Sentence(
        f"Up to {share(high)} of the model could still be hidden; "
        f"about {needed_rows:,} rows would show {share(high / FEWER_HIDDEN)}.",
        [Fact("hidden at most", high, rows=estimate.rows), Fact("rows", n_rows)],
    )


def _difference_removed(facts: FitFacts) -> Sentence:
    """How large the difference of two explanations is over all rows and inside the regions, as the tree shows it."""
    if facts.outcome in ("nothing", "noise") or facts.is_doubtful:
        return NOTHING
    if facts.outcome == "no rule":
        return Sentence("No simple rule says where.", [_n_regions(facts)])
    figures = facts.figures
    overall = figures.root.heterogeneity
    inside = figures.size(figures.by_set_inside_regions())
    if inside < overall:
        change = f"falls from {amount(overall)} to {amount(inside)}"
    else:
        change = f"is {amount(inside)}, over all rows {amount(overall)}"
    basis = f"{figures.n_rows:,} {figures.rows} rows"
    estimate = facts.fitted.estimate
    if (
        estimate is not None and len(facts.fitted.questions) == 1
    ):  # of several it is a mean of shares
        # The estimate tells shares of the squared difference.
        shares = [estimate.remaining, estimate.low, estimate.high]
        remaining, low, high = (amount(overall * figures.size([left])) for left in shares)
        if estimate.rows == "cross-validated":
            basis = f"{basis}; cross-validated: {remaining}"
        elif low != high:
            basis = f"{100 * estimate.confidence_level:g}% interval {low}–{high}, {basis}"
    text = f"Inside {len(facts.fitted.partition)} regions, the difference {change} ({basis})."
    return Sentence(text, _overall_and_inside(figures))


def _overall_and_inside(figures: NodeFigures, title: str = "") -> list[Fact]:
    inside = figures.size(figures.by_set_inside_regions())
    return [
        Fact("difference", figures.root.heterogeneity, feature=title, rows=figures.rows),
        Fact("difference in regions", inside, feature=title, rows=figures.rows),
    ]


def _by_question(facts: FitFacts, unit: OutputUnit) -> tuple[Sentence, ...]:
    """How far rows stray, or explanations differ, over all rows and inside the regions: for each question or output."""
    fitted = facts.fitted
    if len(fitted.partition) == 1 or len(fitted.questions) == 1:
        return ()
    titles = [figures.question for figures in fitted.nodes]
    units = [unit] * len(titles)
    if len(fitted.outputs) == len(fitted.nodes):  # one question about several outputs
        titles = [name_of_output(fitted.model, name) for name in fitted.outputs]
        units = [output_words(output.model).unit for output in fitted.outputs.values()]
    sentences = []
    for number, figures in enumerate(fitted.nodes):
        stated = _overall_and_inside(figures, titles[number])
        measured = "difference"
        overall, inside = (amount(fact.value) for fact in stated)
        if is_about_effects(fitted.questions[number].question):
            measured = "rows stray"
            overall, inside = (_spread(figures, fact.value, units[number]) for fact in stated)
        title = plain(titles[number])
        text = f"{title}: {measured} {overall} over all rows, {inside} inside the regions."
        sentences.append(Sentence(text, stated))
    return tuple(sentences)


# Curves -----------------------------------------------------------------------------------------------


def _curves_line(facts: FitFacts) -> Sentence:
    """How many curves there are, which features differ by region, which do not, and which hardly matter."""
    curves = facts.curves
    described = facts.described
    is_told = facts.outcome == "regions" and not facts.is_doubtful
    if curves is None or described is None or not is_told or facts.fitted.level is None:
        return NOTHING
    stated = [Fact("curves", len(curves)), *_described_facts(described)]
    in_regions = f"{described.in_regions_text.share} of the model"
    overall = described.overall_text
    if any(curve.column is None for curve in curves):
        text = f"{len(curves)} effects describe {in_regions} (one of each feature or group: {overall})."
        return Sentence(text, stated)
    dividing = facts.dividing
    same = [label for label in curves.same if label not in dividing]
    hardly = [label for label in curves.hardly if label not in dividing]
    clauses = []
    for labels, verbs in (
        (curves.differs, DIFFER),
        (same, SAME),
        (dividing, DIVIDE),
        (hardly, HARDLY_MATTER),
    ):
        if labels:
            clauses.append(clause(labels, verbs, MOST_LISTED))
        stated += [Fact(verbs[1], 1.0, feature=label) for label in labels]
    with_means = "" if curves.differs else " and the mean prediction of each region"
    opening = f"{len(curves)} curves{with_means} describe {in_regions}"
    text = f"{opening} (one curve per feature: {overall}): {'; '.join(clauses)}."
    return Sentence(text, stated)


def _details(facts: FitFacts, output: OutputWords) -> Sentence:
    """What the main feature does where, and where predictions vary far less than overall; up to three sentences."""
    if facts.curves is None or facts.is_doubtful:
        return NOTHING
    if facts.outcome == "no rule":
        # The feature along which single rows move most, where its average curve hides that.
        largest = max(facts.curves.everywhere, key=lambda curve: curve.spread)
        if largest.spread <= max(HIDDEN * largest.range, facts.flat):
            return NOTHING
        return _little_on_average(largest, output)
    sentences = []
    described = facts.described
    if described is not None and described.needs_no_regions_there:
        finding = _finding(facts, output)
        text = f"The regions shown are those of {_own_scale(output)}: {finding[:1].lower()}{finding[1:]}"
        sentences.append(Sentence(text, finding.facts))
    features = facts.dependence.features
    if features and features[0] in facts.curves.labels:
        sentences.append(_main_feature(facts, facts.curves.of(features[0]), output))
    if facts.quiet_regions:
        sentences.append(_quiet(facts))
    stated = [fact for sentence in sentences for fact in sentence.facts]
    return Sentence(" ".join(filter(None, sentences)), stated)


def _little_on_average(curve: SharedCurve, output: OutputWords) -> Sentence:
    name = feature_text(curve.label)
    size = output.unit.effect(curve.range)
    spread = output.unit.effect(curve.spread)
    return Sentence(
        f"On average {name} shifts {output.name} by up to {size} only, but single rows typically by {spread}.",
        [
            _range(curve),
            Fact("spread", curve.spread, feature=curve.label, regions=curve.regions),
        ],
    )


def _range(curve: SharedCurve) -> Fact:
    """The range of a curve, with its standard error at most."""
    occurs = curve.shares > 0
    error = 0.0
    if occurs.any():
        highest = np.argmax(np.where(occurs, curve.effects, -np.inf))
        lowest = np.argmin(np.where(occurs, curve.effects, np.inf))
        error = float(curve.errors[highest] + curve.errors[lowest])
    return Fact("range", curve.range, error, curve.label, curve.regions)


def _shape_fact(facts: FitFacts, curve: SharedCurve) -> Fact:
    shape = facts.shape(curve)
    return Fact("shape", shape.size, shape.error, curve.label, curve.regions, shape=shape)


def _does(facts: FitFacts, curve: SharedCurve, unit: OutputUnit, is_named: bool = True) -> str:
    """What a curve does, with its verb; the feature is named unless that has been done."""
    name = feature_text(curve.label) if is_named else ""
    return facts.shape(curve).words(name, unit.effect(curve.range))


def _where(facts: FitFacts, curves: Sequence[SharedCurve]) -> str:
    """Where the rows of some curves are."""
    return rule_in_sentence(facts.rule(curves), facts.vocabulary)


def _main_feature(facts: FitFacts, curves: Sequence[SharedCurve], output: OutputWords) -> Sentence:
    """What the main feature does: two shapes, one of different strength, or one beside quiet regions."""
    loud = [curve for curve in curves if not set(curve.regions) <= set(facts.quiet_regions)]
    if len(curves) < 2 or not loud:
        return NOTHING
    subject = "it" if output.target else output.name  # the first sentence has named it
    groups = _groups(facts, loud)
    if len(groups) > 1:
        ranges = sorted(group[0].range for group in groups[:2])
        if ranges[0] >= COMPARABLE * ranges[1]:
            return _two_shapes(facts, subject, groups[0], groups[1], output.unit)
    if len(loud) > 1:
        return _two_strengths(facts, subject, loud, output)
    text = f"Where {_where(facts, loud)}, {subject} {_does(facts, loud[0], output.unit)}."
    return Sentence(text, [_shape_fact(facts, loud[0])])


def _groups(facts: FitFacts, curves: Sequence[SharedCurve]) -> list[list[SharedCurve]]:
    """Curves that do the same together, most rows first; within a group the largest first."""
    groups: list[list[SharedCurve]] = []
    for curve in sorted(curves, key=lambda curve: -curve.n_rows):
        for group in groups:
            if not facts.shapes_differ(curve, group[0]):
                group.append(curve)
                break
        else:
            groups.append([curve])
    return sorted(groups, key=lambda group: -sum(curve.n_rows for curve in group))


def _two_shapes(
    facts: FitFacts,
    subject: str,
    first: Sequence[SharedCurve],
    second: Sequence[SharedCurve],
    unit: OutputUnit,
) -> Sentence:
    """Where the curve does what it does at most rows, and where the next."""
    stated = [_shape_fact(facts, first[0]), _shape_fact(facts, second[0])]
    where = _where(facts, first)
    rule = facts.rule(first)
    alone = [curve for curve in first if facts.rule([curve]) == rule]
    curves = alone or first
    strongest = max(curves, key=lambda curve: curve.range)
    weakest = min(curves, key=lambda curve: curve.range)
    emphasis = ""
    if _is_stronger(strongest, weakest):
        conditions = facts.rule([strongest]).conditions
        further = Rule(tuple(part for part in conditions if part not in rule.conditions))
        where_stronger = rule_in_sentence(further, facts.vocabulary)
        emphasis = f", more strongly where {where_stronger}"
        stated += [_range(strongest), _range(weakest)]
    does = _does(facts, curves[0], unit)
    does_elsewhere = _does(facts, second[0], unit, is_named=False)
    text = f"Where {where}, {subject} {does}{emphasis}. Where {_where(facts, second)}, it {does_elsewhere}."
    return Sentence(text, stated)


def _is_stronger(strong: SharedCurve, weak: SharedCurve) -> bool:
    """Whether one range is clearly larger than another, of other rows, beyond the errors of both."""
    error = math.hypot(_range(strong).error, _range(weak).error)
    return strong.range >= STRONGER * weak.range and strong.range - weak.range > ERRORS * error


def _two_strengths(
    facts: FitFacts, subject: str, curves: Sequence[SharedCurve], output: OutputWords
) -> Sentence:
    """Where the curve has its largest and its smallest range; what averages hide; nothing where these are alike.

    Of curves of enough rows, and on both sides of what the first sentence names, if there are such.
    """
    strongest, weakest = max(
        (sorted(pair, key=lambda curve: -curve.range) for pair in combinations(curves, 2)),
        key=lambda pair: (
            min(curve.n_rows for curve in pair) >= FEW_ROWS,
            _lie_on_both_sides(facts, pair),
            pair[0].range - pair[1].range,
        ),
    )
    if strongest.spread > HIDDEN * strongest.range:
        return _little_on_average(strongest, output)
    if not _is_stronger(strongest, weakest):
        return NOTHING
    shifts = f"{feature_text(strongest.label)} shifts {subject}"
    largest = f"by up to {output.unit.effect(strongest.range)} where {_where(facts, [strongest])}"
    text = f"{shifts} {largest}, {_by(facts, weakest, output.unit)}."
    return Sentence(text, [_range(strongest), _range(weakest)])


def _lie_on_both_sides(facts: FitFacts, curves: Sequence[SharedCurve]) -> bool:
    """Whether the first feature that effects depend on tells the rows of two curves apart."""
    for moderator in facts.dependence.moderators[:1]:
        first, second = (dict(facts.rule([curve]).conditions).get(moderator) for curve in curves)
        return first is not None and second is not None and first.intersect(second).is_empty
    return False


def _by(facts: FitFacts, curve: SharedCurve, unit: OutputUnit) -> str:
    """How far another curve ranges, and where: ``by up to 17 where workingday = 0``."""
    size = f"by up to {unit.effect(curve.range, bare=True)}"
    if curve.range <= facts.flat:
        size = "hardly at all"
    return f"{size} where {_where(facts, [curve])}"


def _quiet(facts: FitFacts) -> Sentence:
    """Where predictions vary far less than overall: one region by its rule, several by their number."""
    quiet = [facts.figures.leaves[region] for region in facts.quiet_regions]
    partition = facts.fitted.partition
    where = f"In {len(quiet)} of {len(partition)} regions ({share(sum(leaf.share for leaf in quiet))} of the rows)"
    if len(quiet) == 1:
        rule = partition.rules[quiet[0].region]
        where = f"Where {rule_in_sentence(rule, facts.vocabulary)},"
    stated = [Fact("spread of predictions", leaf.spread, regions=(leaf.region,)) for leaf in quiet]
    return Sentence(f"{where} predictions vary far less than overall.", stated)


# Regions of a report ------------------------------------------------------------------------------------


def region_sentences(facts: FitFacts, region: int, output: OutputWords) -> list[Sentence]:
    """What is only a region's own: each feature that does something else there than elsewhere, largest range first.

    Parameters
    ----------
    facts : FitFacts
    region : int
    output : OutputWords

    Returns
    -------
    list of Sentence
        The first may be the heading of the region; empty where nothing is its own.
    """
    if region in facts.quiet_regions:
        spread = facts.figures.leaves[region].spread
        stated = [Fact("spread of predictions", spread, regions=(region,))]
        return [Sentence("Predictions vary far less here than overall.", stated)]
    if facts.curves is None:
        return []
    of_region = []
    for curve in facts.curves.in_region(region):
        # Along a feature that the region itself is cut on the curve is that of more rows.
        shared = facts.rule([curve]).conditions
        conditions = facts.fitted.partition.rules[region].conditions
        own_cuts = [part[0] for part in conditions if part not in shared]
        if curve.label in facts.curves.differs and curve.label not in own_cuts:
            of_region.append(curve)
    of_region.sort(key=lambda curve: -curve.range)
    contrasts = [_contrast(facts, curve, output) for curve in of_region]
    contrasts = [sentence for sentence in contrasts if sentence][:MOST_CONTRASTS]
    if contrasts or not of_region or of_region[0].range <= facts.flat:
        return contrasts
    largest = of_region[0]
    does = _does(facts, largest, output.unit)
    size = output.unit.effect(largest.range)
    by = "" if size in does else f", by up to {size}"
    text = capitalized(f"{output.name} {does}{by}.")
    return [Sentence(text, [_shape_fact(facts, largest), _range(largest)])]


def _contrast(facts: FitFacts, here: SharedCurve, output: OutputWords) -> Sentence:
    """What a feature does in a region, beside the curve of it that differs most; empty: much the same."""
    curves = () if facts.curves is None else facts.curves.of(here.label)
    others = sorted((other for other in curves if other is not here), key=lambda other: other.range)
    others = [other for other in others if len(common_levels(here, other)) > 1] or others
    stated = [_shape_fact(facts, here), _range(here)]
    if here.range <= facts.flat:
        if not others or others[-1].range <= facts.flat:
            return NOTHING
        text = f"{feature_text(here.label)} hardly matters here."
        return Sentence(text, [*stated, _range(others[-1])])
    does = capitalized(f"{output.name} {_does(facts, here, output.unit)}")
    differing = [other for other in others if facts.shapes_differ(here, other)]
    if differing:
        other = max(differing, key=lambda curve: distance_apart(here, curve))
        does_there = _does(facts, other, output.unit, is_named=False)
        text = f"{does}; where {_where(facts, [other])}, it {does_there}."
        return Sentence(text, [*stated, _shape_fact(facts, other)])
    size = output.unit.effect(here.range)
    by = "" if does.endswith(size) else f", by up to {size}"
    weaker = [other for other in others if _is_stronger(here, other)]
    stronger = [other for other in others if _is_stronger(other, here)]
    if weaker:
        other = weaker[0]
    elif stronger:
        other = stronger[-1]
        by = f"{by} only"
    else:
        return NOTHING
    return Sentence(f"{does}{by} ({_by(facts, other, output.unit)}).", [*stated, _range(other)])


# Doubts and rows --------------------------------------------------------------------------------------


def _doubts(facts: FitFacts) -> list[Sentence]:
    """Reasons not to rely on a result, the strongest first: a first split that does not come back, few rows, noise."""
    doubts = []
    first = facts.seldom_first_split
    stability = facts.fitted.stability
    if first is not None and stability is not None:
        text = (
            f"the first split, on {feature_text(first.column)}, came back in {first.count or 'none'} of "
            f"{stability.searches} searches on half the rows"
        )
        if first.instead:
            text += f" (otherwise most often {feature_text(first.instead)})"
        if stability.score >= ALIKE:
            text += f", but their regions are nearly the same (adjusted Rand index {stability.score:.2f})."
        else:
            text += ": take the regions as tentative."
        doubts.append(Sentence(text, [Fact("halves", first.count, feature=first.column)]))
    if facts.small_regions:
        doubts.append(_few_rows(facts))
    doubts += [Sentence(capitalized(text), [_stray(facts)]) for text in facts.wavering]
    return doubts


def _few_rows(facts: FitFacts) -> Sentence:
    """Which regions have few rows: a few of them by their rules, more by their numbers."""
    small = facts.small_regions
    n_regions = len(facts.fitted.partition)
    rules = [rule_in_sentence(region.rule, facts.vocabulary) for region in small]
    places = [
        f"where {rule} (region {region.index})" for rule, region in zip(rules, small, strict=True)
    ]
    numbers = word_list([str(region.index) for region in small])
    few = f"fewer than {FEW_ROWS} search rows each: take"
    text = f"{len(small)} of {n_regions} regions ({numbers}) have {few} them as hints."
    if len(small) == 1:
        text = f"{places[0]}, there are only {small[0].n_samples} search rows: take it as a hint."
    elif len(small) <= MOST_BY_RULE:
        text = f"{word_list(places)}, there are {few} these regions as hints."
    elif len(small) == n_regions:
        text = f"all {n_regions} regions have {few} them as hints."
    return Sentence(
        text, [Fact("rows", region.n_samples, regions=(region.index,)) for region in small]
    )


def _stability(facts: FitFacts) -> Sentence:
    """What searches on half the rows said of the splits, unless a doubt has said it."""
    stability = facts.fitted.stability
    if stability is None or facts.seldom_first_split is not None:
        return NOTHING
    counts = [Fact("halves", split.count, feature=split.column) for split in stability.splits]
    return Sentence(stability.sentences()[0], counts or [Fact("halves", stability.searches)])


def _rows(facts: FitFacts) -> Sentence:
    """How many rows the table has, and which of them say what."""
    n_search, n_held_out = facts.n_search_rows, facts.n_held_out_rows
    stated = [Fact("rows", n_search), Fact("rows", n_held_out, rows="held-out")]
    text = f"Rows: {facts.n_rows:,}."
    if facts.is_constant:
        return Sentence(text, stated)
    search_rows = f"{n_search:,} of them (search rows)"
    if n_search == facts.n_rows:
        search_rows = "all of them"
    if n_held_out > 0:
        measured = "% described and rows stray" if facts.is_effect else "differences"
        text += (
            f" Regions, curves and means come from {search_rows}; {measured} from "
            f"{n_held_out:,} others, set aside before the search (held-out rows)."
        )
    else:
        text += f" Regions, curves and figures come from {search_rows}."
    if _on_scale(facts):
        text += (
            f" Effects are compared and added up{_on_scale(facts)}, and rows stray is in its units; means, curves and "
            "% described are of the predictions themselves."
        )
    clipped = facts.diagnostics.get("scale", {}).get("clipped", 0.0)
    if clipped > 0.0:
        text += (
            f" {share(clipped)} of the predictions lie at an end of the scale, where it is infinite; they are read as "
            "slightly inside."
        )
    n_unused = facts.n_rows - n_search - n_held_out
    if n_unused > 0:
        text += f" {n_unused:,} were not used."
    return Sentence(text, stated)


def _rows_of_errors(facts: FitFacts) -> Sentence:
    """On which rows the errors are that the tree shows; empty where it shows none."""
    errors = facts.fitted.errors
    if errors is None or errors.overall == 0.0 or facts.outcome != "regions":
        return NOTHING
    rows = "search and held-out rows" if facts.n_held_out_rows else "search rows"
    where = f"the {rows}, and too small if it was trained on them"
    if errors.rows == "given":
        where = "the rows passed as holdout"
    text = f"{name_of_errors(errors.measure)} is the model's error on {where}."
    return Sentence(text, [Fact("rows", facts.n_held_out_rows, rows="held-out")])
