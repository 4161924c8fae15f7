"""What a fit found, in sentences.

Printed results and the report say the same, from here. Nothing is computed that asks the model: what
a fit does not know (any more) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from granite_xai.base.numbers import OutputUnit, amount
from granite_xai.base.text import plain
from granite_xai.fitting.fit_result import FitResult
from granite_xai.regions import Vocabulary, vocabulary
from granite_xai.results.benefit import benefit
from granite_xai.results.dependence import Dependence, dependence
from granite_xai.results.described import Described, described_of
from granite_xai.results.fit_facts import FitFacts, Outcome, is_about_effects
from granite_xai.results.headline import headline
from granite_xai.results.notes import doubts_of, notes_of
from granite_xai.results.output_words import OutputWords, output_words
from granite_xai.results.shape_sentences import shape_sentences

NO_DEPENDENCE = Dependence(features=(), moderators=(), is_mutual=False)
"""Of a fit that found no regions."""


@dataclass(frozen=True, eq=False)
class FitFinding:
    """What a fit found.

    Attributes
    ----------
    outcome : "regions", "nothing", "noise" or "no rule"
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
    doubts : tuple of str
        Reasons not to rely on it, the strongest first.
    notes : tuple of str
        What else a reader should know, most important first.
    stability : str
        What searches on other rows, or of other models, said; empty: nobody asked for them.
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
    headline: str
    details: str
    benefit: str
    by_question: tuple[str, ...]
    doubts: tuple[str, ...]
    notes: tuple[str, ...]
    stability: str
    dependence: Dependence
    described: Described | None
    output: OutputWords
    vocabulary: Vocabulary
    quiet_regions: tuple[int, ...]

    @property
    def main_feature(self) -> str:
        """The feature that the finding is about; empty where it is about none."""
        if not self.dependence.features:
            return ""
        return self.dependence.features[0]


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

    Returns
    -------
    FitFinding
    """
    facts = FitFacts(fitted, diagnostics)
    figures = facts.figures
    stability = ""
    if fitted.stability is not None:
        stability = fitted.stability.sentences()[0]
    output = output_words(fitted.model, target or diagnostics.get("target") or "", unit)
    words_of_rules = vocabulary(fitted.partition.rules, fitted.table)
    described = described_of(fitted)
    tree_dependence = NO_DEPENDENCE
    details = ""
    if facts.outcome == "regions" and figures is not None:
        tree_dependence = dependence(figures)
        if facts.is_effect and not facts.is_doubtful:
            details = shape_sentences(
                fitted, figures, tree_dependence, facts.quiet_regions, output, words_of_rules
            )
    return FitFinding(
        outcome=facts.outcome,
        is_effect=facts.is_effect,
        headline=headline(facts, tree_dependence, output),
        details=details,
        benefit=benefit(facts, described),
        by_question=_sentences_by_question(fitted, output.unit),
        doubts=tuple(doubts_of(fitted.partition, diagnostics, fitted.stability)),
        notes=tuple(notes_of(fitted.partition, diagnostics, words_of_rules)),
        stability=stability,
        dependence=tree_dependence,
        described=described,
        output=output,
        vocabulary=words_of_rules,
        quiet_regions=facts.quiet_regions,
    )


def _sentences_by_question(fitted: FitResult, unit: OutputUnit) -> tuple[str, ...]:
    """How far rows stray, or explanations differ, over all rows and inside the regions: for each question or output."""
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
        if not is_about_effects(question.question):
            measured = f"difference {amount(overall)} over all rows, {amount(inside)}"
        elif figures.is_rooted:
            measured = (
                f"rows stray {of_output.spread(overall)} over all rows, {of_output.spread(inside)}"
            )
        else:
            measured = f"rows stray ±{amount(overall)} over all rows, ±{amount(inside)}"
        sentences.append(f"{plain(title)}: {measured} inside the regions.")
    return tuple(sentences)
