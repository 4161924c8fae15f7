"""What a fit says: its facts in English, the only sentences about a fit.

A `Sentence` is text that carries the figures it states, so that each of them can be computed anew. Who speaks first: a
doubt about the whole result; that one curve per feature is nearly enough; the finding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

from granite_xai.algebra.catalog import title as explanation_title
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.influence import Interactions
from granite_xai.base.numbers import (
    OutputUnit,
    ShareWithInterval,
    amount,
    share,
    share_with_interval,
)
from granite_xai.base.text import plain, shortened
from granite_xai.curves.shared import SharedCurve
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.remarks import DEPEND, EITHER, INTERACT, cause
from granite_xai.inference.estimate import WHAT_GIVES_AN_INTERVAL, rows_in_words
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Rule, Vocabulary, feature_text, rule_in_sentence, word_list
from granite_xai.results.facts import (
    FEW_ROWS,
    Dependence,
    Described,
    FitFacts,
    Outcome,
    is_about_effects,
)
from granite_xai.results.shapes import (
    ERRORS,
    FLAT,
    Shape,
    common_levels,
    distance_apart,
    shapes_differ,
)

MOST_NAMED = 4  # features that the finding names
MOST_LISTED = 3  # features that a list of the curves names
MOST_BY_RULE = 2  # small regions that are named by their rules
MOST_CONTRASTS = 3  # features of which a region says what is its own
HARDLY = 0.1  # share of a difference that a cause has to have to be named
NEARLY_ENOUGH = 0.03  # share of the model that regions have to add to be the finding
LARGE = 0.75  # share described from which one curve per feature is nearly enough, and pairs are not recommended
STRONGER = 1.3  # ratio of ranges from which a feature is said to do more
COMPARABLE = 0.3  # ratio of ranges below which strength is the news, not what a curve does
HIDDEN = 2.0  # how many times the range single rows move where the average is said to hide it
DIVIDES = ("divides the regions and has one curve", "divide the regions and have one curve each")
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

    def __reduce__(self) -> tuple[type[Sentence], tuple[str, tuple[Fact, ...]]]:
        return Sentence, (str(self), self.facts)


NOTHING = Sentence("")


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    """Some sentences one after the other."""
    facts = [fact for sentence in sentences for fact in sentence.facts]
    return Sentence(" ".join(sentence for sentence in sentences if sentence), facts)


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
    >>> rentals = SimpleNamespace(is_probability=False, explained_class=None)
    >>> output_words(rentals, "cnt").name
    'predicted cnt'
    >>> income = SimpleNamespace(is_probability=True, explained_class=1)
    >>> output_words(income, "income").name
    'the probability of income = 1'
    """
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
    dependence : Dependence
    described : Described or None
        None: the share of the model that curves describe has not been computed.
    output : OutputWords
    vocabulary : mapping
        What the words of rules need to know.
    quiet_regions : tuple of int
        Where predictions vary far less than overall.
    """

    outcome: Outcome
    is_effect: bool
    headline: Sentence
    details: Sentence
    benefit: Sentence
    curves: Sentence
    by_question: tuple[Sentence, ...]
    doubts: tuple[Sentence, ...]
    notes: tuple[Sentence, ...]
    stability: Sentence
    rows: Sentence
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
) -> FitFinding:
    """What a fit found.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    target, unit : str
        Name and unit of the target, where the caller knows better than the fit.
    """
    facts = FitFacts(fitted, diagnostics)
    output = output_words(fitted.model, target or diagnostics.get("target") or "", unit)
    notes = []
    if "alpha" in diagnostics:
        notes.append(Sentence(diagnostics["alpha"]["text"], [_n_regions(facts)]))
    return FitFinding(
        outcome=facts.outcome,
        is_effect=facts.is_effect,
        headline=_headline(facts, output),
        details=_details(facts, output),
        benefit=_benefit(facts),
        curves=_curves_line(facts),
        by_question=_by_question(facts, output.unit),
        doubts=tuple(_doubts(facts)),
        notes=tuple(notes),
        stability=_stability(facts),
        rows=_rows(facts),
        dependence=facts.dependence,
        described=facts.described,
        output=output,
        vocabulary=facts.vocabulary,
        quiet_regions=facts.quiet_regions,
    )


def _n_regions(facts: FitFacts) -> Fact:
    return Fact("regions", len(facts.fitted.partition))


# The first sentence -----------------------------------------------------------------------------------


def _headline(facts: FitFacts, output: OutputWords) -> Sentence:
    """The finding in a sentence."""
    n_rows = facts.n_search_rows + facts.n_held_out_rows
    counted = Fact("rows", n_rows)
    if n_rows == 1:
        return Sentence("1 row: nothing can be said.", [counted])
    if facts.is_doubtful:
        return _doubt_about_all(facts)
    if facts.is_effect:
        return _headline_of_effects(facts, output, counted)
    sides = _both_titles(facts.question)
    if facts.outcome == "nothing":
        return Sentence(f"{sides} agree: there is nothing to explain.", [_stray(facts)])
    if facts.outcome == "noise":
        text = f"{sides} differ by sampling noise only on {n_rows:,} rows."
        return Sentence(text, [counted])
    return _largest_difference(facts, output.unit)


def _doubt_about_all(facts: FitFacts) -> Sentence:
    """Regions were found in which the rows that judge them see nothing beyond noise."""
    estimate = facts.fitted.estimate
    where = "rows left out in turn"
    if estimate is not None and estimate.rows != "cross-validated":
        where = f"the {rows_in_words(estimate.rows, estimate.n_rows)}"
    first_split = ""
    if facts.figures is not None and facts.figures.root.column:
        first_split = f" (first split: {feature_text(facts.figures.root.column)})"
    differs = "the difference between the two explanations"
    if facts.is_effect:
        differs = "the difference between rows"
    return Sentence(
        f"The search found {len(facts.fitted.partition)} regions{first_split}, but on {where} {differs} "
        "does not stand out from sampling noise: do not rely on them.",
        [_n_regions(facts)],
    )


def _headline_of_effects(facts: FitFacts, output: OutputWords, counted: Fact) -> Sentence:
    """The finding of a question about effects of features."""
    if facts.outcome == "nothing" and facts.wavering:
        text = "No interaction stands out from the model's own jumps: see the note."
        return Sentence(text, [_stray(facts)])
    if facts.outcome == "nothing":
        if facts.is_constant:
            text = "The model gives every row the same prediction: there is nothing to explain."
            return Sentence(text, [Fact("spread of predictions", 0.0)])
        return Sentence("No interactions: every row follows the average curves.", [_stray(facts)])
    if facts.outcome == "noise":
        rows = f"{int(counted.value):,} rows"
        return Sentence(f"No interaction stands out from sampling noise on {rows}.", [counted])
    if facts.outcome == "no rule":
        spread_text = ""
        if facts.figures is not None:
            size = facts.figures.root.heterogeneity
            is_rooted = facts.figures.is_rooted
            spread_text = f" ({output.unit.spread(size) if is_rooted else f'±{amount(size)}'})"
        return Sentence(f"Rows differ{spread_text}{_why_no_rule(facts)}", [_stray(facts)])
    finding = _dependence_sentence(facts.dependence, output)
    if facts.curves is not None and not facts.curves.differs:
        finding = _means_differ(facts, output)
    if facts.described is None or facts.fitted.level is None:
        return finding
    return _nearly_enough(facts, facts.described, finding)


def _nearly_enough(facts: FitFacts, described: Described, finding: Sentence) -> Sentence:
    """That regions add little, where they do; the finding where they add more."""
    gain = described.in_regions - described.overall
    if not 0 <= gain < NEARLY_ENOUGH:
        return finding
    points = "less than 1 point"
    if gain >= 0.005:
        points = f"{100 * gain:.0f} point{'s' if gain >= 0.015 else ''}"
    what, it = _what_describes(facts)
    where = f"where {finding[:1].lower()}{finding[1:]}"
    overall = f"{_describe(it)} {share(max(described.overall, 0.0))} of the model"
    text = f"{what} {'is' if it == 'it' else 'are'} nearly enough: {it} {overall}; regions add {points}, {where}"
    if described.overall < LARGE:
        what = f"{what[:1].lower()}{what[1:]}"
        text = f"Regions help little: {what} {overall}, and they add {points}, {where}"
    return Sentence(text, [*_described_facts(described), *finding.facts])


def _stray(facts: FitFacts) -> Fact:
    """How far rows stray on all rows."""
    figures = facts.figures
    if figures is None:
        return Fact("stray", math.nan)
    rows = figures.rows if figures.rows == "held-out" else "search"
    return Fact("stray", figures.root.heterogeneity, rows=rows)


def _why_no_rule(facts: FitFacts) -> str:
    """The end of the sentence about rows that differ in one region: there was no search, or it found no rule."""
    (region,) = facts.fitted.partition
    if region.stop_reason == "maximum depth":
        return ". No regions were searched (max_depth=0)."
    if region.stop_reason == "too few samples":
        return f"; {region.n_samples:,} rows are too few to search for regions."
    return ", but no simple rule says where."


def _dependence_sentence(dependence: Dependence, output: OutputWords) -> Sentence:
    """``The effects of hr and temp on the probability depend on workingday.``."""
    facts = [
        Fact("apart", size, feature=feature)
        for feature, size in zip(dependence.features, dependence.sizes, strict=True)
    ]
    facts += [Fact("split on", 1.0, feature=name) for name in dependence.moderators]
    on_output = f" on {output.target}" if output.target else ""
    names = [feature_text(feature) for feature in dependence.features]
    moderators = [feature_text(feature) for feature in dependence.moderators]
    first_split = feature_text(dependence.first_split)
    if not names and first_split:
        text = f"Effects{on_output} differ between regions, which {first_split} divides first."
    elif not names:
        text = f"Effects{on_output} differ between regions."
    else:
        effects = "The effect" if len(names) == 1 else "The effects"
        verb = "differ" if not moderators else "depend"
        verb += "s" if len(names) == 1 else ""
        where = f"on {word_list(moderators)}" if moderators else "between regions"
        text = f"{effects} of {_first_names(names, MOST_NAMED)}{on_output} {verb} {where}."
    return Sentence(text, facts)


def _means_differ(facts: FitFacts, output: OutputWords) -> Sentence:
    """That regions have the same curves, and differ in their mean alone."""
    leaves = [] if facts.figures is None else facts.figures.leaves
    stated = [Fact("mean prediction", leaf.mean, regions=(leaf.region,)) for leaf in leaves]
    ends = ""
    if stated:
        means = [fact.value for fact in stated]
        low, high = (output.unit.level(end) for end in (min(means), max(means)))
        ends = f" (means {low} to {high})"
    text = (
        f"Regions differ mostly in the level of predictions{ends}, hardly in the shape of effects."
    )
    return Sentence(text, stated or [_n_regions(facts)])


def _first_names(names: Sequence[str], most: int) -> str:
    """``a, b, c and 2 more``; all of them where there are few."""
    if len(names) <= most:
        return word_list(names)
    return word_list([*names[: most - 1], f"{len(names) - most + 1} more"])


def _both_titles(question: Disagreement) -> str:
    """Both explanations of a question by name, as the beginning of a sentence."""
    first = explanation_title(question.first.name, "first")
    second = explanation_title(question.second.name, "second")
    text = f"{first} and {second}"
    return text[:1].upper() + text[1:]


def _largest_difference(facts: FitFacts, unit: OutputUnit) -> Sentence:
    """The feature for which two explanations differ most, by how much, and why."""
    sides = _both_titles(facts.question)
    why = f"Why: {_reason(facts)}."
    figures = facts.figures
    if figures is None:
        return Sentence(f"{sides} differ. {why}", [_n_regions(facts)])
    root = figures.root
    number = max(range(len(figures.sets)), key=lambda index: root.by_set[index])
    feature = word_list(figures.sets[number])
    rows = figures.rows
    name = feature_text(feature)
    if root.first:  # sensitivity and risk: one value of each explanation for all rows
        both = root.first[number], root.second[number]
        stated = [Fact("importance", value, feature=feature, rows=rows) for value in both]
        values = " and ".join(map(amount, both))
        return Sentence(f"{sides} differ most for {name}: {values}. {why}", stated)
    gap = max(root.by_set[number], 0.0)
    size = unit.spread(math.sqrt(gap)) if figures.is_rooted else f"±{amount(gap)}"
    fact = Fact("difference", figures.size([gap]), feature=feature, rows=rows)
    return Sentence(f"{sides} differ most for {name}, by {size} at single rows. {why}", [fact])


def _reason(facts: FitFacts) -> str:
    """What makes two explanations differ, as far as an additive model of the fit can tell."""
    reason = cause(facts.question)
    record = (facts.diagnostics.get("cause") or {}).get(facts.question.label) or {}
    share_without_interactions = record.get("without_interactions")
    if reason != EITHER or share_without_interactions is None:
        return reason
    if share_without_interactions < HARDLY:
        return INTERACT
    if share_without_interactions > 1.0 - HARDLY:
        return DEPEND
    return reason


# How much better --------------------------------------------------------------------------------------


def _benefit(facts: FitFacts) -> Sentence:
    """How much of the model curves describe, overall and in regions; empty where nothing can be said."""
    if facts.n_search_rows + facts.n_held_out_rows == 1:
        return NOTHING
    if not facts.is_effect:
        return _difference_removed(facts)
    if facts.outcome == "noise":
        return _possibly_hidden(facts)
    if facts.outcome == "nothing" and not facts.wavering:
        if facts.is_constant:
            return NOTHING
        what, pronoun = _what_describes(facts)
        return Sentence(f"{what} {_describe(pronoun)} the whole model.", [_stray(facts)])
    if facts.described is None:
        return NOTHING
    return _described_sentence(facts, facts.described)


def _what_describes(facts: FitFacts) -> tuple[str, str]:
    """What describes the model, and its pronoun."""
    if facts.fitted.level is None:
        return "The paper's surrogate", "it"
    influence = facts.question.first.influence
    if isinstance(influence, Interactions):
        return f"The effects of up to {influence.order} features", "they"
    if influence.key == "individual":
        return "One curve per feature", "it"
    return "One effect per feature or group", "it"


def _describe(pronoun: str) -> str:
    return "describes" if pronoun == "it" else "describe"


def _described_facts(described: Described) -> list[Fact]:
    return [
        Fact("described", described.overall, rows=described.rows),
        Fact("described in regions", described.in_regions, rows=described.rows),
    ]


def in_regions_text(described: Described) -> ShareWithInterval:
    """The share described in regions, and its interval, which is empty where there is none.

    Parameters
    ----------
    described : Described
    """
    in_regions = max(described.in_regions, 0.0)
    if math.isnan(described.low):
        return ShareWithInterval(share=share(in_regions), interval="")
    return share_with_interval(in_regions, described.low, described.high)


def _described_sentence(facts: FitFacts, described: Described) -> Sentence:
    in_regions, interval = in_regions_text(described)
    basis = rows_in_words(described.rows, described.n_rows)
    if interval:
        basis = f"{100 * described.confidence_level:g}% interval {interval}, {basis}"
    overall = share(max(described.overall, 0.0))
    what, pronoun = _what_describes(facts)
    opening = f"{what} {_describe(pronoun)} {overall} of the model"
    if facts.outcome != "regions":
        return Sentence(f"{opening} ({basis}).", _described_facts(described)[:1])
    n_regions = len(facts.fitted.partition)
    sentences = [f"{opening}; in {n_regions} regions, {in_regions} ({basis})."]
    if described.in_regions <= described.overall:
        sentences.append("Regions do not describe it better: do not rely on them.")
    elif described.in_regions < LARGE and not isinstance(
        facts.question.first.influence, Interactions
    ):
        sentences.append("For the rest look at pairs: influence='interaction'.")
    measured_on_search_rows = described.rows in ("fitting", "cross-validated")
    if measured_on_search_rows and math.isnan(described.low) and facts.fitted.estimate is not None:
        sentences.append(f"{WHAT_GIVES_AN_INTERVAL}.")
    return Sentence(" ".join(sentences), [*_described_facts(described), _n_regions(facts)])


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
    if figures is None:
        return NOTHING
    overall = figures.root.heterogeneity
    inside = figures.size(figures.by_set_inside_regions())
    opening = f"Inside {len(facts.fitted.partition)} regions, the difference"
    basis = _basis_of_difference(facts, figures)
    if inside < overall:
        text = f"{opening} falls from {amount(overall)} to {amount(inside)}{basis}."
    else:
        text = f"{opening} is {amount(inside)}, over all rows {amount(overall)}{basis}."
    stated = [
        Fact("difference", overall, rows=figures.rows),
        Fact("difference in regions", inside, rows=figures.rows),
    ]
    return Sentence(text, stated)


def _basis_of_difference(facts: FitFacts, figures: NodeFigures) -> str:
    """The rows that the difference inside the regions is measured on, in brackets; before them its interval."""
    estimate = facts.fitted.estimate
    rows = f"{figures.n_rows:,} {figures.rows} rows"
    if estimate is None or len(facts.fitted.questions) > 1:  # of several it is a mean of shares
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


def _by_question(facts: FitFacts, unit: OutputUnit) -> tuple[Sentence, ...]:
    """How far rows stray, or explanations differ, over all rows and inside the regions: for each question or output."""
    fitted = facts.fitted
    if len(fitted.partition) == 1 or len(fitted.questions) == 1 or not fitted.nodes:
        return ()
    titles = [figures.question for figures in fitted.nodes]
    units = [unit] * len(titles)
    if len(fitted.outputs) == len(fitted.nodes):  # one question about several outputs
        titles = [str(name) for name in fitted.outputs]
        units = [output_words(output.model).unit for output in fitted.outputs.values()]
    sentences = []
    for title, figures, question, of_output in zip(
        titles, fitted.nodes, fitted.questions, units, strict=True
    ):
        overall = figures.root.heterogeneity
        inside = figures.size(figures.by_set_inside_regions())
        both = f"{amount(overall)} over all rows, {amount(inside)}"
        if not is_about_effects(question.question):
            measured = f"difference {both}"
        elif figures.is_rooted:
            spreads = f"{of_output.spread(overall)} over all rows, {of_output.spread(inside)}"
            measured = f"rows stray {spreads}"
        else:
            measured = f"rows stray ±{both.replace('rows, ', 'rows, ±')}"
        stated = [
            Fact("difference", overall, feature=title, rows=figures.rows),
            Fact("difference in regions", inside, feature=title, rows=figures.rows),
        ]
        sentences.append(Sentence(f"{plain(title)}: {measured} inside the regions.", stated))
    return tuple(sentences)


# Curves -----------------------------------------------------------------------------------------------


def _curves_line(facts: FitFacts) -> Sentence:
    """How many curves there are, which features differ by region, which do not, and which hardly matter."""
    curves, described = facts.curves, facts.described
    if curves is None or described is None or facts.outcome != "regions" or facts.is_doubtful:
        return NOTHING
    if facts.fitted.level is None:
        return NOTHING
    stated = [Fact("curves", len(curves)), *_described_facts(described)]
    in_regions = f"{in_regions_text(described).share} of the model"
    overall = share(max(described.overall, 0.0))
    if any(curve.column is None for curve in curves):
        text = f"{len(curves)} effects describe {in_regions} (one of each feature or group: {overall})."
        return Sentence(text, stated)
    dividing = facts.dividing
    same = [label for label in curves.same if label not in dividing]
    hardly = [label for label in curves.hardly if label not in dividing]
    clauses = []
    for labels, singular, plural in (
        (curves.differs, "differs by region", "differ by region"),
        (same, "is the same everywhere", "are the same everywhere"),
        (dividing, *DIVIDES),
        (hardly, "hardly matters", "hardly matter"),
    ):
        names = [feature_text(label) for label in labels]
        if names:
            verb = singular if len(names) == 1 else plural
            clauses.append(f"{_first_names(names, MOST_LISTED)} {verb}")
        stated += [Fact(plural, 1.0, feature=label) for label in labels]
    with_means = "" if curves.differs else " and the mean prediction of each region"
    opening = (
        f"{len(curves)} curves{with_means} describe {in_regions} (one curve per feature: {overall})"
    )
    return Sentence(f"{opening}: {'; '.join(clauses)}.", stated)


def _details(facts: FitFacts, output: OutputWords) -> Sentence:
    """What the main feature does where, and where predictions vary far less than overall; up to three sentences."""
    if not facts.is_effect or facts.is_doubtful or facts.curves is None:
        return NOTHING
    if facts.outcome == "no rule":
        return _hidden_by_average(facts, facts.curves.everywhere, output)
    sentences = []
    dependence = facts.dependence
    if dependence.features:
        sentences.append(_main_feature(facts, dependence.features[0], output))
    quiet = facts.quiet_regions
    if quiet:
        sentences.append(_quiet(facts))
    return _joined(sentences)


def _hidden_by_average(
    facts: FitFacts, curves: Sequence[SharedCurve], output: OutputWords
) -> Sentence:
    """The feature along which single rows move most, where its average curve hides that."""
    largest = max(curves, key=lambda curve: curve.spread)
    if largest.spread <= max(HIDDEN * largest.range, FLAT * facts.largest_range):
        return NOTHING
    return _little_on_average(largest, output)


def _little_on_average(curve: SharedCurve, output: OutputWords) -> Sentence:
    size = output.unit.effect(curve.range)
    spread = output.unit.effect(curve.spread)
    name = feature_text(curve.label)
    facts = [
        _range(curve),
        Fact("spread", curve.spread, feature=curve.label, regions=curve.regions),
    ]
    text = f"On average {name} shifts {output.name} by up to {size} only, but single rows typically by {spread}."
    return Sentence(text, facts)


def _range(curve: SharedCurve) -> Fact:
    return Fact("range", curve.range, _error(curve), curve.label, curve.regions)


def _error(curve: SharedCurve) -> float:
    """Standard error of the range, at most."""
    if curve.column is None:
        return 0.0
    rows = curve.shares > 0
    if not rows.any():
        return 0.0
    highest = max(
        range(len(rows)), key=lambda place: curve.effects[place] if rows[place] else -math.inf
    )
    lowest = min(
        range(len(rows)), key=lambda place: curve.effects[place] if rows[place] else math.inf
    )
    return float(curve.errors[highest] + curve.errors[lowest])


def _does(facts: FitFacts, curve: SharedCurve, feature: str, unit: OutputUnit) -> str:
    """What a curve does, with its verb."""
    return facts.shape(curve).words(feature, unit.effect(curve.range))


def _shape_fact(facts: FitFacts, curve: SharedCurve) -> Fact:
    shape = facts.shape(curve)
    return Fact("shape", shape.size, shape.error, curve.label, curve.regions, shape=shape)


def _where(facts: FitFacts, rule: Rule) -> str:
    return rule_in_sentence(rule, facts.vocabulary)


def _main_feature(facts: FitFacts, feature: str, output: OutputWords) -> Sentence:
    """What the main feature does: two shapes, one of different strength, or one beside quiet regions."""
    if facts.curves is None or feature not in facts.curves.labels:
        return NOTHING
    curves = list(facts.curves.of(feature))
    loud = [curve for curve in curves if not set(curve.regions) <= set(facts.quiet_regions)]
    if len(curves) < 2 or not loud:
        return NOTHING
    name = feature_text(feature)
    subject = "it" if output.target else output.name  # the first sentence has named it
    groups = _groups(facts, loud)
    if len(groups) > 1:
        ranges = sorted(group[0].range for group in groups[:2])
        if ranges[0] >= COMPARABLE * ranges[1]:
            return _two_shapes(facts, name, subject, groups, output.unit)
    if len(loud) > 1:
        return _two_strengths(facts, name, subject, loud, output)
    where = _where(facts, facts.rule(loud))
    does = _does(facts, loud[0], name, output.unit)
    return Sentence(f"Where {where}, {subject} {does}.", [_shape_fact(facts, loud[0])])


def _groups(facts: FitFacts, curves: Sequence[SharedCurve]) -> list[list[SharedCurve]]:
    """Curves that do the same together, most rows first; within a group the largest first."""
    groups: list[list[SharedCurve]] = []
    for curve in sorted(curves, key=lambda curve: -curve.n_rows):
        for group in groups:
            shapes = facts.shape(curve), facts.shape(group[0])
            if not shapes_differ(curve, group[0], shapes):
                group.append(curve)
                break
        else:
            groups.append([curve])
    return sorted(groups, key=lambda group: -sum(curve.n_rows for curve in group))


def _two_shapes(
    facts: FitFacts,
    name: str,
    subject: str,
    groups: Sequence[Sequence[SharedCurve]],
    unit: OutputUnit,
) -> Sentence:
    """Where the curve does what it does at most rows, and where the next."""
    first, second = groups[:2]
    rule = facts.rule(first)
    emphasis = ""
    stated = [_shape_fact(facts, first[0]), _shape_fact(facts, second[0])]
    if any(rule == facts.rule([curve]) for curve in first):
        first = [curve for curve in first if rule == facts.rule([curve])]
    strongest = max(first, key=lambda curve: curve.range)
    weakest = min(first, key=lambda curve: curve.range)
    if _clearly_stronger(strongest, weakest):
        own = [part for part in facts.rule([strongest]).conditions if part not in rule.conditions]
        emphasis = f", more strongly where {_where(facts, Rule(tuple(own)))}"
        stated += [_range(strongest), _range(weakest)]
    first_does = _does(facts, first[0], name, unit)
    second_does = _does(facts, second[0], "", unit)
    second_where = _where(facts, facts.rule(second))
    text = f"Where {_where(facts, rule)}, {subject} {first_does}{emphasis}."
    return Sentence(f"{text} Where {second_where}, it {second_does}.", stated)


def _clearly_stronger(strong: SharedCurve, weak: SharedCurve) -> bool:
    """Whether one range is clearly larger than another, of other rows, beyond the errors of both."""
    error = math.hypot(_error(strong), _error(weak))
    return strong.range >= STRONGER * weak.range and strong.range - weak.range > ERRORS * error


def _two_strengths(
    facts: FitFacts,
    name: str,
    subject: str,
    curves: Sequence[SharedCurve],
    output: OutputWords,
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
    if not _clearly_stronger(strongest, weakest):
        return NOTHING
    largest = output.unit.effect(strongest.range)
    where = _where(facts, facts.rule([strongest]))
    text = f"{name} shifts {subject} by up to {largest} where {where}, {_by(facts, weakest, output.unit)}."
    return Sentence(text, [_range(strongest), _range(weakest)])


def _lie_on_both_sides(facts: FitFacts, curves: Sequence[SharedCurve]) -> bool:
    """Whether the first feature that effects depend on tells the rows of two curves apart."""
    if not facts.dependence.moderators:
        return False
    moderator = facts.dependence.moderators[0]
    first, second = (dict(facts.rule([curve]).conditions).get(moderator) for curve in curves)
    return first is not None and second is not None and first.intersect(second).is_empty


def _by(facts: FitFacts, curve: SharedCurve, unit: OutputUnit) -> str:
    """How far another curve ranges, and where: ``by up to 17 where workingday = 0``."""
    where = _where(facts, facts.rule([curve]))
    if curve.range <= FLAT * facts.largest_range:
        return f"hardly at all where {where}"
    return f"by up to {unit.effect(curve.range, bare=True)} where {where}"


def _quiet(facts: FitFacts) -> Sentence:
    """Where predictions vary far less than overall: one region by its rule, several by their number."""
    quiet = facts.quiet_regions
    leaves = [] if facts.figures is None else facts.figures.leaves
    stated = [
        Fact("spread of predictions", leaf.spread, regions=(leaf.region,))
        for leaf in leaves
        if leaf.region in quiet
    ]
    if len(quiet) == 1:
        where = _where(facts, facts.fitted.partition.rules[quiet[0]])
        return Sentence(f"Where {where}, predictions vary far less than overall.", stated)
    quiet_share = share(sum(leaf.share for leaf in leaves if leaf.region in quiet))
    regions = f"{len(quiet)} of {len(facts.fitted.partition)} regions"
    text = f"In {regions} ({quiet_share} of the rows) predictions vary far less than overall."
    return Sentence(text, stated)


# Regions of a report ------------------------------------------------------------------------------------


def _curve_sentence(facts: FitFacts, curve: SharedCurve, output: OutputWords) -> Sentence:
    does = _does(facts, curve, feature_text(curve.label), output.unit)
    size = output.unit.effect(curve.range)
    by = "" if size in does else f", by up to {size}"
    text = f"{output.name} {does}{by}."
    return Sentence(_capitalised(text), [_shape_fact(facts, curve), _range(curve)])


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
        figures = facts.figures
        spread = math.nan if figures is None else figures.leaves[region].spread
        fact = Fact("spread of predictions", spread, regions=(region,))
        return [Sentence("Predictions vary far less here than overall.", [fact])]
    if facts.curves is None:
        return []
    rule_here = facts.fitted.partition.rules[region]
    own = []
    for curve in facts.curves.in_region(region):
        # Along a feature that the region itself is cut on the curve is that of more rows.
        shared = facts.rule([curve]).conditions
        own_cuts = [part[0] for part in rule_here.conditions if part not in shared]
        if curve.label in facts.curves.differs and curve.label not in own_cuts:
            own.append(curve)
    own.sort(key=lambda curve: -curve.range)
    contrasts = [_contrast(facts, curve, output) for curve in own]
    told = [sentence for sentence in contrasts if sentence][:MOST_CONTRASTS]
    if not told and own and own[0].range > FLAT * facts.largest_range:
        return [_curve_sentence(facts, own[0], output)]
    return told


def _contrast(facts: FitFacts, here: SharedCurve, output: OutputWords) -> Sentence:
    """What a feature does in a region, beside the curve of it that differs most; empty: much the same."""
    if facts.curves is None:
        return NOTHING
    others = [other for other in facts.curves.of(here.label) if other is not here]
    at_same_values = [other for other in others if len(common_levels(here, other)) > 1] or others
    by_range = sorted(at_same_values, key=lambda curve: curve.range)
    bar = FLAT * facts.largest_range
    name = feature_text(here.label)
    unit = output.unit
    stated = [_shape_fact(facts, here), _range(here)]
    if here.range <= bar:
        if not by_range or by_range[-1].range <= bar:
            return NOTHING
        return Sentence(f"{name} hardly matters here.", [*stated, _range(by_range[-1])])
    does = f"{output.name} {_does(facts, here, name, unit)}"
    differing = [
        other
        for other in by_range
        if shapes_differ(here, other, (facts.shape(here), facts.shape(other)))
    ]
    if differing:
        other = max(differing, key=lambda curve: distance_apart(here, curve))
        where = _where(facts, facts.rule([other]))
        text = f"{does}; where {where}, it {_does(facts, other, '', unit)}."
        return Sentence(_capitalised(text), [*stated, _shape_fact(facts, other)])
    weaker = [other for other in by_range if _clearly_stronger(here, other)]
    stronger = [other for other in reversed(by_range) if _clearly_stronger(other, here)]
    if not weaker and not stronger:
        return NOTHING
    other = weaker[0] if weaker else stronger[0]
    size = unit.effect(here.range)
    by = "" if does.endswith(size) else f", by up to {size}"
    only = "" if weaker else " only"
    text = f"{does}{by}{only} ({_by(facts, other, unit)})."
    return Sentence(_capitalised(text), [*stated, _range(other)])


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


# Doubts and rows --------------------------------------------------------------------------------------


def _doubts(facts: FitFacts) -> list[Sentence]:
    """Reasons not to rely on a result, the strongest first: a first split that does not come back, few rows, noise."""
    doubts = []
    first = facts.seldom_first_split
    stability = facts.fitted.stability
    if first is not None and stability is not None:
        instead = f" (otherwise most often {feature_text(first.instead)})" if first.instead else ""
        text = (
            f"the first split, on {feature_text(first.column)}, came back in {first.count or 'none'} of "
            f"{stability.searches} searches on half the rows{instead}"
        )
        if stability.score >= ALIKE:
            text += f", but their regions are nearly the same (adjusted Rand index {stability.score:.2f})."
        else:
            text += ": take the regions as tentative."
        doubts.append(Sentence(text, [Fact("halves", first.count, feature=first.column)]))
    small = facts.small_regions
    stated = [
        Fact("rows", facts.fitted.partition[region].n_samples, regions=(region,))
        for region in small
    ]
    if 0 < len(small) <= MOST_BY_RULE:
        rules = facts.fitted.partition.rules
        where = word_list(
            [f"where {_where(facts, rules[region])} (region {region})" for region in small]
        )
        text = f"{where}, there are only {stated[0].value:.0f} search rows: take it as a hint."
        if len(small) > 1:
            text = f"{where}, there are fewer than {FEW_ROWS} search rows each: take these regions as hints."
        doubts.append(Sentence(text, stated))
    elif small:
        numbers = word_list([str(region) for region in small])
        of_all = f"{len(small)} of {len(facts.fitted.partition)} regions ({numbers})"
        if len(small) == len(facts.fitted.partition):
            of_all = f"all {len(small)} regions"
        text = f"{of_all} have fewer than {FEW_ROWS} search rows each: take them as hints."
        doubts.append(Sentence(text, [*stated, _n_regions(facts)]))
    doubts += [Sentence(_capitalised(text), [_stray(facts)]) for text in facts.wavering]
    return doubts


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
    if n_search == 0:
        return NOTHING
    n_rows = int(facts.diagnostics.get("plan", {}).get("available", n_search))
    search_rows = f"{n_search:,} of them (search rows)"
    if n_search == n_rows:
        search_rows = "all of them"
    stated = [Fact("rows", n_search), Fact("rows", n_held_out, rows="held-out")]
    sentences = [f"Rows: {n_rows:,}."]
    if facts.is_constant:
        return Sentence(sentences[0], stated)
    if n_held_out > 0:
        sentences.append(f"Regions, curves and means come from {search_rows};")
        sentences.append(
            f"% described and rows stray from {n_held_out:,} others, set aside before the search "
            "(held-out rows)."
        )
    else:
        sentences.append(f"Regions, curves and figures come from {search_rows}.")
    n_unused = n_rows - n_search - n_held_out
    if n_unused > 0:
        sentences.append(f"{n_unused:,} were not used.")
    return Sentence(" ".join(sentences), stated)
