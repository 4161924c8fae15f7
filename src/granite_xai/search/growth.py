"""Growing a tree: which cut a node gets, when it stops, and what is pruned on the way back.

The greedy search is the paper's Algorithm 1 (C2, C3, C15, C21). The refined one sharpens cuts, looks
two levels ahead and thinks again, by tables over cuts where the questions follow from sums over rows
(`tables`); whatever it chooses is scored again on the predictions themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.inference.replicates import Chance, ChanceRule
from granite_xai.moments.statistics import FullAgainstPure
from granite_xai.regions.nodes import Leaf, Split
from granite_xai.search.candidates import (
    TIE,
    Candidate,
    best_of,
    candidates,
    cuts_of,
)
from granite_xai.search.finer import SHARPENED_COLUMNS, FinerCuts, by_column, thinned
from granite_xai.search.gains import split_beyond_chance
from granite_xai.search.lookahead import CutTree, TwoLevels
from granite_xai.search.open_nodes import Choice, Grown, OpenNode
from granite_xai.search.optimal import Optimum, best_two_levels, refused
from granite_xai.search.problem import Problem
from granite_xai.search.scoring import Scores, leading, scored
from granite_xai.search.second_thoughts import SecondThoughts
from granite_xai.search.settings import SearchSettings
from granite_xai.search.split_conditions import conditions
from granite_xai.search.tables import NodeTables, RegionTables, region_tables

ONLY_CHANCE = "no more than chance"  # why a node is not split
PASSES = 4  # second thoughts about a whole tree, at most
PASSES_OF_REPETITION = 1  # a second one changed none of 75 trees of folds of bike sharing
COLUMNS_WITHOUT_TABLES = 3  # columns that a refined search follows where there are no tables
AHEAD_CUTS = 9  # cuts of each column that a look ahead pairs
AHEAD_COLUMNS = 12  # columns that a look ahead pairs, the best by their single cuts
AHEAD_ROWS = 4000  # rows of a node that look ahead; they stand for all of its rows
SHORTLISTED = 16  # cuts that are scored again on the predictions themselves, at most
FACTORING_ERROR = 0.02  # share of a node's disagreement by which scores from sums may be off


@dataclass(frozen=True, slots=True, eq=False)
class Growth:
    """One way to grow the tree of a problem.

    Parameters
    ----------
    settings : SearchSettings
    problem : Problem
    columns : list of int
        Positions of the columns that may be cut.
    finer : FinerCuts, optional
        Sharpens cuts; None: they stay at quantiles.
    tables : RegionTables, optional
        Scores from sums over rows; None: every cut is scored on the predictions.
    looks_ahead : bool
        Whether the best two levels decide on the first cut, too.
    width : int
        Columns whose best cut is followed.
    scores, table_scores, chance, optima, gains, shown : dict
        What is known of nodes already, by their rows.
    """

    settings: SearchSettings
    problem: Problem
    columns: list[int]
    finer: FinerCuts | None = None
    tables: RegionTables | None = None
    looks_ahead: bool = False
    width: int = 1
    scores: dict[bytes, Scores] = field(default_factory=dict)
    table_scores: dict[bytes, FloatArray] = field(default_factory=dict)
    chance: dict[bytes, Chance] = field(default_factory=dict)
    optima: dict[bytes, Optimum] = field(default_factory=dict)
    gains: dict[bytes, bool] = field(default_factory=dict)
    shown: dict[bytes, FloatArray] = field(default_factory=dict)

    def search(self, root: OpenNode) -> Grown:
        """The tree of the search that the settings name."""
        settings = self.settings
        if settings.search == "greedy":
            return self.grow(root)
        tables = region_tables(self.problem, settings.min_samples_leaf)
        if settings.search == "optimal" and tables is None:
            raise refused()
        finer = FinerCuts(self.problem.table, settings.min_samples_leaf)
        if tables is None:
            one_column = replace(self, width=1)
            refined = replace(self, finer=finer, width=COLUMNS_WITHOUT_TABLES)
            return self.better(one_column.grow(root), refined.grow(root))
        greedy_by_tables = replace(self, tables=tables)
        refined = replace(greedy_by_tables, finer=finer, looks_ahead=True)
        if settings.search == "optimal":
            corrected = region_tables(
                self.problem, settings.min_samples_leaf, corrected=self._has_closed_form(tables)
            )
            refined = replace(refined, tables=corrected or tables)
        greedy_tree = greedy_by_tables.grow(root)
        first_tree = self.better(greedy_tree, refined.grow(root))
        best_tree = refined.thought_again(root, first_tree)
        if root.rows.tobytes() in self.optima:
            kept = settings.search
            if best_tree is greedy_tree:
                kept = "greedy"
            elif best_tree is not first_tree:
                kept = "second thoughts"
            refined.note_certificate(root, best_tree, kept)
        return best_tree

    def _has_closed_form(self, tables: RegionTables) -> bool:
        """Whether what noise adds is known in every region: unweighted rows of no clusters."""
        problem = self.problem
        if problem.chance is None or np.ptp(problem.evaluations.weights) > 0:
            return False
        if not all(isinstance(each.statistics, FullAgainstPure) for each in tables.sets):
            return False
        return problem.chance.rows_stand_alone

    def thought_again(self, root: OpenNode, tree: Grown) -> Grown:
        """The tree with its thresholds chosen again, as often as that helps."""
        if self.tables is None or self.finer is None:
            return tree
        thoughts = SecondThoughts(self.tables, self.finer, self.settings.alpha)
        passes = PASSES_OF_REPETITION if self.problem.is_repetition else PASSES
        for _ in range(passes):
            if tree.cuts is None:
                return tree
            recut = thoughts.recut(root.rows, tree.cuts)[1]
            again = self.better(tree, self.follow(root, recut or tree.cuts))
            if again is tree:
                return tree
            tree = again
        return tree

    def note_certificate(self, root: OpenNode, tree: Grown, kept: str) -> None:
        """Write down what the best two levels prove of the tree that is kept."""
        if self.tables is None or self.finer is None:
            return
        cost = 1.0 + self.settings.alpha
        if tree.cuts is not None:
            thoughts = SecondThoughts(self.tables, self.finer, self.settings.alpha)
            cost = thoughts.cost(root.rows, tree.cuts)
        optimum = self.optima[root.rows.tobytes()]
        proof = optimum.certificate(found=cost, kept=kept, corrected=self.tables.corrected)
        self.problem.diagnostics.note("certificate", proof)

    def better(self, known: Grown, new: Grown) -> Grown:
        """The new tree if it costs less, otherwise the known one."""
        alpha = self.settings.alpha
        return new if new.cost(alpha) < known.cost(alpha) - TIE else known

    def root(self, rows: IntArray, evaluations: Evaluations) -> OpenNode:
        """All rows, with their share."""
        mass = float(Splits.whole(evaluations.weights).mass[0, 0])
        known = Deferred(lambda: evaluations)
        return self._open(rows, known, 0, mass, self.problem.roots, gain=1.0)

    def _open(
        self,
        rows: IntArray,
        evaluations: Deferred[Evaluations],
        depth: int,
        mass: float,
        disagreements: FloatArray,
        gain: float,
    ) -> OpenNode:
        """A node of some rows, from the disagreement of each question there."""
        shares = self.problem.shares
        node = OpenNode(
            rows=rows,
            mass=mass,
            evaluations=evaluations,
            depth=depth,
            shown=float(shares.remaining(disagreements, np.array(mass))),
            share=float(shares.of(disagreements, np.array(mass))),
            is_silent=shares.is_at_floor(disagreements),
            required_gain=(self.settings.min_improvement or 0.0) * gain,
        )
        if node.is_silent or self.problem.chance is None:
            return node
        return self._corrected(node, self.problem.chance)

    def _corrected(self, node: OpenNode, rule: ChanceRule) -> OpenNode:
        """The node with its share corrected for chance."""
        key = node.rows.tobytes()
        if key not in self.chance:
            evaluations = self.problem.evaluations
            if rule.reads_predictions:
                evaluations = node.evaluations.value
            self.chance[key] = rule.of(evaluations, node.rows, self.problem.n_jobs)
        found = self.chance[key]
        by_corrected = replace(self.problem.shares, factors=rule.factors)
        share = float(by_corrected.of(found.counted, np.array(node.mass)))
        return replace(node, share=share, only_chance=self.problem.only_chance(found))

    def grow(self, node: OpenNode, part: float = 1.0) -> Grown:
        """The pruned subtree below a node.

        Parameters
        ----------
        node : OpenNode
        part : float
            Share of its rows that progress counts, where several cuts of a node are followed.
        """
        reason = self._reason_to_stop(node)
        if reason == ONLY_CHANCE and self._gains_beyond_chance(node):
            node = replace(node, only_chance=False)
            reason = self._reason_to_stop(node)
        if reason is not None:
            levels_left = self.settings.max_depth - node.depth
            self.problem.told(part * len(node.rows) * levels_left)
            return self._leaf(node, reason)
        options = self.candidates(node)
        if node.depth == 0:
            self._note_candidates(options)
        if not options:
            return self._leaf(node, "no split leaves enough rows")
        if self.looks_ahead and self.settings.search == "optimal" and self._two_levels_left(node):
            return self.follow(node, self._optimum(node, options).tree)
        followed = self._followed(node, options)
        self.problem.told(part * len(node.rows))
        best_gain = max(choice.gain for choice in followed)
        if self.settings.min_improvement is not None and best_gain < node.required_gain:
            return self._leaf(node, "improvement too small")
        part = part / len(followed)
        subtrees = [self._split(node, choice, part=part) for choice in followed]
        return self._pruned(node, subtrees)

    def follow(self, node: OpenNode, cuts: CutTree | None) -> Grown:
        """The pruned subtree of given cuts."""
        if cuts is None and self.settings.search == "optimal":
            return self.grow(node)
        if node.only_chance and self._gains_beyond_chance(node):
            node = replace(node, only_chance=False)
        reason = self._reason_to_stop(node)
        if reason is not None or cuts is None:
            return self._leaf(node, reason or "split undone")
        choice = self._scored_choices(node, [cuts.cut])[0]
        return self._pruned(node, [self._split(node, choice, cuts)])

    def candidates(self, node: OpenNode) -> list[Candidate]:
        """Every cut of a node that leaves enough rows on both sides."""
        return candidates(
            self.problem.table,
            node.rows,
            node.evaluations,
            self.columns,
            self.settings.max_candidates,
            self.settings.min_samples_leaf,
            self.settings.cuts,
        )

    def _gains_beyond_chance(self, node: OpenNode) -> bool:
        """Whether a split of a node that shows only chance gains more than chance; tested once."""
        if self.tables is None or self.problem.gain_error == 0.0:
            return False
        if len(node.rows) < 4 * self.settings.min_samples_leaf or not self._may_split(node):
            return False
        key = node.rows.tobytes()
        if key not in self.gains:
            options = self.candidates(node)
            # Twice as many nodes a level share the error.
            error = self.problem.gain_error / 2**node.depth
            self.gains[key] = bool(options) and split_beyond_chance(
                self.problem, self.tables, node.rows, options, error
            )
        return self.gains[key]

    def _may_split(self, node: OpenNode) -> bool:
        """Whether anything but chance stops a node."""
        return self._reason_to_stop(replace(node, only_chance=False)) is None

    def _note_candidates(self, options: list[Candidate]) -> None:
        """How many cuts of each column are tried at the root."""
        tried = [option.column for option in options]
        names = self.problem.table.names
        counts = {names[position]: tried.count(position) for position in self.columns}
        self.problem.diagnostics.note("candidates", counts)

    def _two_levels_left(self, node: OpenNode) -> bool:
        return self.settings.max_depth - node.depth > 1

    def _optimum(self, node: OpenNode, options: list[Candidate]) -> Optimum:
        """The best two levels of a node, which several searches read."""
        key = node.rows.tobytes()
        if self.tables is None:
            raise refused()
        if key not in self.optima:
            self.optima[key] = best_two_levels(
                self.problem, self.tables, node.rows, options, self.settings.alpha
            )
        return self.optima[key]

    def _reason_to_stop(self, node: OpenNode) -> str | None:
        reasons = {
            "nothing to explain": node.is_silent,
            ONLY_CHANCE: node.only_chance,
            "below alpha": node.share < self.settings.alpha,
            "maximum depth": node.depth >= self.settings.max_depth,
            "too few samples": len(node.rows) < 2 * self.settings.min_samples_leaf,
        }
        return next((reason for reason, holds in reasons.items() if holds), None)

    def _followed(self, node: OpenNode, options: list[Candidate]) -> list[Choice]:
        """The cuts of a node that are followed (C15, C21); of a refined search sharper ones."""
        if self.tables is not None:
            return self._followed_by_tables(node, options, self.tables)
        disagreements, mass = self._scored_once(node, options)
        scores = self._sum(disagreements, mass)
        if self.finer is None and np.count_nonzero(scores <= scores.min() + TIE) > 1:
            self.problem.diagnostics.count("ties")
        if self.finer is not None:
            score = partial(self._scores_of, node)
            sharper = self.finer.sharpened(node.rows, options, scores, score)
            if sharper:
                more = self.scored(node, sharper)
                options = options + sharper
                disagreements = np.concatenate([disagreements, more[0]])
                mass = np.concatenate([mass, more[1]])
                scores = self._sum(disagreements, mass)
        places = self._best_of_columns(options, scores)
        return [
            Choice(options[k], node.shown - float(scores[k]), disagreements[k], mass[k])
            for k in places
        ]

    def _best_of_columns(self, options: list[Candidate], scores: FloatArray) -> list[int]:
        """Numbers of the best cut of each of the best columns."""
        columns = np.array([option.column for option in options])
        is_left = np.ones(len(options), dtype=np.bool_)
        places: list[int] = []
        while is_left.any() and len(places) < self.width:
            best = int(np.flatnonzero(is_left)[best_of(scores[is_left], TIE)])
            places.append(best)
            is_left &= columns != columns[best]
        return places

    def _followed_by_tables(
        self, node: OpenNode, options: list[Candidate], tables: RegionTables
    ) -> list[Choice]:
        """The best cut by sums over rows, and the first of the best two levels."""
        of_node = tables.of_node(node.rows)
        at_quantiles = options
        key = node.rows.tobytes()
        if key not in self.table_scores:
            self.table_scores[key] = self._table_scores(node, of_node, options)
        quantile_scores = scores = self.table_scores[key]
        if self.finer is not None:
            score = partial(self._table_scores, node, of_node)
            sharper = self.finer.sharpened(node.rows, options, scores, score)
            if sharper:
                options = options + sharper
                scores = np.concatenate([scores, score(sharper)])
        near = np.flatnonzero(scores <= scores.min() + FACTORING_ERROR * node.shown)
        shortlist = np.sort(near[np.argsort(scores[near], kind="stable")][:SHORTLISTED])
        chosen = [options[k] for k in shortlist]
        if self.looks_ahead and self._two_levels_left(node):
            chosen.append(
                self._first_of_two_levels(node, tables, of_node, at_quantiles, quantile_scores)
            )
        choices = self._scored_choices(node, chosen)
        lefts = np.array([node.shown - choice.gain for choice in choices])
        single = choices[best_of(lefts[: len(shortlist)], TIE)]
        followed = [single]
        if len(choices) > len(shortlist) and not _same_cut(choices[-1], single):
            followed.append(choices[-1])
        return followed

    def _table_scores(
        self, node: OpenNode, of_node: NodeTables, options: list[Candidate]
    ) -> FloatArray:
        """What both sides of each cut leave together, by sums over rows."""
        sides = of_node.sides(cuts_of(options, self.problem.table, node.rows))
        return np.concatenate([own.sum(axis=0) for own in sides])

    def _first_of_two_levels(
        self,
        node: OpenNode,
        tables: RegionTables,
        of_node: NodeTables,
        options: list[Candidate],
        scores: FloatArray,
    ) -> Candidate:
        """The first cut of the best tree of two levels over a coarse grid, cut again."""
        settings = self.settings
        groups = by_column(options)
        starts = np.cumsum([0, *map(len, groups)])
        least = [float(np.min(scores[a:b])) for a, b in pairwise(starts)]
        if len(groups) > AHEAD_COLUMNS:
            kept = sorted(np.argsort(least, kind="stable")[:AHEAD_COLUMNS])
            groups = [groups[k] for k in kept]
        groups = [thinned(group, AHEAD_CUTS) for group in groups]
        rows = node.rows
        finer = self.finer or FinerCuts(self.problem.table, settings.min_samples_leaf)
        step = -(-len(rows) // AHEAD_ROWS)
        if step > 1:  # a part of the rows says where to begin
            rows = rows[::step]
            min_samples = max(1, settings.min_samples_leaf // step)
            finer = replace(finer, min_samples=min_samples)
            tables = tables.for_every(step)
            of_node = tables.of_node(rows)
        levels = TwoLevels(
            tables=of_node,
            cuts=[cuts_of(group, self.problem.table, rows)[0] for group in groups],
            options=groups,
            alpha=settings.alpha,
        )
        trees = levels.trees(levels.side_costs())
        thoughts = SecondThoughts(tables, finer, settings.alpha)
        recut = [thoughts.recut(rows, tree) for _, tree in trees[:SHARPENED_COLUMNS]]
        best = min([*recut, trees[0]], key=lambda found: round(found[0], 12))[1]
        return (best or trees[0][1]).cut

    def _scored_choices(self, node: OpenNode, options: list[Candidate]) -> list[Choice]:
        """Some cuts with what they leave, without what tables round off."""
        disagreements, mass = self._scored_exactly(node, options)
        scores = self._sum(disagreements, mass)
        return [
            Choice(option, node.shown - float(scores[k]), disagreements[k], mass[k])
            for k, option in enumerate(options)
        ]

    def _scored_exactly(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """The scores of some cuts: on the predictions, or, where no figures are wanted, by sums."""
        rule = self.problem.chance
        if not self.problem.is_repetition or rule is None or not rule.has_closed_form:
            return self.scored(node, options)
        disagreements = []
        mass = []
        for option in options:
            goes_left = option.inside(self.problem.table.columns[option.column].codes[node.rows])
            sides = [node.rows[goes_left], node.rows[~goes_left]]
            disagreements.append([self._shown(rule, rows) for rows in sides])
            mass.append([self.problem.evaluations.weights[rows].sum() for rows in sides])
        return np.array(disagreements), np.array(mass)

    def _shown(self, rule: ChanceRule, rows: IntArray) -> FloatArray:
        """Disagreement of each question on some rows, by sums over all directions; found once."""
        key = rows.tobytes()
        if key not in self.shown:
            self.shown[key] = rule.disagreements(rows)
        return self.shown[key]

    def _scored_once(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """The scores of a node's own candidates, which several searches read."""
        settings = self.settings
        key = node.rows.tobytes()
        if key not in self.scores:
            n_columns = max(settings.beam, self.width)
            self.scores[key] = leading(
                self.problem,
                node.rows,
                options,
                node.evaluations.value,
                settings.max_candidates,
                n_columns,
            )
        if settings.search == "greedy":
            return self.scores.pop(key)
        return self.scores[key]

    def _sum(self, disagreements: FloatArray, mass: FloatArray) -> FloatArray:
        """What both sides of each candidate leave together."""
        return np.asarray(self.problem.shares.of(disagreements, mass).sum(axis=1))

    def _scores_of(self, node: OpenNode, options: list[Candidate]) -> FloatArray:
        return self._sum(*self.scored(node, options))

    def scored(self, node: OpenNode, options: list[Candidate]) -> Scores:
        """Disagreements (K, 2, Q) and mass (K, 2) of both sides of every candidate."""
        evaluations = node.evaluations.value
        return scored(self.problem, node.rows, options, evaluations, self.settings.max_candidates)

    def _split(
        self,
        node: OpenNode,
        choice: Choice,
        cuts: CutTree | None = None,
        part: float = 1.0,
    ) -> Grown:
        """The subtree of a cut: below it the given cuts, or whatever the search finds."""
        column = self.problem.table.columns[choice.candidate.column]
        goes_left = choice.candidate.inside(column.codes[node.rows])
        subtrees = []
        for side, members in enumerate((goes_left, ~goes_left)):
            # Cut out when this side is grown, and dropped with it: never both sides at once.
            below = self._open(
                node.rows[members],
                Deferred(partial(_divided, node, goes_left, column.position, side == 0)),
                node.depth + 1,
                float(choice.mass[side]),
                choice.disagreements[side],
                choice.gain,
            )
            if cuts is None:
                subtrees.append(self.grow(below, part))
            else:
                subtrees.append(self.follow(below, (cuts.left, cuts.right)[side]))
        left, right = subtrees
        split = Split(
            column.name,
            *conditions(column, choice.candidate, node.rows, self.problem.missing),
            (left.node, right.node),
            len(node.rows),
            node.mass / self.problem.shares.total,
            node.shown,
        )
        return Grown(
            node=split,
            remaining=left.remaining + right.remaining,
            leaves=left.leaves + right.leaves,
            cuts=CutTree(choice.candidate, left.cuts, right.cuts),
        )

    def _pruned(self, node: OpenNode, subtrees: list[Grown]) -> Grown:
        """The best subtree, or a leaf when its splits do not pay for their regions (C3)."""
        alpha = self.settings.alpha
        costs = np.array([tree.cost(alpha) for tree in subtrees])
        best = best_of(costs, TIE)
        if node.share + alpha <= costs[best] + TIE:
            return self._leaf(node, "split undone")
        return subtrees[best]

    def _leaf(self, node: OpenNode, reason: str) -> Grown:
        fraction = node.mass / self.problem.shares.total
        leaf = Leaf(len(node.rows), fraction, node.shown, reason)
        return Grown(node=leaf, remaining=node.share, leaves=1)


def _divided(node: OpenNode, goes_left: BoolArray, position: int, is_left: bool) -> Evaluations:
    """What is known of the rows on one side of a cut of a column."""
    return node.evaluations.value.divide(goes_left, position, is_left)


def _same_cut(one: Choice, other: Choice) -> bool:
    """Whether two cuts of a node send the same levels left."""
    if one.candidate.column != other.candidate.column:
        return False
    return bool(np.array_equal(one.candidate.left, other.candidate.left))
