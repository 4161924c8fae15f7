"""Curves that are told once: the description of a model, in regions that share what does not differ between them.

A description starts from the mean prediction of the region and adds every piece (the curve of a
feature, the effect of a group, the surface of a pair) less its own mean there (docs/method.rst, "What
a description is")::

    G(x) = mean F + sum over pieces of (piece(x) - mean of the piece)

so that curves and model agree in the mean, also where columns depend on each other. The paper's
surrogate adds the effects as they are: nothing is taken off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.deferred import Deferred
from granite_xai.base.options import unknown
from granite_xai.base.typing import BoolArray, Coalition, FloatArray, IntArray, subsets, union
from granite_xai.curves.curves import RowCurves, as_numbers, ascending
from granite_xai.models import Predictor, Scale
from granite_xai.tables import Column, Outline, Table, frame, require_rows

REACH = (0.05, 0.95)
"""Share of the rows up to which a range goes, from below and from above."""

ROLES = ("differs", "same", "hardly")
"""Of a piece: regions have different curves of it; all have the same; it hardly matters."""


@dataclass(frozen=True, slots=True, eq=False)
class SharedCurve:
    """A curve that is told once: a piece of the description of one region, or of several that share it.

    Attributes
    ----------
    features : tuple of str
        One for a curve, several for the effect of a group or the surface of a pair.
    column : Column or None
        Of the search rows; None where there are several features.
    node : int
        The node of the tree whose rows it is of; 0: all rows. Of regions without a tree, region k is node k + 1.
    regions : tuple of int
        The regions below the node, which share it.
    mean : float
        Mean prediction of the node's rows; on another scale that along the curve, from which changes are counted.
    effects : array of shape (1 + levels,)
        Of a missing value (0 where none was seen), then of each level of the column, less their own mean over the
        node's rows: changes of the prediction on any scale. Of several features empty: the model is asked.
    added : array of shape (1 + levels,)
        What is added up: these effects on the scale of the fit.
    start : float
        The mean on the scale of the fit, to which it is added.
    shares : array of shape (1 + levels,)
        Share of the node's rows that are missing, or have each level.
    n_rows : int
        Search rows of the node.
    range : float
        Largest less smallest effect: of numbers and dates between the 5% and the 95% point of the node's rows, of
        others among all levels that have rows; of several features between these points of their effects.
    role : "differs", "same" or "hardly"
        Whether regions have different curves of it, all the same, or it hardly matters: it describes less than half a
        percent of the variance, all of these together at most two, and no region is divided by it.
    row_curves : Deferred of RowCurves
    output : str
        Which output it is about, where several are explained.
    """

    features: tuple[str, ...]
    column: Column | None
    node: int
    regions: tuple[int, ...]
    mean: float
    effects: FloatArray
    added: FloatArray
    start: float
    shares: FloatArray
    n_rows: int
    range: float
    role: str
    row_curves: Deferred[RowCurves]
    output: str = ""

    @property
    def label(self) -> str:
        """Name of the feature, or names of the features: "temp and hum"."""
        *others, last = self.features
        return f"{', '.join(others)} and {last}" if others else last

    @property
    def reached(self) -> BoolArray:
        """The levels among which its range is taken, missing first, (1 + levels,); of several features empty."""
        if self.column is None:
            return np.zeros(0, dtype=np.bool_)
        return reached_levels(self.column, self.shares)

    @property
    def errors(self) -> FloatArray:
        """Standard error of each effect, (1 + levels,)."""
        return self.row_curves.value.errors

    @property
    def low(self) -> FloatArray:
        """What 5% of the rows lie below, each row's own curve less its own mean, (1 + levels,)."""
        return self.row_curves.value.low

    @property
    def high(self) -> FloatArray:
        """What 5% of the rows lie above, (1 + levels,)."""
        return self.row_curves.value.high

    @property
    def spread(self) -> float:
        """How far single rows move along it: root mean square of their own effects."""
        return self.row_curves.value.spread

    def at(self, column: Column) -> FloatArray:
        """What it adds at each row of another table; NaN where the value was never seen in the fit.

        Interpolated between levels with an order, constant beyond the ends.

        Parameters
        ----------
        column : Column
            The same column in the other table.
        """
        if self.column is None:
            raise ValueError(f"the effect of {self.label} has no curve")
        of_missing = self.added[0] if np.any(self.column.codes < 0) else np.nan
        of_levels = self.added[1:]
        if not self.column.is_ordered or len(of_levels) == 0:
            effect_of = dict(zip(self.column.levels.tolist(), of_levels.tolist(), strict=True))
            by_level = np.array([effect_of.get(level, np.nan) for level in column.levels.tolist()])
        else:
            levels = as_numbers(ascending(column.levels, self.column), self.column)
            known_levels = as_numbers(ascending(self.column.levels, self.column), self.column)
            by_level = np.interp(levels, known_levels, of_levels)
        # A missing value has the code -1, which reads the last entry.
        return np.append(by_level, of_missing)[column.codes]


def reached_levels(column: Column, shares: FloatArray) -> BoolArray:
    """Levels between the 5% and the 95% point of some rows, of numbers and dates; of others those that occur.

    Parameters
    ----------
    column : Column
    shares : array of shape (1 + levels,)
        Of the rows that are missing, or have each level.
    """
    occurs = shares > 0.0
    if column.kind in ("numeric", "date"):
        up_to = np.cumsum(shares[1:])
        present = up_to[-1] if len(up_to) else 0.0
        below = up_to - shares[1:]
        low, high = (share * present for share in REACH)
        occurs[1:] &= (up_to > low) & (below < high)
        occurs[0] = shares[0] > REACH[0]
    return np.asarray(occurs)


@dataclass(frozen=True, eq=False)
class SharedCurves:
    """The description of a model: which curve of every piece each region has, and what is added up.

    Attributes
    ----------
    pieces : tuple of tuples of coalitions
        Sets of players whose effects are added up: single features, groups, pairs.
    all_curves : tuple of SharedCurve
        Every curve that is told, and those of all rows.
    of_regions : array of shape (regions, pieces)
        Which of these each region has.
    of_all_rows : array of shape (pieces,)
        Which of these are those of all rows.
    means : array of shape (regions,)
        Mean prediction of each region's search rows, on the scale of the fit.
    centres : array of shape (regions, pieces)
        Mean over these rows of the effect that the region has, from which it is counted; 0 in the paper's surrogate.
    centres_of_all_rows : array of shape (pieces,)
    sizes : array of shape (pieces,)
        Share of the variance that each piece describes, in the regions or with one curve, whichever is more.
    fidelity, global_fidelity : float
        Share of the prediction's variance that the description explains, with regions and without.
    is_probability : bool
        Whether what is added up is cut to [0, 1].
    scale : Scale
        On which it is added up, and from which it is turned back.
    table : Table
        The search rows.
    regions, weights : arrays of shape (n_rows,)
        Region and weight of each of them.

    Examples
    --------
    >>> import granite_xai as gx
    >>> X = np.random.default_rng(0).normal(size=(700, 3))
    >>> g = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + X[:, 2], max_depth=1).fit(X)
    >>> len(g.curves_), g.curves_.differs, g.curves_.same
    (4, ('x0',), ('x2', 'x1'))
    >>> [curve.regions for curve in g.curves_.of("x0")]
    [(0,), (1,)]
    """

    pieces: tuple[tuple[Coalition, ...], ...]
    all_curves: tuple[SharedCurve, ...]
    of_regions: IntArray
    of_all_rows: IntArray
    means: FloatArray
    centres: FloatArray
    centres_of_all_rows: FloatArray
    sizes: FloatArray
    fidelity: float
    global_fidelity: float
    is_probability: bool
    scale: Scale
    table: Table = field(repr=False)
    regions: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)

    def __len__(self) -> int:
        return len(np.unique(self.of_regions))

    def __iter__(self) -> Iterator[SharedCurve]:
        for number in np.unique(self.of_regions).tolist():
            yield self.all_curves[number]

    def __repr__(self) -> str:
        return f"<SharedCurves: {len(self)} curves of {len(self.pieces)} pieces in {len(self.means)} regions>"

    def frame(self) -> Any:
        """One line a curve: those that differ by region first, then the largest.

        Returns
        -------
        DataFrame
            feature, node, regions (that share it), rows (search rows), range, role and output.
        """
        curves = sorted(
            self, key=lambda curve: (ROLES.index(curve.role), self.labels.index(curve.label))
        )
        return frame(
            {
                "feature": [curve.label for curve in curves],
                "node": [curve.node for curve in curves],
                "regions": [", ".join(map(str, curve.regions)) for curve in curves],
                "rows": [curve.n_rows for curve in curves],
                "range": [curve.range for curve in curves],
                "role": [curve.role for curve in curves],
                "output": [curve.output for curve in curves],
            },
            like=self.table,
        )

    def of(self, name: str) -> tuple[SharedCurve, ...]:
        """The curves of a feature, from left to right in the tree.

        Parameters
        ----------
        name : str
            As `frame` has it.
        """
        if name not in self.labels:
            raise unknown("name", name, self.labels, what="Features")
        return tuple(curve for curve in self if curve.label == name)

    @property
    def everywhere(self) -> tuple[SharedCurve, ...]:
        """The curve of every piece of all rows, whether regions share it or not."""
        return tuple(self.all_curves[number] for number in self.of_all_rows.tolist())

    def in_region(self, region: int) -> tuple[SharedCurve, ...]:
        """The curve that every piece has in a region, in the order of the pieces."""
        return tuple(self.all_curves[number] for number in self.of_regions[region].tolist())

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the pieces, the largest first."""
        order = np.argsort(-self.sizes, kind="stable")
        labels = [self.everywhere[number].label for number in order.tolist()]
        return tuple(dict.fromkeys(labels))

    def _with_role(self, role: str) -> tuple[str, ...]:
        with_role = {curve.label for curve in self if curve.role == role}
        return tuple(label for label in self.labels if label in with_role)

    @property
    def differs(self) -> tuple[str, ...]:
        """Features of which regions have different curves, the largest first."""
        return self._with_role("differs")

    @property
    def same(self) -> tuple[str, ...]:
        """Features that have one curve everywhere."""
        return self._with_role("same")

    @property
    def hardly(self) -> tuple[str, ...]:
        """Features that hardly matter: together they describe at most 2% of the variance."""
        return self._with_role("hardly")

    # Predictions ---------------------------------------------------------------------------------

    @property
    def needs_model(self) -> bool:
        """Whether some pieces are of several columns, which no curve tells."""
        return any(curve.column is None for curve in self.everywhere)

    @property
    def lacks_rows(self) -> bool:
        """Whether it cannot predict, because effects of several columns need rows that a file did not hold."""
        return self.needs_model and isinstance(self.table.container, Outline)

    def contributions(
        self, table: Table, regions: IntArray, predictor: Predictor | None = None
    ) -> FloatArray:
        """What every piece adds to the mean of a row's region, (n_rows, pieces).

        Parameters
        ----------
        table : Table
        regions : array of shape (n_rows,)
            Region of each row.
        predictor : Predictor, optional
            The model, which effects of several columns need.
        """
        if self.needs_model:
            require_rows(self.table, "a prediction from effects of several features")
        added = np.zeros((table.n_rows, len(self.pieces)))
        masked: dict[tuple[int, Coalition], FloatArray] = {}
        for number, members in enumerate(self.pieces):
            curve_of_row = self.of_regions[regions, number]
            for place in np.unique(curve_of_row).tolist():
                rows = np.flatnonzero(curve_of_row == place)
                curve = self.all_curves[place]
                if curve.column is None:
                    part = table.take(rows)
                    effects = self._joint_effect(curve, members, part, masked, predictor)
                else:
                    effects = curve.at(table.columns[curve.column.position])[rows]
                of_rows = effects - self.centres[regions[rows], number]
                added[rows, number] = np.where(np.isnan(effects), 0.0, of_rows)
        return added

    def predict(
        self, table: Table, regions: IntArray, predictor: Predictor | None = None
    ) -> FloatArray:
        """What the pieces add up to at the rows of a table, as predictions; parameters as of `contributions`.

        A sum may leave [0, 1], a probability does not.
        """
        added = self.contributions(table, regions, predictor).sum(axis=1)
        predictions = np.asarray(self.scale.back(self.means[regions] + added))
        return np.clip(predictions, 0.0, 1.0) if self.is_probability else predictions

    def predict_by_one_curve(self, table: Table, predictor: Predictor | None = None) -> FloatArray:
        """The same without regions: with the curves of all rows."""
        of_one_region = replace(
            self,
            of_regions=self.of_all_rows[None],
            centres=self.centres_of_all_rows[None],
            means=np.array([self.everywhere[0].start]),
        )
        return of_one_region.predict(table, np.zeros(table.n_rows, dtype=np.intp), predictor)

    def _joint_effect(
        self,
        curve: SharedCurve,
        members: tuple[Coalition, ...],
        table: Table,
        masked: dict[tuple[int, Coalition], FloatArray],
        predictor: Predictor | None,
    ) -> FloatArray:
        """``Delta(L, nothing)`` at other rows, with the node's rows as reference.

        ``masked`` keeps each ``F_T``: the model's mean over these rows with the visible columns replaced.
        """
        if predictor is None:
            raise ValueError("effects of several features need the model")
        references = np.flatnonzero(np.isin(self.regions, curve.regions))
        shares = self.weights[references] / self.weights[references].sum()
        # Delta(L, nothing) = sum over T in L of (-1)^(|L| - |T|) F_T
        total = np.zeros(table.n_rows)
        for part in subsets(members):
            sign = (-1.0) ** (len(members) - len(part))
            visible = union(part)
            if not visible:
                total += sign * curve.start
                continue
            key = curve.node, visible
            if key not in masked:
                codes, donors = table.distinct(visible)
                means = []
                for donor in donors:
                    donor_of_row = np.full(len(references), donor, dtype=np.intp)
                    predictions = predictor.recombined(
                        self.table, references, table, donor_of_row, sorted(visible)
                    )
                    means.append(predictions @ shares)
                masked[key] = np.array(means)[codes]
            total += sign * masked[key]
        return total


def joined(of_outputs: Sequence[SharedCurves]) -> SharedCurves:
    """The curves of all outputs beside each other; shares described are means.

    Parameters
    ----------
    of_outputs : sequence of SharedCurves
        Of the same rows and regions.
    """
    firsts = np.cumsum([0, *(len(each.all_curves) for each in of_outputs)])[:-1].tolist()
    pairs = list(zip(of_outputs, firsts, strict=True))
    return replace(
        of_outputs[0],
        pieces=tuple(members for each in of_outputs for members in each.pieces),
        all_curves=tuple(curve for each in of_outputs for curve in each.all_curves),
        of_regions=np.hstack([each.of_regions + first for each, first in pairs]),
        of_all_rows=np.hstack([each.of_all_rows + first for each, first in pairs]),
        centres=np.hstack([each.centres for each in of_outputs]),
        centres_of_all_rows=np.hstack([each.centres_of_all_rows for each in of_outputs]),
        sizes=np.hstack([each.sizes for each in of_outputs]) / len(of_outputs),
        fidelity=float(np.mean([each.fidelity for each in of_outputs])),
        global_fidelity=float(np.mean([each.global_fidelity for each in of_outputs])),
    )
