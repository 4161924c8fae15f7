"""Scores of the cuts of a node, computed once for all growths of a search."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.chance_rule import ChanceRule
from granite_xai.search.candidates import Candidate, cuts_of
from granite_xai.search.open_nodes import Choice, OpenNode
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import Scores, score_best_columns, score_candidates
from granite_xai.search.settings import SearchSettings
from granite_xai.search.tables import NodeTables


@dataclass(frozen=True, slots=True, eq=False)
class NodeScores:
    """What cuts of nodes leave on both sides.

    Parameters
    ----------
    settings : SearchSettings
    problem : Problem
    n_columns : int
        Columns whose best cut the growths of the search want, at most; others may be dropped early.
    """

    settings: SearchSettings
    problem: Problem
    n_columns: int = 1
    _of_all_cuts: dict[bytes, Scores] = field(default_factory=dict, init=False, repr=False)
    _by_tables: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)
    _disagreements: dict[bytes, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def on_predictions(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """Both sides of some cuts, from the predictions."""
        return score_candidates(
            self.problem,
            node.rows,
            options,
            node.evaluations.value,
            self.settings.max_candidates,
        )

    def of_all_cuts(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """Both sides of all candidates of a node, as far as its best columns need.

        Parameters
        ----------
        node : OpenNode
        options : list of Candidate
            All candidates of the node.
        """
        if node.key in self._of_all_cuts:
            return self._of_all_cuts[node.key]
        scores = score_best_columns(
            self.problem,
            node.rows,
            options,
            node.evaluations.value,
            self.settings.max_candidates,
            self.n_columns,
        )
        if self.settings.search != "greedy":  # a greedy search grows one tree
            self._of_all_cuts[node.key] = scores
        return scores

    def remaining(self, scores: Scores) -> FloatArray:
        """What both sides of each cut leave together, (n_cuts,)."""
        return scores.remaining(self.problem.shares)

    def by_tables(
        self, node: OpenNode, node_tables: NodeTables, options: list[Candidate]
    ) -> FloatArray:
        """What both sides of each cut leave together, by sums over rows, (n_cuts,)."""
        by_column = node_tables.sides(cuts_of(options, self.problem.table, node.rows))
        return np.concatenate([sides.sum(axis=0) for sides in by_column])

    def all_by_tables(
        self, node: OpenNode, node_tables: NodeTables, options: list[Candidate]
    ) -> FloatArray:
        """The same of all candidates of a node, summed up once."""
        if node.key not in self._by_tables:
            self._by_tables[node.key] = self.by_tables(node, node_tables, options)
        return self._by_tables[node.key]

    def choices(self, node: OpenNode, options: list[Candidate]) -> list[Choice]:
        """Some cuts with what they leave, without what tables round off."""
        scores = self._exact_scores(node, options)
        remaining = self.remaining(scores)
        choices = []
        for number, option in enumerate(options):
            choices.append(choice_of(node, option, scores, number, float(remaining[number])))
        return choices

    def _exact_scores(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """The scores of some cuts: on the predictions, or, where no figures are wanted, by sums."""
        rule = self.problem.chance
        if not self.problem.is_repetition or rule is None or not rule.has_closed_form:
            return self.on_predictions(node, options)
        disagreements = []
        mass = []
        for option in options:
            goes_left = option.goes_left(self.problem.table, node.rows)
            sides = (node.rows[goes_left], node.rows[~goes_left])
            disagreements.append([self._disagreements_by_sums(rule, rows) for rows in sides])
            mass.append([self.problem.evaluations.weights[rows].sum() for rows in sides])
        return Scores(np.array(disagreements), np.array(mass))

    def _disagreements_by_sums(self, rule: ChanceRule, rows: IntArray) -> FloatArray:
        """Disagreement of each question on some rows, by sums over all directions; computed once."""
        key = rows.tobytes()
        if key not in self._disagreements:
            self._disagreements[key] = rule.disagreements(rows)
        return self._disagreements[key]


def choice_of(
    node: OpenNode, option: Candidate, scores: Scores, number: int, remaining: float
) -> Choice:
    """A cut of a node with what it gains.

    Parameters
    ----------
    node : OpenNode
    option : Candidate
    scores : Scores
        Of several cuts.
    number : int
        Number of this cut among them.
    remaining : float
        What both sides of the cut leave.
    """
    return Choice(
        candidate=option,
        gain=node.shown_objective - remaining,
        disagreements=scores.disagreements[number],
        mass=scores.mass[number],
    )
