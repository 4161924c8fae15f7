"""Disagreement: how far two explanations are apart on the rows of a region (docs/method.rst).

    R(region) = sum over sets S of loss(phi1(S) - phi2(S)),

averaged over the rows of the region where there is a gap at every row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np

from granite_xai.algebra.accumulated import Accumulated
from granite_xai.algebra.behavior import Behavior, Risk, Sensitivity, gap_loss
from granite_xai.algebra.catalog import QUESTIONS, explanations
from granite_xai.algebra.effects import (
    Effect,
    Term,
    Terms,
    cell_sizes,
    combination,
    masked_sum_of_rows,
)
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.influence import Influence
from granite_xai.algebra.interaction import weighted_sum
from granite_xai.algebra.masking import Conditional, Masking
from granite_xai.algebra.region_weights import AlongSigns, RegionWeights, SignedLines
from granite_xai.base.document import PrintableDict
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import Coalition, Elementwise, FloatArray, IntArray, PairLoss, union
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import Needs
from granite_xai.tables import Table

NUMBERS_AT_ONCE = 2**21  # of rows and regions, of which gaps are in memory together


@dataclass(frozen=True, slots=True, init=False)
class Disagreement:
    """Two explanations with the same behavior and influence that differ in masking, in interaction, or in both.

    Parameters
    ----------
    first, second : Explainer, or a name of ``gx.explanations()``
    loss : "squared", "absolute" or callable
        Applied cell by cell to the gap between both.
    name : str, optional

    Examples
    --------
    >>> question = Disagreement(Explainer(interaction="full"), Explainer(interaction="pure"))
    >>> question.behavior.key
    'local'
    """

    first: Explainer
    second: Explainer
    loss: str | Elementwise
    name: str | None = field(default=None, compare=False)

    def __init__(
        self,
        first: Explainer | str,
        second: Explainer | str,
        loss: str | Elementwise = "squared",
        name: str | None = None,
    ) -> None:
        named = explanations()
        first = choose("first", first, named)
        second = choose("second", second, named)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "second", second)
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "name", name)
        gap_loss(loss)
        for axis in ("behavior", "influence"):
            of_first = getattr(first, axis)
            of_second = getattr(second, axis)
            if of_first != of_second:
                raise InputError(
                    f"the two explanations differ in {axis}: {of_first!r} and {of_second!r}. Explanations can be "
                    "compared when they share behavior and influence and differ in masking, in interaction, or in "
                    "both.",
                    code="P03",
                    argument=axis,
                    hint=f"Give both the same {axis}.",
                )
        if (first.masking, first.interaction) == (second.masking, second.interaction):
            raise InputError(
                "the two explanations are the same: masking and interaction are equal.",
                code="P03",
                argument="second",
                hint="Let them differ in masking, in interaction, or in both.",
            )

    @property
    def behavior(self) -> Behavior:
        """The behavior both share."""
        return self.first.behavior

    @property
    def side_names(self) -> tuple[str, str]:
        """Names of both explanations, or their places."""
        return self.first.name or "first", self.second.name or "second"

    @property
    def label(self) -> str:
        """A name for tables: the question's, or both explanations'."""
        return self.name or "-".join(self.side_names)

    def with_influence(self, influence: Influence) -> Disagreement:
        """The same question about other sets."""
        first = self.first.with_influence(influence)
        second = self.second.with_influence(influence)
        return replace(self, first=first, second=second)

    def resolve(self, table: Table, **options: Any) -> ResolvedQuestion:
        """This question on the columns of a table.

        Parameters
        ----------
        table : Table
            Rows on which the costs of partial effects are counted.
        options
            As in `Explainer.resolve`.
        """
        first = self.first.resolve(table, **options)
        second = self.second.resolve(table, **options)
        return ResolvedQuestion(question=self, first=first, second=second)


# Questions with a name ----------------------------------------------------------------------------


def questions() -> dict[str, Disagreement]:
    """The questions with a name: pairs of explanations that share behavior and influence.

    Examples
    --------
    >>> questions()["ice-pdp"].first.name
    'ice'
    """
    headings = ("question", "first", "second", "about")
    return PrintableDict(
        _named_questions(),
        headings,
        lambda asked: (asked.first.name or "", asked.second.name or "", asked.behavior.key),
    )


@cache
def _named_questions() -> dict[str, Disagreement]:
    return {name: Disagreement(*sides, name=name) for name, sides in QUESTIONS.items()}


def question(
    name: str,
    *,
    loss: str | Elementwise = "squared",
    risk_loss: str | PairLoss | None = None,
    average: str = "prediction",
    pointwise: bool = False,
    total: str | None = None,
    conditional: Conditional | None = None,
    intervals: int | None = None,
) -> Disagreement:
    """A named question with its options.

    Parameters
    ----------
    name : str
        A name of ``gx.questions()``.
    loss : "squared", "absolute" or callable
        On the gap between both explanations.
    risk_loss, average, pointwise
        Risk only: the loss of the model, and how it is averaged, as in `Risk`.
    total
        Sensitivity only: how a full effect is measured, as in `Sensitivity`.
    conditional : Conditional, optional
        Conditional masking only: its bins or copula.
    intervals : int, optional
        ALE only: of each column; 10 if not told.

    Examples
    --------
    >>> question("pfi-risk", risk_loss="absolute").behavior.loss
    'absolute'
    """
    named = choose("question", name, questions())
    behavior = named.behavior
    maskings = {named.first.masking.key, named.second.masking.key}
    is_risk = isinstance(behavior, Risk)
    options = {  # whether it is given, which questions have it, and whether this is one of them
        "total": (total is not None, "sensitivity questions", isinstance(behavior, Sensitivity)),
        "risk_loss": (risk_loss is not None, "risk questions", is_risk),
        "average": (average != "prediction", "risk questions", is_risk),
        "pointwise": (pointwise, "risk questions", is_risk),
        "conditional": (
            conditional is not None,
            "questions with conditional masking",
            "conditional" in maskings,
        ),
        "intervals": (intervals is not None, "questions about ALE", "accumulated" in maskings),
    }
    for option, (is_given, questions_with_it, is_one) in options.items():
        if is_given and not is_one:
            raise InputError(
                f"{option} is an option of {questions_with_it}; {name!r} is none.",
                code="P03",
                argument=option,
                hint="Leave it out.",
            )
    if is_risk:
        behavior = Risk(risk_loss, average, pointwise)
    elif total is not None:
        behavior = Sensitivity(total)
    masking: Masking | None = conditional if intervals is None else Accumulated(intervals)
    sides = []
    for side in (named.first, named.second):
        if masking is not None and side.masking.key == masking.key:
            side = replace(side, masking=masking)
        sides.append(replace(side, behavior=behavior))
    return Disagreement(first=sides[0], second=sides[1], loss=loss, name=name)


@dataclass(frozen=True, eq=False)
class ResolvedQuestion:
    """A question resolved on a table: its gaps and its disagreement in any regions.

    Parameters
    ----------
    question : Disagreement
    first, second : Effect
        Its two explanations on the table.
    output : int
        Which output of the model it is about, by position.
    """

    question: Disagreement
    first: Effect
    second: Effect
    output: int = 0

    def about_output(self, output: int, label: str | None = None) -> ResolvedQuestion:
        """The same question about another output, by its number, and under another label."""
        question = replace(self.question, name=label or self.question.name)
        return replace(self, output=output, question=question)

    @property
    def label(self) -> str:
        """A name for tables."""
        return self.question.label

    @property
    def behavior(self) -> Behavior:
        """The behavior both explanations share."""
        return self.first.behavior

    @property
    def is_local(self) -> bool:
        """Whether there is a gap at every row, rather than one for a region."""
        return self.behavior.per_row

    @property
    def order(self) -> int:
        """How many players an effect is about: the order of the compared interactions, otherwise 1."""
        return getattr(self.question.first.influence, "order", 1)

    @cached_property
    def sets(self) -> list[Coalition]:
        """The columns of each set whose effects are compared."""
        return self.first.sets

    @cached_property
    def loss(self) -> Elementwise:
        """The loss of a gap."""
        return gap_loss(self.question.loss).of_gaps

    @property
    def has_squared_loss(self) -> bool:
        """Whether the loss is the square, so that roots of it are in units of the gap."""
        return self.question.loss == "squared"

    @cached_property
    def gap_terms(self) -> list[Terms]:
        """For each set, ``phi1 - phi2`` as a combination of values of games."""
        return [
            weighted_sum([(1.0, first), (-1.0, second)])
            for first, second in zip(self.first.terms, self.second.terms, strict=True)
        ]

    # What it needs ------------------------------------------------------------------------------

    @property
    def needs(self) -> Needs:
        """What is read of the model."""
        return self.first.needs | self.second.needs

    @property
    def reads(self) -> dict[Coalition, frozenset[Coalition]]:
        """The coalitions whose predictions for pairs of rows the gap of each set reads."""
        sides = zip(self.sets, self.first.reads, self.second.reads, strict=True)
        return {members: first | second for members, first, second in sides}

    @property
    def is_sampled(self) -> bool:
        """Whether an effect is a mean over drawn orders of arrival."""
        return self.first.is_sampled or self.second.is_sampled

    # What it says of regions --------------------------------------------------------------------

    def gaps(self, evaluations: Evaluations, regions: RegionWeights) -> Iterator[FloatArray]:
        """``phi1(S) - phi2(S)`` of each set in turn: (n, K) at every row, or (sides, K).

        Parameters
        ----------
        evaluations : Evaluations
            Of the n rows, of the question's output.
        regions : RegionWeights
        """
        views = [evaluations.in_gap_of(members) for members in self.sets]
        started: dict[int, FloatArray] = {}  # what shared values make of the gaps of sets
        for term, readers in self._shared_values.items():
            readers_here = [number for number in readers if views[number] is evaluations]
            if readers_here:
                value = term.value(evaluations, regions)
                for number in readers_here:
                    of_gap = self.gap_terms[number][term] * value
                    started[number] = started[number] + of_gap if number in started else of_gap
        for number, (terms, view) in enumerate(zip(self.gap_terms, views, strict=True)):
            if number not in started:
                yield combination(terms, view, regions)
                continue
            rest = {
                term: factor for term, factor in terms.items() if term not in self._shared_values
            }
            gap = started.pop(number)
            yield gap + combination(rest, view, regions) if rest else gap

    @cached_property
    def _shared_values(self) -> dict[Term, list[int]]:
        """Values that the gaps of several sets read, and the numbers of these sets.

        Masked models that add up are left out: a gap then is one masked model, which costs less.
        """
        readers: dict[Term, list[int]] = {}
        for number, terms in enumerate(self.gap_terms):
            for term in terms:
                readers.setdefault(term, []).append(number)
        everything = union(self.first.layout.players)
        shared = {}
        for term, numbers in readers.items():
            is_over_all = term.masking.averages_rows or term.visible in (Coalition(), everything)
            if len(numbers) > 1 and not (term.behavior.is_linear and is_over_all):
                shared[term] = numbers
        return shared

    @cached_property
    def has_masked_gaps(self) -> bool:
        """Whether its disagreement along signs follows from sums over rows: squared gaps of means over all rows."""
        return self.has_squared_loss and all(
            term.behavior.is_linear and term.masking.averages_rows
            for terms in self.gap_terms
            for term in terms
        )

    def gaps_along_signs(
        self, evaluations: Evaluations, signed: SignedLines
    ) -> Iterator[AlongSigns]:
        """The gap of each set in turn at every row, on all lines of weights along signs; of a question of sums."""
        for members, terms in zip(self.sets, self.gap_terms, strict=True):
            gap = masked_sum_of_rows(terms, evaluations.in_gap_of(members))
            yield gap.along_signs(signed)

    def losses(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """The disagreement of each set in each region, (sets, sides, K); 0 where a side has no row."""
        has_rows = regions.mass() > 0
        by_set = []
        for gap in self.gaps(evaluations, regions):
            loss = self.loss(gap)
            by_set.append(regions.means(loss) if self.is_local else np.where(has_rows, loss, 0.0))
        return np.stack(by_set)

    def regional(self, evaluations: Evaluations, regions: RegionWeights) -> FloatArray:
        """The disagreement of each region, (sides, K)."""
        gaps_kept = len(self.sets) if self.is_local and self._shared_values else 1
        at_once = max(1, NUMBERS_AT_ONCE // (len(evaluations) * gaps_kept))
        return np.concatenate(
            [self.losses(evaluations, part).sum(axis=0) for part in regions.blocks(at_once)], axis=1
        )

    def cell_sizes(self, evaluations: Evaluations) -> Iterator[IntArray]:
        """For each set how many rows of the region its gap averages over, at least, at each row, (n,)."""
        return cell_sizes(self.sets, self.gap_terms, evaluations)

    def floor(self, evaluations: Evaluations, error: float) -> float:
        """Disagreement that errors of the model's answers, and sampled effects, can produce (C4).

        ``|sets| * loss(2^(k + 1) * e) + sum over sets of mean_n loss(2 * standard error)``, with the error
        e of one value and the order k.

        Parameters
        ----------
        evaluations : Evaluations
            Of all rows.
        error : float
            Of one prediction.
        """
        of_value = 2.0 ** (self.order + 1) * self.behavior.error(error, evaluations)
        total = len(self.sets) * float(self.loss(np.array([of_value]))[0])
        for effect in (self.first, self.second):
            if effect.is_sampled:
                losses = self.loss(2.0 * effect.errors_of_draws(evaluations))
                weights = evaluations.weights if self.is_local else None
                total += float(np.average(losses, axis=0, weights=weights).sum())
        return total
