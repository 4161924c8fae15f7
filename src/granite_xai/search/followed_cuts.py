"""The cuts of a node that a growth follows (C15, C21)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.finer import SHARPENED_COLUMNS, FinerCuts, by_column, thinned
from granite_xai.search.lookahead import TwoLevels
from granite_xai.search.node_scores import NodeScores, choice_of
from granite_xai.search.open_nodes import Choice, OpenNode
from granite_xai.search.scoring import Scores
from granite_xai.search.second_thoughts import SecondThoughts
from granite_xai.search.tables import NodeTables, RegionTables
from granite_xai.search.ties import TIE, first_of_best, rounded

AHEAD_CUTS = 9  # cuts of each column that a look ahead pairs
AHEAD_COLUMNS = 12  # columns that a look ahead pairs, the best by their single cuts
AHEAD_ROWS = 4000  # rows of a node that look ahead; they stand for all of its rows
SHORTLISTED = 16  # cuts that are scored again on the predictions themselves, at most
FACTORING_ERROR = 0.02  # share of a node's disagreement by which scores from sums may be off


class FollowedCuts(Protocol):
    """One way to choose the cuts of a node that are followed."""

    def choices(self, node: OpenNode, options: list[Candidate], levels_left: int) -> list[Choice]:
        """The cuts that are followed.

        Parameters
        ----------
        node : OpenNode
        options : list of Candidate
            All candidates of the node.
        levels_left : int
            Levels of splits that the depth of the tree allows.
        """


@dataclass(frozen=True, slots=True, eq=False)
class CutsByPredictions:
    """The best cut of each of the best columns, scored on the predictions.

    Parameters
    ----------
    scores : NodeScores
    n_columns : int
        Columns whose best cut is followed.
    finer : FinerCuts, optional
        Sharpens the best cuts; None: they stay at quantiles.
    """

    scores: NodeScores
    n_columns: int = 1
    finer: FinerCuts | None = None

    def choices(self, node: OpenNode, options: list[Candidate], levels_left: int) -> list[Choice]:
        """The cuts that are followed; parameters as in `FollowedCuts`."""
        scores = self.scores.of_all_cuts(node, options)
        remaining = self.scores.remaining(scores)
        if self.finer is None:
            if np.count_nonzero(remaining <= remaining.min() + TIE) > 1:
                self.scores.problem.diagnostics.count("ties")
        else:
            score = partial(self._remaining, node)
            sharper = self.finer.sharpened(node.rows, options, remaining, score)
            if sharper:
                options = options + sharper
                scores = Scores.joined([scores, self.scores.on_predictions(node, sharper)])
                remaining = self.scores.remaining(scores)
        best = self._best_of_columns(options, remaining)
        return [
            choice_of(node, options[number], scores, number, float(remaining[number]))
            for number in best
        ]

    def _remaining(self, node: OpenNode, options: list[Candidate]) -> FloatArray:
        return self.scores.remaining(self.scores.on_predictions(node, options))

    def _best_of_columns(self, options: Sequence[Candidate], remaining: FloatArray) -> list[int]:
        """Numbers of the best cut of each of the best columns."""
        columns = np.array([option.column for option in options])
        is_open = np.ones(len(options), dtype=np.bool_)  # no cut of the column was taken yet
        numbers: list[int] = []
        while is_open.any() and len(numbers) < self.n_columns:
            best = int(np.flatnonzero(is_open)[first_of_best(remaining[is_open])])
            numbers.append(best)
            is_open &= columns != columns[best]
        return numbers


@dataclass(frozen=True, slots=True, eq=False)
class CutsByTables:
    """The best cut by sums over rows, and the first of the best two levels.

    The cuts that are best by sums are scored again on the predictions.

    Parameters
    ----------
    scores : NodeScores
    tables : RegionTables
    finer : FinerCuts, optional
        Sharpens the best cuts; None: they stay at quantiles.
    looks_ahead : bool
        Whether the best two levels propose a first cut, too.
    """

    scores: NodeScores
    tables: RegionTables
    finer: FinerCuts | None = None
    looks_ahead: bool = False

    def choices(self, node: OpenNode, options: list[Candidate], levels_left: int) -> list[Choice]:
        """The cuts that are followed; parameters as in `FollowedCuts`."""
        node_tables = self.tables.of_node(node.rows)
        at_quantiles = self.scores.all_by_tables(node, node_tables, options)
        shortlist = self._shortlist(node, node_tables, options, at_quantiles)
        looks_ahead = self.looks_ahead and levels_left > 1
        if not looks_ahead:
            choices = self.scores.choices(node, shortlist)
            return [_best_choice(node, choices)]
        first_of_two = self.first_of_two_levels(node, node_tables, options, at_quantiles)
        choices = self.scores.choices(node, [*shortlist, first_of_two])
        single = _best_choice(node, choices[:-1])
        ahead = choices[-1]
        if _is_same_cut(ahead.candidate, single.candidate):
            return [single]
        return [single, ahead]

    def _shortlist(
        self,
        node: OpenNode,
        node_tables: NodeTables,
        options: list[Candidate],
        remaining: FloatArray,
    ) -> list[Candidate]:
        """The cuts that may be the best, in the order of the candidates; sharper ones last."""
        if self.finer is not None:
            score = partial(self.scores.by_tables, node, node_tables)
            sharper = self.finer.sharpened(node.rows, options, remaining, score)
            if sharper:
                options = options + sharper
                remaining = np.concatenate([remaining, score(sharper)])
        tolerance = FACTORING_ERROR * node.shown_objective
        near = np.flatnonzero(remaining <= remaining.min() + tolerance)
        best_first = near[np.argsort(remaining[near], kind="stable")]
        return [options[number] for number in np.sort(best_first[:SHORTLISTED])]

    def first_of_two_levels(
        self,
        node: OpenNode,
        node_tables: NodeTables,
        options: list[Candidate],
        remaining: FloatArray,
    ) -> Candidate:
        """The first cut of the best tree of two levels over a coarse grid, cut again.

        Parameters
        ----------
        node : OpenNode
        node_tables : NodeTables
        options : list of Candidate
            All candidates of the node.
        remaining : array of shape (n_options,)
            What both sides of each leave.
        """
        problem = self.scores.problem
        settings = self.scores.settings
        groups = _best_columns(options, remaining)
        rows: IntArray = node.rows
        tables = self.tables
        finer = self.finer or FinerCuts(problem.table, settings.min_samples_leaf)
        step = -(-len(rows) // AHEAD_ROWS)
        if step > 1:  # a part of the rows says where to begin
            rows = rows[::step]
            finer = replace(finer, min_samples=max(1, settings.min_samples_leaf // step))
            tables = tables.for_every(step)
            node_tables = tables.of_node(rows)
        levels = TwoLevels(
            tables=node_tables,
            cuts=[cuts_of(group, problem.table, rows)[0] for group in groups],
            options=groups,
            alpha=settings.alpha,
        )
        trees = levels.trees(levels.side_costs())
        thoughts = SecondThoughts(tables, finer, settings.alpha)
        recut_trees = [thoughts.recut(rows, tree) for _, tree in trees[:SHARPENED_COLUMNS]]
        _, best = min([*recut_trees, trees[0]], key=lambda entry: rounded(entry[0]))
        if best is None:  # one region is better: the best tree as it was
            _, best = trees[0]
        return best.cut


def _best_columns(options: Sequence[Candidate], remaining: FloatArray) -> list[list[Candidate]]:
    """The candidates that a look ahead pairs: a few of each of the best columns."""
    groups = by_column(options)
    if len(groups) > AHEAD_COLUMNS:
        ends = np.cumsum([len(group) for group in groups])
        of_groups = np.split(remaining, ends[:-1])
        least = [float(np.min(of_group)) for of_group in of_groups]
        best = np.sort(np.argsort(least, kind="stable")[:AHEAD_COLUMNS])
        groups = [groups[number] for number in best]
    return [thinned(group, AHEAD_CUTS) for group in groups]


def _best_choice(node: OpenNode, choices: Sequence[Choice]) -> Choice:
    """The first of the choices that leave least."""
    remaining = np.array([node.shown_objective - choice.gain for choice in choices])
    return choices[first_of_best(remaining)]


def _is_same_cut(one: Candidate, other: Candidate) -> bool:
    """Whether two cuts of a node send the same levels left."""
    if one.column != other.column:
        return False
    return bool(np.array_equal(one.left, other.left))
