"""The description of a model, made of what it said about some rows."""

from __future__ import annotations

from collections.abc import Mapping
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
from granite_xai.curves.curves import RowCurves, pdp_of_regions, row_curves
from granite_xai.curves.shared import REACH, SharedCurve, SharedCurves, reached_levels
from granite_xai.curves.sharing import Nodes, budget, hardly_matters, shared_nodes
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.values import Cells
from granite_xai.models import RESPONSE, Scale
from granite_xai.regions import Partition
from granite_xai.tables import Column, Table

NONE: FloatArray = np.zeros(0)


class NodeEffects(NamedTuple):
    """One piece at every node of a tree.

    Attributes
    ----------
    columns : coalition
    effects : array of shape (nodes, 1 + levels)
        Of a single column; of several columns none.
    shares : array of shape (nodes, 1 + levels)
        Share of each node's rows that are missing, or have each level.
    """

    columns: Coalition
    effects: FloatArray = NONE
    shares: FloatArray = NONE


class Description(NamedTuple):
    """What is added up at the rows that the model was asked about.

    Attributes
    ----------
    by_piece : list of NodeEffects
    paths : array of shape (depths, regions)
        Nodes above each region, of which effects were read.
    at_depths : array of shape (depths, pieces, n_rows)
        The effect of each piece that a row gets from these nodes.
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

    by_piece: list[NodeEffects]
    paths: IntArray
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
    """What curves of one output are made of.

    Parameters
    ----------
    table : Table
        The search rows.
    evaluations : Evaluations
        Of these, with all that curves read.
    clusters : array of shape (n_rows,)
        Number of the cluster of each row.
    players : sequence of coalitions
    order : int
        Effects of all sets of up to so many players are added up.
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
        mixing = nodes.mixing(in_region.sum(axis=1))
        in_region[in_region.sum(axis=1) == 0.0] = weights  # of a region without rows all rows tell
        shares = in_region / in_region.sum(axis=1)[:, None]
        of_all_rows = weights / weights.sum()
        means = mixing @ (shares @ evaluations.f)
        paths = nodes.paths if self.shared > 0.0 else nodes.paths[[0, -1]]
        by_piece, at_depths = self._effects(paths[:, regions], shares, mixing, means)

        centres = np.zeros((*at_depths.shape[:2], n_regions))
        centres_of_all_rows = np.zeros(len(by_piece))
        if self.is_centred:
            centres = at_depths @ shares.T
            centres_of_all_rows = at_depths[0] @ of_all_rows
        overall = means[0] + at_depths[0].sum(axis=0) - centres_of_all_rows.sum()
        of_regions = means[nodes.leaves][regions]
        depths = np.full((n_regions, len(by_piece)), len(paths) - 1)
        if self.shared > 0.0 and n_regions > 1:
            counted = at_depths - centres[..., regions]
            model = evaluations.f
            missed = model - of_regions - counted[-1].sum(axis=0)
            gained = float(of_all_rows @ (np.square(model - overall) - np.square(missed)))
            variance = float(of_all_rows @ np.square(model - of_all_rows @ model))
            allowed = budget(self.shared, gained, variance)
            steps = counted[:-1] - counted[1:]
            chosen = shared_nodes(nodes, steps, missed, regions, of_all_rows, allowed)
            depths = np.argmax(paths[:, :, None] == chosen, axis=0)
        centres = np.take_along_axis(centres, depths.T[None], axis=0)[0]
        added = np.take_along_axis(at_depths, depths[regions].T[None], axis=0)[0]
        added = added - centres[:, regions]
        return Description(
            by_piece=by_piece,
            paths=paths,
            at_depths=at_depths,
            nodes=np.take_along_axis(paths.T, depths, axis=1),
            means=means + evaluations.offset,
            centres=centres.T,
            centres_of_all_rows=centres_of_all_rows,
            added=added,
            in_regions=self._cut(of_regions + added.sum(axis=0) + evaluations.offset),
            overall=self._cut(overall + evaluations.offset),
        )

    def _effects(
        self, node_of_rows: IntArray, shares: FloatArray, mixing: FloatArray, means: FloatArray
    ) -> tuple[list[NodeEffects], FloatArray]:
        """Every piece at every node, and what rows get of it from the nodes above them.

        Parameters
        ----------
        node_of_rows : array of shape (depths, n_rows)
            Nodes above each row.
        shares : array of shape (regions, n_rows)
            Of the rows in each region.
        mixing : array of shape (nodes, regions)
            Of the regions in each node.
        means : array of shape (nodes,)
            Mean prediction of each node's rows.

        Returns
        -------
        by_piece : list of NodeEffects
        at_depths : array of shape (depths, pieces, n_rows)
        """
        by_piece = list[NodeEffects]()
        at_depths = np.empty((len(node_of_rows), len(self.pieces), len(self.evaluations)))
        for number, members in enumerate(self.pieces):
            columns = union(members)
            if len(columns) == 1:
                column = self.table.columns[min(columns)]
                piece = self._column_effects(column, shares, mixing, means)
                at_depths[:, number] = piece.effects[node_of_rows, column.codes + 1]
            else:
                piece = NodeEffects(columns)
                by_region = self._joint_effect(members, shares)
                for depth, nodes in enumerate(node_of_rows):
                    at_depths[depth, number] = np.sum(mixing[nodes] * by_region, axis=1)
            by_piece.append(piece)
        return by_piece, at_depths

    def shared_curves(self, partition: Partition, regions: IntArray) -> SharedCurves:
        """The description in the regions of a partition, as it is told, kept and applied to other rows."""
        nodes = Nodes.of(partition)
        described = self.describe(nodes, regions)
        pieces = [piece.columns for piece in described.by_piece]
        divides = {name for rule in partition.rules for name, _ in rule.conditions}
        matters = [
            len(columns) == 1 and self.table.names[min(columns)] in divides for columns in pieces
        ]
        evaluations = self.evaluations
        total = evaluations.weights / evaluations.weights.sum()
        variance = float(total @ np.square(evaluations.f - total @ evaluations.f))
        overall = described.at_depths[0] - described.centres_of_all_rows[:, None]
        added = np.stack([described.added, overall])
        hardly = hardly_matters(added, total, variance, np.array(matters, dtype=np.bool_))
        sizes = (np.square(added) @ total).max(axis=0)
        all_curves = list[SharedCurve]()
        place_of_curve = dict[tuple[int, int], int]()  # by node and piece
        for number in range(len(described.by_piece)):
            told = np.unique(described.nodes[:, number]).tolist()
            role = "differs" if len(told) > 1 else "same"
            for node in sorted({0, *told}):
                place_of_curve[node, number] = len(all_curves)
                curve = self._curve(nodes, regions, described, number, node)
                role_of_piece = "hardly" if hardly[number] else role
                all_curves.append(replace(curve, role=role_of_piece))
        of_regions = [
            [place_of_curve[node, number] for number, node in enumerate(of_region)]
            for of_region in described.nodes.tolist()
        ]
        n_pieces = len(described.by_piece)
        return SharedCurves(
            pieces=self.pieces,
            all_curves=tuple(all_curves),
            of_regions=np.array(of_regions, dtype=np.intp),
            of_all_rows=np.array([place_of_curve[0, n] for n in range(n_pieces)], dtype=np.intp),
            means=described.means[nodes.leaves],
            centres=described.centres,
            centres_of_all_rows=described.centres_of_all_rows,
            sizes=sizes / variance if variance > 0.0 else np.zeros_like(sizes),
            fidelity=self.fidelity(described.in_regions),
            global_fidelity=self.fidelity(described.overall),
            is_probability=self.is_probability,
            scale=self.scale,
            table=self.table,
            regions=regions,
            weights=evaluations.weights,
        )

    def fidelity(self, described: FloatArray) -> float:
        """``1 - mean (F - G)² / Var F`` on the search rows; 1 for a constant model."""
        evaluations = self.evaluations
        shares = evaluations.weights / evaluations.weights.sum()
        model = evaluations.predictions
        deviations = model - model[0]  # exactly 0 of a constant model
        variance = float(shares @ np.square(deviations - shares @ deviations))
        if variance == 0.0:
            return 1.0
        return 1.0 - float(shares @ np.square(model - described)) / variance

    def _curve(
        self, nodes: Nodes, regions: IntArray, described: Description, number: int, node: int
    ) -> SharedCurve:
        """One piece at one node, without its role."""
        piece = described.by_piece[number]
        inside = nodes.below[node]
        rows = np.flatnonzero(inside[regions])
        column = None
        effects = added = shares = NONE
        start = mean = float(described.means[node])
        if len(rows) and not self.scale.is_response:
            weights = self.evaluations.weights[rows]
            mean = float(np.average(self.evaluations.predictions[rows], weights=weights))
        none = RowCurves(NONE, NONE, NONE, np.nan)
        of_rows = Deferred(lambda: none, now=True)
        if len(piece.columns) == 1:
            column = self.table.columns[min(piece.columns)]
            added, shares = piece.effects[node], piece.shares[node]
            effects = self._as_predictions(start, added, shares)
            reach = _range(column, effects, shares)
            of_rows = Deferred(partial(self._row_curves, column, rows, effects))
        else:
            depth = int(np.argmax(np.any(described.paths == node, axis=1)))
            of_pair = described.at_depths[depth, number, rows]
            ends = np.quantile(of_pair, REACH) if len(rows) else np.zeros(2)
            low, high = np.sort(self.scale.back(start + ends))
            reach = float(high - low)
        return SharedCurve(
            features=tuple(self.table.names[position] for position in sorted(piece.columns)),
            column=column,
            node=node,
            regions=tuple(np.flatnonzero(inside).tolist()),
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

    def _as_predictions(self, start: float, added: FloatArray, shares: FloatArray) -> FloatArray:
        """Effects on the scale as changes of the prediction, less their own mean over the rows, (1 + levels,)."""
        if self.scale.is_response:
            return added
        predictions = np.asarray(self.scale.back(start + added))
        effects = predictions - shares @ predictions
        return np.where((np.arange(len(added)) == 0) & (shares[0] == 0.0), 0.0, effects)

    def _row_curves(self, column: Column, rows: IntArray, effects: FloatArray) -> RowCurves:
        """How the curves of single rows run around their mean, as changes of the prediction."""
        with one_blas_thread():
            return row_curves(column, self.evaluations, rows, self.clusters[rows], effects)

    def _column_effects(
        self, column: Column, shares: FloatArray, mixing: FloatArray, means: FloatArray
    ) -> NodeEffects:
        """The effects of one column at every node: those of a node are the mean of its regions'."""
        position = column.position
        of_regions = pdp_of_regions(
            column, self.evaluations, shares, self.cells.get(position), self.output
        )
        effects = mixing @ of_regions - means[:, None]
        size = len(column.levels) + 1
        level_shares = mixing @ np.stack(
            [np.bincount(column.codes + 1, weights=share, minlength=size) for share in shares]
        )
        if self.is_centred:
            effects -= np.sum(effects * level_shares, axis=1)[:, None]
        if not np.any(column.codes < 0):
            effects[:, 0] = 0.0
        return NodeEffects(frozenset({position}), effects, level_shares)

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

    def _cut(self, values: FloatArray) -> FloatArray:
        """Sums turned back into predictions; a sum may leave [0, 1], a probability does not."""
        predictions = np.asarray(self.scale.back(values))
        return np.clip(predictions, 0.0, 1.0) if self.is_probability else predictions


def _range(column: Column, effects: FloatArray, shares: FloatArray) -> float:
    """Largest less smallest effect: where an order has numbers without the outer rows on both sides."""
    reached = reached_levels(column, shares)
    return float(np.ptp(effects[reached])) if reached.any() else 0.0
