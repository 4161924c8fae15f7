"""The searches for a tree: greedy and refined (C21).

The greedy search is the paper's Algorithm 1. The refined one sharpens cuts, looks two levels ahead
and thinks again, by tables over cuts where the questions follow from sums over rows (`tables`).
"""

from __future__ import annotations

from dataclasses import dataclass

from granite_xai.base.typing import IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.search.finer import FinerCuts
from granite_xai.search.followed_cuts import CutsByPredictions, CutsByTables
from granite_xai.search.growth import Growth
from granite_xai.search.node_opening import NodeOpening
from granite_xai.search.node_scores import NodeScores
from granite_xai.search.open_nodes import Grown, OpenNode
from granite_xai.search.problem import Problem
from granite_xai.search.second_thoughts import SecondThoughts
from granite_xai.search.settings import RootSettings
from granite_xai.search.tables import RegionTables, region_tables
from granite_xai.search.ties import TIE

PASSES = 4  # second thoughts about a whole tree, at most
PASSES_OF_REPETITION = 1  # a second one changed none of 75 trees of folds of bike sharing
COLUMNS_WITHOUT_TABLES = 3  # columns that a refined search follows where there are no tables


@dataclass(frozen=True, slots=True, eq=False)
class TreeSearch:
    """The search for one tree.

    Parameters
    ----------
    settings : RootSettings
    problem : Problem
    nodes : NodeOpening
        Shared by all growths of the search, which so compute nothing twice.
    scores : NodeScores
        Shared in the same way.
    """

    settings: RootSettings
    problem: Problem
    nodes: NodeOpening
    scores: NodeScores

    @classmethod
    def of(cls, settings: RootSettings, problem: Problem) -> TreeSearch:
        """The search that the settings name."""
        columns = settings.columns(problem.table)
        nodes = NodeOpening(settings, problem, columns)
        n_columns = COLUMNS_WITHOUT_TABLES
        if settings.search == "greedy":
            n_columns = settings.beam
        return cls(settings, problem, nodes, NodeScores(settings, problem, n_columns))

    def search(self, rows: IntArray, evaluations: Evaluations) -> Grown:
        """The tree of all rows.

        Parameters
        ----------
        rows : array
            Their positions.
        evaluations : Evaluations
            What is known of the model on these rows, on the host or a device.
        """
        root = self.nodes.root(rows, evaluations)
        if self.settings.search == "greedy":
            return self._by_predictions(n_columns=self.settings.beam).grow(root)
        tables = region_tables(self.problem, self.settings.min_samples_leaf)
        if tables is None:
            return self._refined_without_tables(root)
        return self._refined(root, tables)

    def _by_predictions(self, n_columns: int, finer: FinerCuts | None = None) -> Growth:
        followed = CutsByPredictions(self.scores, n_columns, finer)
        return Growth(self.nodes, self.scores, followed)

    def _by_tables(self, tables: RegionTables) -> Growth:
        return Growth(self.nodes, self.scores, CutsByTables(self.scores, tables), tables)

    def _looking_ahead(self, tables: RegionTables) -> Growth:
        followed = CutsByTables(self.scores, tables, self._finer(), looks_ahead=True)
        return Growth(self.nodes, self.scores, followed, tables)

    def _finer(self) -> FinerCuts:
        return FinerCuts(self.problem.table, self.settings.min_samples_leaf)

    def _refined_without_tables(self, root: OpenNode) -> Grown:
        """Sharper cuts and a beam of some columns, where questions do not follow from sums."""
        greedy_tree = self._by_predictions(n_columns=1).grow(root)
        sharper = self._by_predictions(COLUMNS_WITHOUT_TABLES, self._finer())
        return self.better(greedy_tree, sharper.grow(root))

    def _refined(self, root: OpenNode, tables: RegionTables) -> Grown:
        looking_ahead = self._looking_ahead(tables)
        if self.problem.is_repetition:
            # Of 341 trees of folds and halves (diabetes, bike sharing, breast cancer; four questions) the greedy
            # one was better in 9, by .0001 to .05 of the disagreement.
            first_tree = looking_ahead.grow(root)
        else:
            greedy_tree = self._by_tables(tables).grow(root)
            first_tree = self.better(greedy_tree, looking_ahead.grow(root))
        thoughts = SecondThoughts(tables, self._finer(), self.settings.alpha)
        return self._thought_again(root, first_tree, thoughts, looking_ahead)

    def _thought_again(
        self, root: OpenNode, tree: Grown, thoughts: SecondThoughts, growth: Growth
    ) -> Grown:
        """The tree with its thresholds chosen again, as often as that helps."""
        n_passes = PASSES
        if self.problem.is_repetition:
            n_passes = PASSES_OF_REPETITION
        for _ in range(n_passes):
            if tree.cuts is None:
                return tree
            _, recut = thoughts.recut(root.rows, tree.cuts)
            better_tree = self.better(tree, growth.follow(root, recut or tree.cuts))
            if better_tree is tree:
                return tree
            tree = better_tree
        return tree

    def better(self, tree: Grown, other: Grown) -> Grown:
        """The other tree if it costs less, otherwise the first."""
        alpha = self.settings.alpha
        if other.cost(alpha) < tree.cost(alpha) - TIE:
            return other
        return tree
