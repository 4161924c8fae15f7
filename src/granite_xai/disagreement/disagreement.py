"""Disagreement: how far two explanations are apart on a region, and the objective that a partition shall reduce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Protocol

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.printable import PrintableDict
from granite_xai.base.typing import BoolArray, Elementwise, FloatArray, IntArray, Term, Terms
from granite_xai.base.validation import choose, real_number, unknown
from granite_xai.compute import Resources, in_threads
from granite_xai.compute.compiled import available
from granite_xai.compute.primitives import MOMENTS, Array
from granite_xai.engine.row_values import joined
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.behavior.behavior import Game, read_twice
from granite_xai.explanation.behavior.losses import Loss, gap_loss
from granite_xai.explanation.explainer import Explainer, explanations
from granite_xai.explanation.influence import Influence
from granite_xai.explanation.interaction import add_terms
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.masking import smallest_cells
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.trees.routes import Route

Games = list[tuple[Game, Terms]]  # those whose values make up the gap of a set


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
        one, two = (
            choose(key, side, explanations())
            for key, side in (("first", first), ("second", second))
        )
        for key, value in {"first": one, "second": two, "loss": loss, "name": name}.items():
            object.__setattr__(self, key, value)
        gap_loss(loss)
        for axis in ("behavior", "influence"):
            ours, theirs = getattr(one, axis), getattr(two, axis)
            if ours != theirs:
                text = f"the two explanations differ in {axis}: {ours!r} and {theirs!r}. Explanations can be compared "
                text += "when they share behavior and influence and differ in masking, in interaction, or in both."
                raise InputError(
                    text, code="P03", argument=axis, hint=f"Give both the same {axis}."
                )
        if (one.masking, one.interaction) == (two.masking, two.interaction):
            text, hint = (
                "masking and interaction are equal",
                "Let them differ in masking, in interaction, or in both.",
            )
            raise InputError(
                f"the two explanations are the same: {text}.",
                code="P03",
                argument="second",
                hint=hint,
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
        one, two = (side.with_influence(influence) for side in (self.first, self.second))
        return replace(self, first=one, second=two)

    def compare(
        self,
        route: Route,
        resources: Resources,
        seed: int,
        pairs: tuple[int | None, int | None] = (None, None),
    ) -> ResolvedQuestion:
        """This question resolved on the table of a route, sampled effects from so many ``pairs`` of orders."""
        sides = zip((self.first, self.second), pairs, strict=True)
        first, second = (side.effect(route, resources, seed, count) for side, count in sides)
        return ResolvedQuestion(self, first, second)


@dataclass(frozen=True, eq=False)
class ResolvedQuestion:
    """A question resolved on a table: the disagreement of every region of a batch of splits."""

    question: Disagreement
    first: ResolvedExplainer
    second: ResolvedExplainer
    chosen: Sequence[int] | None = None  # numbers of the sets that count; None: all
    output: int = 0  # number of the output that it is about, where several are explained

    def about(self, output: int, label: str | None = None) -> ResolvedQuestion:
        """The same question about another output, by its number, and under another label."""
        return replace(
            self, output=output, question=replace(self.question, name=label or self.question.name)
        )

    def beyond_chance(self) -> ResolvedQuestion:
        """The same question with maskings that learn no more than what the fitting rows show beyond chance."""
        one, two = (
            replace(side, masking=side.masking.beyond_chance())
            for side in (self.first, self.second)
        )
        return replace(self, first=one, second=two)

    def by_sums(self) -> ResolvedQuestion:
        """The same question with maskings whose means are sums over rows, where these have the choice."""
        first = replace(self.first, masking=self.first.masking.by_sums())
        second = replace(self.second, masking=self.second.masking.by_sums())
        return replace(self, first=first, second=second)

    @cached_property
    def measure(self) -> Loss:
        """The loss of a gap, with what the engine knows of it."""
        return gap_loss(self.question.loss)

    @property
    def loss(self) -> Elementwise:
        """The loss of a gap as a function."""
        return self.measure.gap

    @cached_property
    def gaps(self) -> list[dict[Masking, Terms]]:
        """For each set, ``phi1 - phi2`` as terms of the game of each masking."""
        pairs = zip(self.first.combined, self.second.combined, strict=True)
        ours, theirs = self.first.masking, self.second.masking
        if ours == theirs:
            return [{ours: add_terms([(1.0, one), (-1.0, two)])} for one, two in pairs]
        return [
            {ours: one, theirs: {term: -value for term, value in two.items()}} for one, two in pairs
        ]

    @cached_property
    def _shared(self) -> dict[Masking, set[Term]]:
        """Terms that more than one set reads."""
        return {
            masking: read_twice([gap[masking] for gap in self.gaps]) for masking in self.gaps[0]
        }

    def _games(self, evaluations: Evaluations, splits: Splits) -> Iterator[Games]:
        """For each set, the games whose values make up its gap."""
        behavior, evaluations = self.first.behavior, evaluations.outputs[self.output]
        shared = {
            masking: Game.of(behavior, masking, evaluations, splits) for masking in self.gaps[0]
        }
        for number in range(len(self.gaps)) if self.chosen is None else self.chosen:
            members, gap = self.first.layout.sets[number], self.gaps[number]
            own, games = evaluations.on_grid(union(members)), shared
            if own is not evaluations:
                games = {masking: Game.of(behavior, masking, own, splits) for masking in gap}
            else:
                for masking, terms in gap.items():
                    games[masking].share(self._shared[masking] & terms.keys())
            yield [(games[masking], terms) for masking, terms in gap.items()]

    def _gap(self, splits: Splits, games: Games) -> FloatArray:
        """The gap of a set, (K, n) with one number a row, otherwise (K, 2)."""
        if self.first.behavior.per_row:
            rows = joined([game.rows(terms) for game, terms in games], splits)
            return np.asarray(splits.primitives.host(rows.array(splits)).T)
        return np.asarray(np.sum([game.values(terms) for game, terms in games], axis=0))

    def gap_values(self, evaluations: Evaluations, splits: Splits) -> Iterator[FloatArray]:
        """``phi1(S) - phi2(S)`` of each set in turn, (K, n) with one number a row, otherwise (K, 2)."""
        few = max(1, evaluations.block // self.split_bytes(evaluations.n_rows, evaluations.n_rows))
        if splits.lines is None or splits.count <= few:
            return (self._gap(splits, games) for games in self._games(evaluations, splits))
        lines = np.array_split(
            splits.lines, -(-splits.count // few)
        )  # set by set, as many lines as memory affords
        parts = [Splits.weighted(some, splits.weights, splits.primitives) for some in lines]
        alone = (
            replace(self, chosen=[k])
            for k in (range(len(self.gaps)) if self.chosen is None else self.chosen)
        )
        return (
            np.concatenate([next(one.gap_values(evaluations, part)) for part in parts])
            for one in alone
        )

    def cell_sizes(self, evaluations: Evaluations) -> Iterator[IntArray]:
        """Rows of the smallest cell that the gap of each set averages over, at every row."""
        for members, gap in zip(self.first.layout.sets, self.gaps, strict=True):
            yield smallest_cells(gap, evaluations.outputs[self.output].on_grid(union(members)))

    def losses(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``sum over S of loss(phi1(S) - phi2(S))``: (K, n) for behaviors with one value a row, otherwise (K, 2)."""
        found = in_threads(
            lambda games: self.loss(self._gap(splits, games)),
            self._games(evaluations, splits),
            jobs,
        )
        return np.asarray(np.sum(found, axis=0))

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``R`` of both sides of every split, shape (K, 2): the mean loss over the side's rows; 0 on an empty side."""
        if not self.first.behavior.per_row:
            return np.where(splits.mass > 0, self.losses(evaluations, splits, jobs), 0.0)
        P, mode = splits.primitives, self.measure.mode
        own = None if mode is not None else lambda values, rows: self.loss(values)

        def sums(games: Games) -> Array:
            rows = joined([game.rows(terms) for game, terms in games], splits)
            return rows.sums(MOMENTS if mode is None else mode, splits, own)[0, :, :]

        total = sum(
            in_threads(sums, self._games(evaluations, splits), jobs),
            P.array(np.zeros((2, splits.count))),
        )
        return np.where(splits.mass > 0, P.host(total * splits.scale[0, :, :]).T, 0.0)

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows, where sets have at most so many values."""
        shared = sum(map(len, self._shared.values())) if self.first.behavior.per_row else 0
        written = len(self.gaps[0]) - 1 if self.first.masking.averages_rows else 2
        members = 2 * n_rows if available() else 10 * n_rows
        return members + 16 * n_values + 8 * n_rows * (shared + written)


def questions() -> dict[str, Disagreement]:
    """The questions with a name: pairs of explanations that share behavior and influence.

    Examples
    --------
    >>> questions()["ice-pdp"].first.name
    'ice'
    """
    headings = ("question", "first", "second", "about")
    return PrintableDict(
        _questions(), headings, lambda q: (q.first.name or "", q.second.name or "", q.behavior.key)
    )


@cache
def _questions() -> dict[str, Disagreement]:
    named, text = (
        explanations(),
        files("granite_xai.disagreement").joinpath("questions.txt").read_text(encoding="utf-8"),
    )
    lines = (line.split() for line in text.splitlines())  # name, first, second
    return {name: Disagreement(named[one], named[two], name=name) for name, one, two in lines}


Questions = (
    str | Disagreement | Sequence["str | Disagreement"] | Mapping["str | Disagreement", float]
)


@dataclass(frozen=True, slots=True)
class Objective:
    """What a partition shall reduce: one question, or several with weights.

    Parameters
    ----------
    questions : str, Disagreement, list or mapping of these to weights
    weighting : "mass" or "uniform"
        Whether a region counts by its share of the rows.
    normalize : "root" or "variance"
        Each question's disagreement is divided by its own on all rows, or by the variance of the prediction.

    Examples
    --------
    >>> objective = Objective({"ice-pdp": 3, "pfi-risk": 1})
    >>> [(question.name, weight) for question, weight in objective.weighted()]
    [('ice-pdp', 3.0), ('pfi-risk', 1.0)]
    """

    questions: Questions
    weighting: str = "mass"
    normalize: str = "root"

    def __post_init__(self) -> None:
        for option, known in (
            ("weighting", ("mass", "uniform")),
            ("normalize", ("root", "variance")),
        ):
            if getattr(self, option) not in known:
                raise unknown(option, getattr(self, option), known)
        if isinstance(self.questions, Mapping | Sequence) and not isinstance(self.questions, str):
            entries = (
                self.questions.items() if isinstance(self.questions, Mapping) else self.questions
            )
            object.__setattr__(self, "questions", tuple(entries))
        elif not isinstance(self.questions, str | Disagreement):
            raise unknown("question", self.questions, questions())

    def weighted(
        self, influence: Influence | None = None
    ) -> tuple[tuple[Disagreement, float], ...]:
        """The questions as objects with their weights; those given by name get this influence."""
        entries = (
            (self.questions,)
            if isinstance(self.questions, str | Disagreement)
            else tuple(self.questions)
        )
        if not entries:
            hint = "Name at least one question."
            raise InputError("there is no question.", code="P01", argument="question", hint=hint)
        return tuple(_weighted(entry, influence) for entry in entries)


def _weighted(entry: Any, influence: Influence | None) -> tuple[Disagreement, float]:
    weight = 1.0
    if (
        isinstance(entry, tuple)
        and len(entry) == 2
        and not isinstance(entry[1], str | Disagreement)
    ):
        entry, weight = entry[0], real_number("question", entry[1], above=0, at_most=1e100)
    question = choose("question", entry, questions())
    if influence is not None and isinstance(entry, str):
        question = question.with_influence(influence)
    return question, weight


class Measure(Protocol):
    """What a region has too much of: the disagreement of a question, or the scatter of some vectors."""

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``R`` of both sides of every split, shape (K, 2)."""

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split of so many rows, where sets have at most so many values."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaledObjective:
    """Every region's share of the disagreement on all rows: sum over q of w_q * mass * R_q(region) / R_q(all rows)."""

    comparisons: tuple[Measure, ...]  # the questions, resolved (or other measures of a region)
    factors: FloatArray  # (Q,) float: ``w_q / R_q(all rows)``; 0 for a question at its noise floor
    floors: FloatArray  # (Q,) float: noise floor of each question
    total: float  # mass of all rows
    by_mass: bool = True  # whether regions count by their mass
    roots: FloatArray | None = (
        None  # (Q,) float: ``w_q / R_q(all rows)``, where the objective has other factors
    )

    def disagreements(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``R_q`` of both sides of every split, shape (K, 2, Q); so many sets at a time."""
        return np.stack(
            [one.regional(evaluations, splits, jobs) for one in self.comparisons], axis=-1
        )

    def of(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """Shares from disagreements (..., Q) and the mass (...) of the regions."""
        shares: FloatArray = disagreements @ self.factors
        return shares * mass / self.total if self.by_mass else shares

    def on(self, evaluations: Evaluations) -> float:
        """The share that all rows of some evaluations hold as one region."""
        whole = Splits.whole(evaluations.weights, evaluations.primitives)
        return float(self.of(self.disagreements(evaluations, whole), whole.mass)[0, 0])

    def left(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """Share of the disagreement on all rows that regions hold, whatever the objective counts."""
        shares: FloatArray = disagreements @ (self.factors if self.roots is None else self.roots)
        return shares * mass / self.total

    def silent(self, disagreements: FloatArray) -> bool:
        """Whether every question is at its noise floor here."""
        return bool(np.all((disagreements <= self.floors) | (self.factors == 0.0)))

    def split_bytes(self, evaluations: Evaluations) -> int:
        """Bytes that scoring takes for each split of the rows of a node."""
        n_values = max((matrix.n_values for matrix in evaluations.matrices.values()), default=0)
        return max(
            comparison.split_bytes(evaluations.n_rows, n_values) for comparison in self.comparisons
        )


def shares(
    comparisons: Sequence[ResolvedQuestion],
    weights: Sequence[float],
    roots: FloatArray,
    floors: FloatArray,
    objective: Objective,
    evaluations: Evaluations,
    exceeded: BoolArray | bool = True,
) -> ScaledObjective:
    """Scale each question by its disagreement on all rows (or the variance), unless it is rounding or chance."""
    audible = (
        (roots > floors) & (roots >= np.finfo(np.float64).tiny) & exceeded
    )  # one over less than tiny is infinite
    chosen = np.where(audible, np.asarray(weights, dtype=np.float64), 0.0)
    chosen, splits = chosen / (chosen.sum() or 1.0), Splits.whole(evaluations.weights)
    variances = np.array(
        [splits.variances(own.predictions[None])[0, 0] for own in evaluations.outputs]
    )
    variances = variances[[question.output for question in comparisons] or [0]]
    by_root = np.divide(chosen, roots, out=np.zeros_like(chosen), where=audible)
    by_mass, total = objective.weighting == "mass", float(splits.mass[0, 0])
    factors = by_root
    if objective.normalize == "variance":
        factors = np.divide(chosen, variances, out=np.zeros_like(chosen), where=variances > 0)
    return ScaledObjective(tuple(comparisons), factors, floors, total, by_mass, by_root)


def both_sides(questions: Sequence[ResolvedQuestion]) -> list[ResolvedExplainer]:
    """The effects that some questions compare."""
    return [side for question in questions for side in (question.first, question.second)]
