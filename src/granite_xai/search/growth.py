"""Growing a tree from a node: its cuts are followed, and splits that do not pay are pruned.

The paper's Algorithm 1 (C2, C3). Which cuts are followed is the business of `followed_cuts`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from granite_xai.regions import Leaf, Split
from granite_xai.search.candidates import Candidate
from granite_xai.search.cells import LEFT, RIGHT
from granite_xai.search.followed_cuts import FollowedCuts
from granite_xai.search.lookahead import CutTree
from granite_xai.search.node_opening import ONLY_CHANCE, NodeOpening
from granite_xai.search.node_scores import NodeScores
from granite_xai.search.open_nodes import Choice, Grown, OpenNode
from granite_xai.search.problem import Problem
from granite_xai.search.settings import SearchSettings
from granite_xai.search.split_conditions import conditions
from granite_xai.search.tables import RegionTables
from granite_xai.search.ties import TIE, first_of_best


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """One way to grow a tree.

    Parameters
    ----------
    nodes : NodeOpening
        Opens nodes, and says when they stop.
    scores : NodeScores
    followed : FollowedCuts
        Chooses the cuts of a node.
    tables : RegionTables, optional
        Scores from sums over rows, by which gains are tested; None: they are not.
    """

    nodes: NodeOpening
    scores: NodeScores
    followed: FollowedCuts
    tables: RegionTables | None = None

    @property
    def settings(self) -> SearchSettings:
        """The options of the tree."""
        return self.nodes.settings

    @property
    def problem(self) -> Problem:
        """The rows, the model on them, and the objective."""
        return self.nodes.problem

    def grow(self, node: OpenNode, weight_in_progress: float = 1.0) -> Grown:
        """The pruned subtree below a node.

        Parameters
        ----------
        node : OpenNode
        weight_in_progress : float
            How much of its rows progress counts: less than 1 where several cuts above are followed.
        """
        n_rows = weight_in_progress * len(node.rows)
        reason = self.nodes.reason_to_stop(node)
        if reason == ONLY_CHANCE:
            node = self.nodes.with_second_chance(node, self.tables)
            reason = self.nodes.reason_to_stop(node)
        levels_left = self.nodes.levels_left(node)
        if reason is not None:
            self.problem.report_progress(n_rows * levels_left)
            return self._leaf(node, reason)
        options = self.nodes.candidates(node)
        if node.depth == 0:
            self._note_candidates(options)
        if not options:
            return self._leaf(node, "no split leaves enough rows")
        choices = self.followed.choices(node, options, levels_left)
        self.problem.report_progress(n_rows)
        best_gain = max(choice.gain for choice in choices)
        if self.settings.min_improvement is not None and best_gain < node.required_gain:
            return self._leaf(node, "improvement too small")
        weight_in_progress /= len(choices)
        subtrees = []
        for choice in choices:
            left = self.grow(self.nodes.below(node, choice, LEFT), weight_in_progress)
            right = self.grow(self.nodes.below(node, choice, RIGHT), weight_in_progress)
            subtrees.append(self._joined(node, choice, left, right))
        return self._pruned(node, subtrees)

    def follow(self, node: OpenNode, cuts: CutTree | None) -> Grown:
        """The pruned subtree of given cuts.

        Parameters
        ----------
        node : OpenNode
        cuts : CutTree, optional
            None: the node is a region.
        """
        node = self.nodes.with_second_chance(node, self.tables)
        reason = self.nodes.reason_to_stop(node)
        if reason is not None:
            return self._leaf(node, reason)
        if cuts is None:
            return self._leaf(node, "split undone")
        (choice,) = self.scores.choices(node, [cuts.cut])
        left = self.follow(self.nodes.below(node, choice, LEFT), cuts.left)
        right = self.follow(self.nodes.below(node, choice, RIGHT), cuts.right)
        return self._pruned(node, [self._joined(node, choice, left, right)])

    def _note_candidates(self, options: list[Candidate]) -> None:
        """How many cuts of each column are tried at the root."""
        n_cuts = Counter(option.column for option in options)
        names = self.problem.table.names
        counts = {names[column]: n_cuts[column] for column in self.nodes.columns}
        self.problem.diagnostics.note("candidates", counts)

    def _joined(self, node: OpenNode, choice: Choice, left: Grown, right: Grown) -> Grown:
        """The subtree of a cut, from those on both sides."""
        problem = self.problem
        column = problem.table.columns[choice.candidate.column]
        left_condition, right_condition = conditions(
            column, choice.candidate, node.rows, problem.missing
        )
        split = Split(
            column=column.name,
            left=left_condition,
            right=right_condition,
            children=(left.node, right.node),
            n_samples=len(node.rows),
            fraction=node.mass / problem.shares.total,
            disagreement=node.shown_share,
        )
        return Grown(
            node=split,
            remaining=left.remaining + right.remaining,
            n_leaves=left.n_leaves + right.n_leaves,
            cuts=CutTree(choice.candidate, left.cuts, right.cuts),
        )

    def _pruned(self, node: OpenNode, subtrees: list[Grown]) -> Grown:
        """The best subtree, or a leaf when its splits do not pay for their regions (C3)."""
        alpha = self.settings.alpha
        costs = np.array([tree.cost(alpha) for tree in subtrees])
        best = first_of_best(costs)
        if node.counted_share + alpha <= costs[best] + TIE:
            return self._leaf(node, "split undone")
        return subtrees[best]

    def _leaf(self, node: OpenNode, reason: str) -> Grown:
        leaf = Leaf(
            n_samples=len(node.rows),
            fraction=node.mass / self.problem.shares.total,
            disagreement=node.shown_share,
            stop_reason=reason,
        )
        return Grown(node=leaf, remaining=node.counted_share, n_leaves=1)
