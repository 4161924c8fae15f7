"""The description of a model, made of what it said about some rows; which regions share a curve of it.

Two branches of the tree below one split that tell one curve of a piece each may share that of their
parent's rows (docs/method.rst). What the description then misses, summed over the rows, is a quadratic
form in the joins that are made, so that they are chosen from sums of products, not from rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from granite_xai.algebra.effects import Terms
from granite_xai.algebra.masked_model import averaged
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.deferred import Deferred
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import (
    BoolArray,
    Coalition,
    FloatArray,
    IntArray,
    Players,
    subsets,
    union,
)
from granite_xai.curves.curves import RowCurves, pdp_of_regions, row_curves, weighted_quantiles
from granite_xai.curves.shared import REACH, SharedCurve, SharedCurves, reached_levels
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.values import Cells
from granite_xai.inference.estimate import Predicted, described_share
from granite_xai.inference.nodes import NO_NODE, tree_places
from granite_xai.models import RESPONSE, SCALES, Scale
from granite_xai.regions import Partition
from granite_xai.tables import Column, Table

LEAST_BUDGET = 0.005
"""Share of the variance that may be given up for fewer curves wherever a share of it may."""
LARGEST_HARDLY = 0.005
"""Share of the variance that a piece which hardly matters describes less than."""
ALL_HARDLY = 0.02
"""Share of the variance that these describe together, at most."""
TIE = 1e-10
"""Share of what may be given up below which two joins cost the same."""
NONE: FloatArray = np.zeros(0)
"""Effects of several columns, which no curve tells."""


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a tree, parents before their children; of regions without one, all rows and these below them.

    Parameters
    ----------
    below : array of shape (nodes, regions)
        Which regions lie below each node.
    paths : array of shape (depths, regions)
        The node above each region at each depth, from the root; the region's own beyond.
    children : tuple of tuples
        Nodes right below each node; none of a region.
    """

    below: BoolArray
    paths: IntArray
    children: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, partition: Partition) -> Nodes:
        """The nodes above the regions of a partition."""
        places = tree_places(partition)
        if len(partition) == 1:
            places = places[:1]
        below = np.zeros((len(places), len(partition)), dtype=np.bool_)
        depths: list[int] = []
        children: list[list[int]] = [[] for _ in places]
        for number, place in enumerate(places):
            below[number, place.regions] = True
            if place.parent == NO_NODE:
                depths.append(0)
            else:
                depths.append(depths[place.parent] + 1)
                children[place.parent].append(number)
        paths = np.zeros((max(depths) + 1, len(partition)), dtype=np.intp)
        for number, depth in enumerate(depths):  # deeper nodes come later and overwrite those above
            paths[depth:, below[number]] = number
        return cls(below, paths, tuple(map(tuple, children)))

    @property
    def leaves(self) -> IntArray:
        """The node that each region is, (regions,)."""
        return np.asarray(self.paths[-1])

    @property
    def inner(self) -> list[int]:
        """The nodes that are divided."""
        return [number for number, below in enumerate(self.children) if below]

    def depth(self, node: int) -> int:
        """How many nodes lie above a node."""
        return int(np.argmax(np.any(self.paths == node, axis=1)))


def shared_nodes(
    nodes: Nodes, moves: FloatArray, missed: FloatArray, weights: FloatArray, allowed: float
) -> IntArray:
    """The node whose curve each region has of each piece, (regions, pieces): the cheapest joins first.

    Parameters
    ----------
    nodes : Nodes
    moves : array of shape (inner nodes, pieces, n_rows)
        How much more the description of a row is where the branches below a node share the curve of its rows.
    missed : array of shape (n_rows,)
        Prediction less description, with one curve per feature and region.
    weights : array of shape (n_rows,)
    allowed : float
        How much more the weighted squares of what is missed may add up to.
    """
    n_pieces = moves.shape[1]
    joins = moves.reshape(-1, len(missed))
    product = joins @ (weights * missed)
    products = (joins * weights) @ joins.T
    squares = np.diag(products)
    chosen = np.repeat(nodes.leaves[:, None], n_pieces, axis=1)
    has_one_curve = np.zeros((len(nodes.below), n_pieces), dtype=np.bool_)
    has_one_curve[nodes.leaves] = True

    def may_be_joined(node: int) -> BoolArray:
        below = list(nodes.children[node])
        return np.asarray(has_one_curve[below].all(axis=0) & ~has_one_curve[node])

    added = 0.0
    while True:
        is_open = np.concatenate([may_be_joined(node) for node in nodes.inner])
        costs = np.where(is_open, squares - 2.0 * product, np.inf)
        join = int(np.flatnonzero(costs <= costs.min() + TIE * allowed)[0])
        added += float(costs[join])
        if added > allowed:
            return chosen
        place, piece = divmod(join, n_pieces)
        node = nodes.inner[place]
        chosen[nodes.below[node], piece] = node
        has_one_curve[node, piece] = True
        product = product - products[:, join]


def hardly_matters(
    added: FloatArray, weights: FloatArray, variance: float, matters: BoolArray
) -> BoolArray:
    """Which pieces hardly matter: the smallest, which together describe next to nothing, (pieces,).

    Parameters
    ----------
    added : array of shape (2, pieces, n_rows)
        What each piece adds to the mean of a row's region, and to that of all rows where there are no regions.
    weights : array of shape (n_rows,)
        They add up to 1.
    variance : float
        Of the predictions.
    matters : array of shape (pieces,)
        Those that do in any case: regions are divided by them.
    """
    sizes = (np.square(added) @ weights).max(axis=0)
    hardly = np.zeros(len(sizes), dtype=np.bool_)
    together = np.zeros((2, len(weights)))
    for number in np.argsort(sizes, kind="stable").tolist():
        if matters[number]:
            continue
        together = together + added[:, number]
        is_small = sizes[number] < LARGEST_HARDLY * variance or sizes[number] == 0.0
        if not is_small or (np.square(together) @ weights).max() > ALL_HARDLY * variance:
            break
        hardly[number] = True
    return hardly


class Description(NamedTuple):
    """What is added up at the rows that the model was asked about.

    Attributes
    ----------
    effects, level_shares : lists of arrays of shape (nodes, 1 + levels)
        Of each piece of one column: its effects at every node, and the share of the node's rows that are missing, or
        have each level; of several columns empty.
    at_depths : array of shape (depths, pieces, n_rows)
        The effect of each piece that a row gets from the nodes above it.
    nodes : array of shape (regions, pieces)
        The node whose curve each region has.
    means : array of shape (nodes,)
        Mean prediction of each node's rows.
    centres : array of shape (regions, pieces)
    centres_of_all_rows : array of shape (pieces,)
    added : array of shape (pieces, n_rows)
        What each piece adds to the mean of a row's region.
    in_regions, overall : arrays of shape (n_rows,)
        The description, with regions and without.
    """

    effects: list[FloatArray]
    level_shares: list[FloatArray]
    at_depths: FloatArray
    nodes: IntArray
    means: FloatArray
    centres: FloatArray
    centres_of_all_rows: FloatArray
    added: FloatArray
    in_regions: FloatArray
    overall: FloatArray


@dataclass(frozen=True, eq=False)
class CurveMaker:
    """What descriptions of some rows are made of.

    Parameters
    ----------
    table : Table
        The rows.
    evaluations : Evaluations
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    players : tuple of coalitions
        Columns or groups whose effects are added up.
    order : int
        Effects of up to so many players are added up.
    cells : mapping of position to Cells
        Values that a pilot chose for columns.
    is_centred : bool
        Whether each effect is counted from its own mean over the rows of the region; otherwise G is the paper's
        surrogate.
    shared : float
        Share of what regions add that may be given up for fewer curves; 0: every region has its own.
    is_probability : bool
        Whether the explained output is a probability: G is then judged as it predicts, inside [0, 1].
    scale : Scale
        On which effects are added up.
    output : int
        Number of the output.
    output_name : str
        Where several are explained.
    """

    table: Table
    evaluations: Evaluations
    clusters: IntArray
    players: Players
    order: int
    cells: Mapping[int, Cells] = field(default_factory=dict)
    is_centred: bool = True
    shared: float = 0.0
    is_probability: bool = False
    scale: Scale = RESPONSE
    output: int = 0
    output_name: str = ""

    @property
    def pieces(self) -> tuple[tuple[Coalition, ...], ...]:
        """The sets of players whose effects are added up: single columns in their order, then the others."""
        sizes = range(1, self.order + 1)
        return tuple(members for size in sizes for members in combinations(self.players, size))

    def describe(
        self, nodes: Nodes, regions: IntArray, made_of: BoolArray | None = None
    ) -> Description:
        """The description in some regions, of all the rows, and with what curves of all rows they share.

        Parameters
        ----------
        nodes : Nodes
            Of the tree above the regions.
        regions : array of shape (n_rows,)
            Region of each row.
        made_of : array of shape (n_rows,), optional
            Rows that curves, means and the choice of what is shared are made of; None: all.
        """
        evaluations = self.evaluations
        weights = evaluations.weights
        if made_of is not None:
            weights = np.where(made_of, weights, 0.0)
        n_regions = nodes.below.shape[1]
        in_region = np.where(regions == np.arange(n_regions)[:, None], weights, 0.0)
        masses = in_region.sum(axis=1)
        mixing = nodes.below * masses  # share of each region in each node, (nodes, regions)
        has_no_row = mixing.sum(axis=1) == 0.0
        mixing[has_no_row] = nodes.below[has_no_row]
        mixing /= mixing.sum(axis=1)[:, None]
        in_region[masses == 0.0] = weights  # of a region without rows all rows tell
        shares = in_region / in_region.sum(axis=1)[:, None]
        of_all_rows = weights / weights.sum()
        means = mixing @ (shares @ evaluations.f)

        # Every piece at every node, and what rows get of it from the nodes above them.
        n_pieces = len(self.pieces)
        effects = [NONE] * n_pieces
        level_shares = [NONE] * n_pieces
        at_depths = np.empty((len(nodes.paths), n_pieces, len(evaluations)))
        for number, members in enumerate(self.pieces):
            columns = union(members)
            if len(columns) == 1:
                column = self.table.columns[min(columns)]
                of_nodes = self._column_effects(column, shares, mixing, means)
                effects[number], level_shares[number] = of_nodes
                at_depths[:, number] = effects[number][nodes.paths[:, regions], column.codes + 1]
            else:
                by_region = self._joint_effect(members, shares)
                for depth, above in enumerate(nodes.paths):
                    at_depths[depth, number] = np.sum(mixing[above[regions]] * by_region, axis=1)

        centres = np.zeros((*at_depths.shape[:2], n_regions))
        centres_of_all_rows = np.zeros(n_pieces)
        if self.is_centred:
            centres = at_depths @ shares.T
            centres_of_all_rows = at_depths[0] @ of_all_rows
        overall = means[0] + at_depths[0].sum(axis=0) - centres_of_all_rows.sum()
        of_regions = means[nodes.leaves][regions]
        chosen = np.repeat(nodes.leaves[:, None], n_pieces, axis=1)
        if self.shared > 0.0 and n_regions > 1:
            counted = at_depths - centres[..., regions]
            model = evaluations.f
            missed = model - of_regions - counted[-1].sum(axis=0)
            gained = float(of_all_rows @ (np.square(model - overall) - np.square(missed)))
            variance = float(of_all_rows @ np.square(model - of_all_rows @ model))
            steps = counted[:-1] - counted[1:]
            moves = np.stack(
                [steps[nodes.depth(node)] * nodes.below[node][regions] for node in nodes.inner]
            )
            allowed = max(self.shared * gained, LEAST_BUDGET * variance)
            chosen = shared_nodes(nodes, moves, missed, of_all_rows, allowed)
        depths = np.argmax(nodes.paths[:, :, None] == chosen, axis=0)  # (regions, pieces)
        centres = np.take_along_axis(centres, depths.T[None], axis=0)[0]
        added = np.take_along_axis(at_depths, depths[regions].T[None], axis=0)[0]
        added = added - centres[:, regions]
        return Description(
            effects=effects,
            level_shares=level_shares,
            at_depths=at_depths,
            nodes=chosen,
            means=means + evaluations.offset,
            centres=centres.T,
            centres_of_all_rows=centres_of_all_rows,
            added=added,
            in_regions=self._cut(of_regions + added.sum(axis=0) + evaluations.offset),
            overall=self._cut(overall + evaluations.offset),
        )

    def _cut(self, values: FloatArray) -> FloatArray:
        """Sums turned back into predictions; a sum may leave [0, 1], a probability does not."""
        predictions = np.asarray(self.scale.back(values))
        return np.clip(predictions, 0.0, 1.0) if self.is_probability else predictions

    def on_scale(self, scale: Scale) -> CurveMaker:
        """The same on another scale; between the values that stand for a column curves are straight there."""
        return replace(
            self,
            evaluations=self.evaluations.on_scale(scale),
            cells={position: replace(cells, curves=()) for position, cells in self.cells.items()},
            scale=scale,
            shared=0.0,
        )

    def shared_curves(self, partition: Partition, regions: IntArray) -> SharedCurves:
        """The description in the regions of a partition, as it is told, kept and applied to other rows."""
        nodes = Nodes.of(partition)
        described = self.describe(nodes, regions)
        evaluations = self.evaluations
        total = evaluations.weights / evaluations.weights.sum()
        variance = float(total @ np.square(evaluations.f - total @ evaluations.f))
        overall = described.at_depths[0] - described.centres_of_all_rows[:, None]
        added = np.stack([described.added, overall])
        sizes = (np.square(added) @ total).max(axis=0)
        divides = {name for rule in partition.rules for name, _ in rule.conditions}
        names = [self._names(members) for members in self.pieces]
        matters = np.array([len(of_piece) == 1 and of_piece[0] in divides for of_piece in names])
        hardly = hardly_matters(added, total, variance, matters)

        all_curves: list[SharedCurve] = []
        of_regions = np.zeros(described.nodes.shape, dtype=np.intp)
        of_all_rows = np.zeros(len(self.pieces), dtype=np.intp)
        for number in range(len(self.pieces)):
            told = np.unique(described.nodes[:, number]).tolist()
            role = "differs" if len(told) > 1 else "same"
            if hardly[number]:
                role = "hardly"
            for node in sorted({0, *told}):
                if node == 0:
                    of_all_rows[number] = len(all_curves)
                of_regions[described.nodes[:, number] == node, number] = len(all_curves)
                curve = self._curve(nodes, regions, described, number, node)
                all_curves.append(replace(curve, role=role))
        return SharedCurves(
            pieces=self.pieces,
            all_curves=tuple(all_curves),
            of_regions=of_regions,
            of_all_rows=of_all_rows,
            means=described.means[nodes.leaves],
            centres=described.centres,
            centres_of_all_rows=described.centres_of_all_rows,
            sizes=sizes / variance if variance > 0.0 else np.zeros_like(sizes),
            fidelity=self._fidelity(described.in_regions),
            global_fidelity=self._fidelity(described.overall),
            is_probability=self.is_probability,
            scale=self.scale,
            table=self.table,
            regions=regions,
            weights=evaluations.weights,
        )

    def _names(self, members: tuple[Coalition, ...]) -> tuple[str, ...]:
        return tuple(self.table.names[position] for position in sorted(union(members)))

    def _fidelity(self, described: FloatArray) -> float:
        """Share of the prediction's variance on these rows that a description explains."""
        model = self.evaluations.predictions
        first = model[0]  # less it, a constant model is exactly 0
        predicted = Predicted(model - first, described - first)
        return described_share([predicted], self.evaluations.weights, self.clusters, None).value

    def _curve(
        self, nodes: Nodes, regions: IntArray, described: Description, number: int, node: int
    ) -> SharedCurve:
        """One piece at one node, without its role."""
        members = self.pieces[number]
        columns = union(members)
        rows = np.flatnonzero(nodes.below[node][regions])
        effects = added = described.effects[number]
        shares = described.level_shares[number]
        start = mean = float(described.means[node])
        column = None
        none = RowCurves(NONE, NONE, NONE, np.nan)
        of_rows = Deferred(lambda: none, now=True)
        reach = 0.0
        if len(columns) == 1:
            column = self.table.columns[min(columns)]
            effects = added = added[node]
            shares = shares[node]
            if not self.scale.is_response:
                predictions = np.asarray(self.scale.back(start + added))
                mean = float(shares @ predictions)
                effects = predictions - mean
                if shares[0] == 0.0:  # no missing value was seen
                    effects[0] = 0.0
            reached = reached_levels(column, shares)
            if reached.any():
                reach = float(np.ptp(effects[reached]))
            of_rows = Deferred(partial(self._row_curves, column, rows, added, start, mean))
        elif len(rows):
            of_pair = described.at_depths[nodes.depth(node), number, rows]
            weights = self.evaluations.weights[rows]
            ends = weighted_quantiles(of_pair[:, None], weights / weights.sum(), REACH)[:, 0]
            low, high = np.sort(self.scale.back(start + ends))
            reach = float(high - low)
        return SharedCurve(
            features=self._names(members),
            column=column,
            node=node,
            regions=tuple(np.flatnonzero(nodes.below[node]).tolist()),
            mean=mean,
            effects=effects,
            added=added,
            start=start,
            shares=shares,
            n_rows=len(rows),
            range=reach,
            role="",
            row_curves=of_rows,
            output=self.output_name,
        )

    def _row_curves(
        self, column: Column, rows: IntArray, added: FloatArray, start: float, mean: float
    ) -> RowCurves:
        """How the curves of single rows run around their mean, as changes of the prediction.

        Parameters
        ----------
        column : Column
        rows : array of int
            Those of a node.
        added : array of shape (1 + levels,)
            Their mean curve on the scale.
        start : float
            From which it is counted there.
        mean : float
            From which changes of the prediction are counted.
        """
        with one_blas_thread():
            around = row_curves(column, self.evaluations, rows, self.clusters[rows], added)
        if self.scale.is_response:
            return around
        back = self.scale.back
        ends = np.stack([back(start + around.low), back(start + around.high)]) - mean
        return RowCurves(
            errors=np.abs(back(start + added + around.errors) - back(start + added)),
            low=ends.min(axis=0),
            high=ends.max(axis=0),
            spread=float(abs(back(start + around.spread) - back(start - around.spread)) / 2),
        )

    def _column_effects(
        self, column: Column, shares: FloatArray, mixing: FloatArray, means: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The effects of one column at every node, the mean of its regions', and the shares of its levels there.

        Parameters
        ----------
        column : Column
        shares : array of shape (regions, n_rows)
            Of the rows in each region.
        mixing : array of shape (nodes, regions)
            Of the regions in each node.
        means : array of shape (nodes,)
            Mean prediction of each node's rows.
        """
        cells = self.cells.get(column.position)
        of_regions = pdp_of_regions(column, self.evaluations, shares, cells, self.output)
        effects = mixing @ of_regions - means[:, None]
        codes = column.codes + 1
        size = len(column.levels) + 1
        level_shares = mixing @ np.stack(
            [np.bincount(codes, weights=share, minlength=size) for share in shares]
        )
        if self.is_centred:
            effects -= np.sum(effects * level_shares, axis=1)[:, None]
        if not np.any(column.codes < 0):
            effects[:, 0] = 0.0
        return effects, level_shares

    def _joint_effect(self, members: tuple[Coalition, ...], shares: FloatArray) -> FloatArray:
        """``Delta(L, nothing)`` at each row with the rows of each region as reference, (n_rows, regions)."""
        # All of it at the same values, where a few stand for the others.
        evaluations = self.evaluations.in_gap_of(union(members))
        lines = RegionWeights(np.ascontiguousarray(shares.T))
        total = np.zeros(lines.weights.shape)
        for part in subsets(members):
            sign = (-1.0) ** (len(members) - len(part))
            visible = union(part)
            if visible == evaluations.everything:
                total += sign * evaluations.f[:, None]
            else:
                total += sign * averaged(evaluations, visible).values(lines)
        return total

    def cell_residuals(self, columns: Coalition, terms: Terms, shares: FloatArray) -> FloatArray:
        """What the values that a pilot chose leave out of the local effect of a column, row by row.

        The search reads a column at the values that stand for its cells (C22). An effect that a user sees is
        that of the row at its own value: a pure effect reads the curve there instead of at the standing value, a
        full effect the prediction of the row.

        Parameters
        ----------
        columns : coalition
            The set that the effect is about; 0 unless it is a column with cells.
        terms : mapping
            Of the effect under marginal masking.
        shares : array of shape (K, n)
            Of the rows in each region, whose mean curve is read.

        Returns
        -------
        array of shape (K, n)
        """
        evaluations = self.evaluations
        cells = self.cells.get(min(columns)) if len(columns) == 1 else None
        if cells is None or columns not in evaluations.matrices:
            return np.zeros(shares.shape)
        of_prediction = of_curve = 0.0
        for term, coefficient in terms.items():
            of_prediction += coefficient * (term.visible == evaluations.everything)
            of_curve += coefficient * (term.visible == columns)
        matrix = evaluations.matrices[columns]
        residuals = np.broadcast_to(of_prediction * (evaluations.f - matrix.own()), shares.shape)
        if of_curve:
            column = self.table.columns[min(columns)]
            curves = pdp_of_regions(column, evaluations, shares, cells, self.output)
            at_standing = (shares @ matrix.values)[:, matrix.codes]
            residuals = residuals + of_curve * (curves[:, column.codes + 1] - at_standing)
        return np.asarray(residuals)


def scale_to_try(makers: Sequence[CurveMaker], is_survival: bool) -> Scale | None:
    """Log-odds where every kept prediction lies in [0, 1], the log where all are positive; otherwise none.

    Parameters
    ----------
    makers : sequence of CurveMaker
        One for each output that is explained.
    is_survival : bool
        Whether predictions are probabilities of survival: their scale is log-log.
    """
    kept = np.concatenate(
        [
            values.ravel() + maker.evaluations.offset
            for maker in makers
            for values in (
                maker.evaluations.f,
                *(matrix.values for matrix in maker.evaluations.matrices.values()),
            )
        ]
    )
    if is_survival:
        name = "log-log"
    elif makers[0].is_probability or (kept.min() >= 0.0 and kept.max() <= 1.0):
        name = "log-odds"
    elif kept.min() > 0.0:
        name = "log"
    else:
        return None
    scale, is_on_end = SCALES[name].settled(kept)
    return None if is_on_end.all() else scale
