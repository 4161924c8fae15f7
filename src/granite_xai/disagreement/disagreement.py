"""Disagreement: how far two explanations are apart on the rows of a region (docs/method.rst)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import Elementwise, FloatArray, IntArray, Term, Terms
from granite_xai.compute import Resources, in_threads
from granite_xai.compute.primitives import MOMENTS
from granite_xai.engine.row_values import HybridFunction, RowIndex, sum_row_values
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior import Behavior
from granite_xai.explanation.behavior.behavior import Game, read_twice
from granite_xai.explanation.behavior.losses import Loss, gap_loss
from granite_xai.explanation.catalog import explanations
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.influence import Influence, Interactions
from granite_xai.explanation.interaction import add_terms
from granite_xai.explanation.masking import Masking
from granite_xai.explanation.masking.masking import smallest_cells
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.trees.ensembles import Route

# Games with the terms of each: their values together are the gap of a set.
Games = list[tuple[Game, Terms]]
FLOAT_BYTES = 8
MEMBER_BYTES = 10  # which side of a split a row is on, twice as a flag and once as a float


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
        _require_same("behavior", first.behavior, second.behavior)
        _require_same("influence", first.influence, second.influence)
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

    def compare(
        self,
        route: Route,
        resources: Resources,
        seed: int,
        pairs: tuple[int | None, int | None] = (None, None),
    ) -> ResolvedQuestion:
        """This question resolved on a table.

        Parameters
        ----------
        route : Route
            The table, and how its rows are evaluated.
        resources : Resources
        seed : int
            For sampled effects.
        pairs : tuple of two int or None
            Pairs of orders that sampled effects of each side are drawn from; None: as many as can be paid for.
        """
        first = self.first.effect(route, resources, seed, pairs[0])
        second = self.second.effect(route, resources, seed, pairs[1])
        return ResolvedQuestion(question=self, first=first, second=second)


def _require_same(axis: str, first: object, second: object) -> None:
    """Refuse two explanations that differ where they must be equal."""
    if first == second:
        return
    raise InputError(
        f"the two explanations differ in {axis}: {first!r} and {second!r}. Explanations can be compared when they "
        "share behavior and influence and differ in masking, in interaction, or in both.",
        code="P03",
        argument=axis,
        hint=f"Give both the same {axis}.",
    )


@dataclass(frozen=True, eq=False)
class ResolvedQuestion:
    """A question resolved on a table: the disagreement of every region of a batch of splits.

    Parameters
    ----------
    question : Disagreement
    first, second : ResolvedExplainer
        Its two explanations on the table.
    chosen : sequence of int, optional
        Numbers of the sets that count; None: all.
    output : int
        Number of the output that it is about, where several are explained.
    """

    question: Disagreement
    first: ResolvedExplainer
    second: ResolvedExplainer
    chosen: Sequence[int] | None = None
    output: int = 0

    @property
    def effect_order(self) -> int:
        """How many players an effect is about: the order of the compared interactions, otherwise 1."""
        influence = self.question.first.influence
        return influence.order if isinstance(influence, Interactions) else 1

    def about_output(self, output: int, label: str | None = None) -> ResolvedQuestion:
        """The same question about another output, by its number, and under another label."""
        question = replace(self.question, name=label or self.question.name)
        return replace(self, output=output, question=question)

    def chosen_by_rows(self) -> ResolvedQuestion:
        """The same question with maskings for which the rows choose what is learned of them."""
        first = replace(self.first, masking=self.first.masking.chosen_by_rows())
        second = replace(self.second, masking=self.second.masking.chosen_by_rows())
        return replace(self, first=first, second=second)

    @cached_property
    def gap_loss(self) -> Loss:
        """The loss of a gap, with what the engine knows of it."""
        return gap_loss(self.question.loss)

    @property
    def loss(self) -> Elementwise:
        """The loss of a gap as a function."""
        return self.gap_loss.of_gaps

    @cached_property
    def gap_terms(self) -> list[dict[Masking, Terms]]:
        """For each set, ``phi1 - phi2`` as terms of the game of each masking."""
        first_masking = self.first.masking
        second_masking = self.second.masking
        gaps: list[dict[Masking, Terms]] = []
        for first, second in zip(self.first.combined, self.second.combined, strict=True):
            if first_masking == second_masking:
                gaps.append({first_masking: add_terms([(1.0, first), (-1.0, second)])})
            else:
                negative = {term: -coefficient for term, coefficient in second.items()}
                gaps.append({first_masking: first, second_masking: negative})
        return gaps

    @property
    def _maskings(self) -> list[Masking]:
        """The masking of both explanations, or the two that they have."""
        return list(self.gap_terms[0])

    @property
    def _chosen_sets(self) -> Sequence[int]:
        """Numbers of the sets that count."""
        if self.chosen is None:
            return range(len(self.gap_terms))
        return self.chosen

    @cached_property
    def _shared_terms(self) -> dict[Masking, set[Term]]:
        """Terms that more than one set reads."""
        shared = {}
        for masking in self._maskings:
            shared[masking] = read_twice([terms[masking] for terms in self.gap_terms])
        return shared

    def _games(self, evaluations: Evaluations, splits: Splits) -> Iterator[Games]:
        """For each set, the games whose values make up its gap."""
        evaluations = evaluations.outputs[self.output]
        games_of_all_sets = self._games_by_masking(evaluations, splits)
        for number in self._chosen_sets:
            gap_terms = self.gap_terms[number]
            on_grid = evaluations.on_grid(union(self.first.layout.sets[number]))
            if on_grid is evaluations:
                games = games_of_all_sets
                for masking, terms in gap_terms.items():
                    games[masking].keep_values(self._shared_terms[masking] & terms.keys())
            else:  # the columns of the set are on a grid, which no other set reads
                games = self._games_by_masking(on_grid, splits)
            yield [(games[masking], terms) for masking, terms in gap_terms.items()]

    def _games_by_masking(self, evaluations: Evaluations, splits: Splits) -> dict[Masking, Game]:
        behavior = self.first.behavior
        return {
            masking: Game.of(behavior, masking, evaluations, splits) for masking in self._maskings
        }

    def _gap(self, splits: Splits, games: Games) -> FloatArray:
        """The gap of a set, (K, n) with one number a row, otherwise (K, 2)."""
        if self.first.behavior.per_row:
            rows = sum_row_values([game.rows(terms) for game, terms in games], splits)
            return np.asarray(rows.array(splits).T)
        return np.asarray(np.sum([game.values(terms) for game, terms in games], axis=0))

    def gap_values(self, evaluations: Evaluations, splits: Splits) -> Iterator[FloatArray]:
        """The gap of each set in turn.

        Parameters
        ----------
        evaluations : Evaluations
        splits : Splits
            K ways to divide or to weigh the rows.

        Returns
        -------
        iterator of arrays
            ``phi1(S) - phi2(S)``, (K, n) with one number a row, otherwise (K, 2).
        """
        bytes_of_split = self.split_bytes(evaluations.n_rows, evaluations.n_rows)
        affordable = max(1, evaluations.block // bytes_of_split)
        if splits.lines is None or splits.count <= affordable:
            return (self._gap(splits, games) for games in self._games(evaluations, splits))
        n_parts = -(-splits.count // affordable)  # rounded up
        parts = [
            Splits.weighted(lines, splits.weights)
            for lines in np.array_split(splits.lines, n_parts)
        ]
        return self._gap_values_in_parts(evaluations, parts)

    def _gap_values_in_parts(
        self, evaluations: Evaluations, parts: Sequence[Splits]
    ) -> Iterator[FloatArray]:
        """The same set by set, with as many lines of weights at a time as memory affords."""
        for number in self._chosen_sets:
            about_set = replace(self, chosen=[number])
            gaps = []
            for part in parts:
                (gap,) = about_set.gap_values(evaluations, part)
                gaps.append(gap)
            yield np.concatenate(gaps)

    def cell_sizes(self, evaluations: Evaluations) -> Iterator[IntArray]:
        """Rows of the smallest cell that the gap of each set averages over, at every row."""
        evaluations = evaluations.outputs[self.output]
        for members, terms in zip(self.first.layout.sets, self.gap_terms, strict=True):
            yield smallest_cells(terms, evaluations.on_grid(union(members)))

    def losses(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``sum over S of loss(phi1(S) - phi2(S))`` in every region.

        Parameters
        ----------
        evaluations : Evaluations
        splits : Splits
            K ways to divide the rows.
        jobs : int
            Threads, each with a set of its own.

        Returns
        -------
        array of shape (K, n) or (K, 2)
            One number a row where the behavior has values of rows, otherwise one for each side.
        """

        def losses_of_set(games: Games) -> FloatArray:
            return np.asarray(self.loss(self._gap(splits, games)))

        by_set = in_threads(losses_of_set, self._games(evaluations, splits), jobs)
        return np.asarray(np.sum(by_set, axis=0))

    def regional(self, evaluations: Evaluations, splits: Splits, jobs: int = 1) -> FloatArray:
        """``R`` of both sides of every split: the mean loss over the side's rows; 0 on an empty side.

        Parameters
        ----------
        evaluations, splits, jobs
            As in `losses`.

        Returns
        -------
        array of shape (K, 2)
        """
        if not self.first.behavior.per_row:
            return np.where(splits.mass > 0, self.losses(evaluations, splits, jobs), 0.0)
        mode = self.gap_loss.mode
        # The engine knows a named loss by its mode; of a function of the user's it adds up what that gives.
        loss_of_values: HybridFunction | None = None
        if mode is None:
            loss_of_values = self._loss_of_values
            mode = MOMENTS

        def sums_of_set(games: Games) -> FloatArray:
            rows = sum_row_values([game.rows(terms) for game, terms in games], splits)
            return rows.sums(mode, splits, loss_of_values)[0, :, :]

        by_set = in_threads(sums_of_set, self._games(evaluations, splits), jobs)
        total = sum(by_set, np.zeros((2, splits.count)))
        return np.where(splits.mass > 0, (total * splits.scale[0, :, :]).T, 0.0)

    def _loss_of_values(self, values: FloatArray, rows: RowIndex) -> FloatArray:
        """The loss of the gaps of some rows, cell by cell; it does not depend on the rows."""
        return np.asarray(self.loss(values))

    def split_bytes(self, n_rows: int, n_values: int) -> int:
        """Bytes that scoring takes for each split.

        Parameters
        ----------
        n_rows : int
            Rows that are split.
        n_values : int
            Values of a set of columns, at most.
        """
        n_written = 0  # numbers of each row that are written out
        if self.first.behavior.per_row:
            # Values that several sets read are kept (`Game.keep_values`).
            n_written = sum(len(terms) for terms in self._shared_terms.values())
        # Of the sums of masked models one stays in tiles, and each further one is written out (`sum_row_values`): one
        # a masking, or up to two more where rows are in bins or weighted.
        if self.first.masking.averages_rows:
            n_written += len(self._maskings) - 1
        else:
            n_written += 2
        sums_over_sides = 2 * FLOAT_BYTES * n_values
        return MEMBER_BYTES * n_rows + sums_over_sides + FLOAT_BYTES * n_rows * n_written


def both_sides(questions: Sequence[ResolvedQuestion]) -> list[ResolvedExplainer]:
    """The effects that some questions compare: first and second of each in turn."""
    effects = []
    for question in questions:
        effects += [question.first, question.second]
    return effects
