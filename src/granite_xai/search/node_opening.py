"""Opening the nodes of a tree: their shares, their candidates, and whether they may be divided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.chance_rule import ChanceRule
from granite_xai.inference.replicates import Chance
from granite_xai.search.candidates import Candidate, candidates
from granite_xai.search.cells import LEFT
from granite_xai.search.gains import has_room_for_test, split_beyond_chance
from granite_xai.search.open_nodes import Choice, OpenNode
from granite_xai.search.problem import Problem
from granite_xai.search.settings import SearchSettings
from granite_xai.search.tables import RegionTables

ONLY_CHANCE = "no more than chance"  # why a node is not split


@dataclass(frozen=True, slots=True, eq=False)
class NodeOpening:
    """Opens nodes, and says which may be divided (C2).

    Parameters
    ----------
    settings : SearchSettings
    problem : Problem
    columns : list of int
        Positions of the columns that may be cut.
    """

    settings: SearchSettings
    problem: Problem
    columns: list[int]
    _chance: dict[bytes, Chance] = field(default_factory=dict, init=False, repr=False)
    _has_gain: dict[bytes, bool] = field(default_factory=dict, init=False, repr=False)

    def root(self, rows: IntArray, evaluations: Evaluations) -> OpenNode:
        """All rows, with their share.

        Parameters
        ----------
        rows : array
            Their positions.
        evaluations : Evaluations
            What is known of the model on these rows.
        """
        mass = float(Splits.whole(evaluations.weights).mass[0, 0])
        objective = float(self.problem.shares.of(self.problem.roots, np.array(mass)))
        return self._open(
            rows,
            Deferred(lambda: evaluations),
            depth=0,
            mass=mass,
            disagreements=self.problem.roots,
            gain_above=objective,  # no split can gain more
        )

    def below(self, node: OpenNode, choice: Choice, side: int) -> OpenNode:
        """The node on one side of a cut.

        Its evaluations are cut out when it is grown, and dropped with it: never both sides at once.
        """
        goes_left = choice.candidate.goes_left(self.problem.table, node.rows)
        is_left = side == LEFT
        is_inside = goes_left if is_left else ~goes_left
        column = choice.candidate.column
        return self._open(
            node.rows[is_inside],
            Deferred(partial(_evaluations_of_side, node, goes_left, column, is_left)),
            depth=node.depth + 1,
            mass=float(choice.mass[side]),
            disagreements=choice.disagreements[side],
            gain_above=choice.gain,
        )

    def _open(
        self,
        rows: IntArray,
        evaluations: Deferred[Evaluations],
        *,
        depth: int,
        mass: float,
        disagreements: FloatArray,
        gain_above: float,
    ) -> OpenNode:
        """A node of some rows, from the disagreement of each question there."""
        shares = self.problem.shares
        objective = float(shares.of(disagreements, np.array(mass)))
        node = OpenNode(
            rows=rows,
            mass=mass,
            evaluations=evaluations,
            depth=depth,
            shown_share=float(shares.remaining(disagreements, np.array(mass))),
            shown_objective=objective,
            counted_share=objective,
            is_silent=shares.is_at_floor(disagreements),
            required_gain=(self.settings.min_improvement or 0.0) * gain_above,
        )
        if node.is_silent or self.problem.chance is None:
            return node
        return self._corrected(node, self.problem.chance, disagreements)

    def _corrected(self, node: OpenNode, rule: ChanceRule, disagreements: FloatArray) -> OpenNode:
        """The node with its share corrected for chance."""
        if node.key not in self._chance:
            evaluations = self.problem.evaluations
            if rule.reads_predictions:
                evaluations = node.evaluations.value
            self._chance[node.key] = rule.chance_in(
                evaluations, node.rows, self.problem.n_jobs, disagreements
            )
        chance = self._chance[node.key]
        corrected_shares = replace(self.problem.shares, factors=rule.factors)
        return replace(
            node,
            counted_share=float(corrected_shares.of(chance.counted, np.array(node.mass))),
            only_chance=self.problem.only_chance(chance),
        )

    def candidates(self, node: OpenNode) -> list[Candidate]:
        """Every cut of a node that leaves enough rows on both sides."""
        return candidates(
            self.problem.table,
            node.rows,
            node.evaluations,
            self.columns,
            max_candidates=self.settings.max_candidates,
            min_samples=self.settings.min_samples_leaf,
            cuts=self.settings.cuts,
        )

    def reason_to_stop(self, node: OpenNode) -> str | None:
        """Why a node is not divided; None: it may be."""
        if node.is_silent:
            return "nothing to explain"
        if node.only_chance:
            return ONLY_CHANCE
        if node.counted_share < self.settings.alpha:
            return "below alpha"
        if node.depth >= self.settings.max_depth:
            return "maximum depth"
        if len(node.rows) < 2 * self.settings.min_samples_leaf:
            return "too few samples"
        return None

    def levels_left(self, node: OpenNode) -> int:
        """Levels of splits that the depth of the tree still allows below a node."""
        return self.settings.max_depth - node.depth

    def with_second_chance(self, node: OpenNode, tables: RegionTables | None) -> OpenNode:
        """The node, no longer stopped by chance if a split of it gains more than chance would.

        Parameters
        ----------
        node : OpenNode
        tables : RegionTables, optional
            Scores from sums over rows; None: gains are not tested.
        """
        if not node.only_chance or tables is None or self.problem.gain_error == 0.0:
            return node
        is_large = has_room_for_test(len(node.rows), self.settings.min_samples_leaf)
        without_chance = replace(node, only_chance=False)
        if not is_large or self.reason_to_stop(without_chance) is not None:
            return node
        if node.key not in self._has_gain:
            self._has_gain[node.key] = self._gains_beyond_chance(node, tables)
        if self._has_gain[node.key]:
            return without_chance
        return node

    def _gains_beyond_chance(self, node: OpenNode, tables: RegionTables) -> bool:
        options = self.candidates(node)
        if not options:
            return False
        # Twice as many nodes a level share the error.
        error = self.problem.gain_error / 2**node.depth
        return split_beyond_chance(self.problem, tables, node.rows, options, error)


def _evaluations_of_side(
    node: OpenNode, goes_left: BoolArray, column: int, is_left: bool
) -> Evaluations:
    """What is known of the rows on one side of a cut of a column."""
    return node.evaluations.value.divide(goes_left, column, is_left)
