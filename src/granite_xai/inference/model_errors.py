"""Where the model errs: its loss in every region, how sure that is, and where it is worse than elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.inference.nodes import tree_places
from granite_xai.inference.noise import interval_around, student_quantile
from granite_xai.regions import Partition
from granite_xai.tables import frame

WORTH_TELLING = 1.1  # ratio of errors below which a difference beyond chance is not told


@dataclass(frozen=True, slots=True)
class ErrorFigure:
    """How far a model is from the target on some rows.

    Attributes
    ----------
    node, region : int
        A node of the tree, and the region that it is; -1: it is an inner one.
    output : object
        Which output it is about, where several are explained.
    value : float
        The error: the root of the mean squared error, or the mean of another loss; nan without rows.
    low, high : float
        Its interval, by rows or clusters; nan where there is none.
    bias : float
        Mean of y - prediction; nan where y is no number.
    ratio : float
        Of a region, its error over that on the rows of other regions that do not stand out.
    stands_out : bool
        Whether that is more than chance gives any of the regions.
    n_rows : int
    """

    node: int
    region: int
    output: Any
    value: float
    low: float
    high: float
    bias: float
    ratio: float
    stands_out: bool
    n_rows: int


@dataclass(frozen=True, slots=True)
class ModelErrors:
    """Errors of a model in every region; ``frame()`` has a line for each region and output.

    Attributes
    ----------
    measure : str
        "rmse", "brier", or the loss of the question.
    rows : str
        "given": rows of the user's own (``holdout=(X, y)``); "fitting": those of the fit.
    figures : tuple of ErrorFigure
        Of all nodes, output by output.
    overall, overall_bias : float
        On all rows; the mean over outputs.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy(n=900)
    >>> y = toy.model(toy.X) + np.random.default_rng(0).normal(size=900)
    >>> errors = gx.Granite(toy.model).fit(toy.X, y).errors_
    >>> errors.measure, round(errors.overall, 1)
    ('rmse', 1.0)
    >>> list(errors.frame())
    ['region', 'output', 'rmse', 'rmse_low', 'rmse_high', 'bias', 'ratio', 'rows']
    """

    measure: str
    rows: str
    figures: tuple[ErrorFigure, ...]

    @property
    def overall(self) -> float:
        """On all rows; the mean over outputs."""
        return float(np.mean([figure.value for figure in self.figures if figure.node == 0]))

    @property
    def overall_bias(self) -> float:
        """Mean of y - prediction on all rows; the mean over outputs."""
        return float(np.mean([figure.bias for figure in self.figures if figure.node == 0]))

    def of_output(self, name: Any) -> ModelErrors:
        """Those of one of several outputs."""
        chosen = [figure for figure in self.figures if figure.output == name]
        figures = tuple(replace(figure, output=None) for figure in chosen)
        return replace(self, figures=figures)

    @property
    def of_regions(self) -> tuple[ErrorFigure, ...]:
        """Those of the regions, output by output."""
        return tuple(figure for figure in self.figures if figure.region >= 0)

    def frame(self) -> Any:
        """A line for each region and output."""
        of_regions = self.of_regions
        return frame(
            {
                "region": [figure.region for figure in of_regions],
                "output": ["" if each.output is None else str(each.output) for each in of_regions],
                self.measure: [figure.value for figure in of_regions],
                f"{self.measure}_low": [figure.low for figure in of_regions],
                f"{self.measure}_high": [figure.high for figure in of_regions],
                "bias": [figure.bias for figure in of_regions],
                "ratio": [figure.ratio for figure in of_regions],
                "rows": [figure.n_rows for figure in of_regions],
            }
        )


class Losses(NamedTuple):
    """What the model errs at each of some rows, in one output.

    Parameters
    ----------
    losses : array of shape (n_rows,)
    residuals : array of shape (n_rows,)
        y - prediction; nan where y is no number.
    output : object
        Name of the output, where several are explained.
    """

    losses: FloatArray
    residuals: FloatArray
    output: Any = None


def model_errors(
    of_outputs: Sequence[Losses],
    partition: Partition,
    regions: IntArray,
    weights: FloatArray,
    clusters: IntArray,
    *,
    measure: str,
    rows: str,
    level: float | None,
) -> ModelErrors:
    """Errors at every node of a tree.

    Parameters
    ----------
    of_outputs : sequence of Losses
    partition : Partition
    regions, weights, clusters : arrays of shape (n_rows,)
        Region, weight and cluster of each row.
    measure, rows : str
        As of `ModelErrors`.
    level : float, optional
        Of intervals, and of what stands out of chance; None: nothing is said of either.
    """
    figures = []
    n_tests = len(of_outputs) * len(partition)
    for losses in of_outputs:
        compared = _compared_regions(losses.losses, regions, weights, clusters, level, n_tests)
        for number, place in enumerate(tree_places(partition)):
            inside = place.rows(regions)
            here = _Mean.of(losses.losses, inside, weights, clusters)
            ratio, stands_out = compared.get(place.region, (math.nan, False))
            numbers = [here.value, *here.interval(level), ratio]
            if measure == "rmse":
                numbers = [math.sqrt(each) for each in numbers]
            value, low, high, ratio = numbers
            bias = math.nan
            if len(inside):
                bias = float(np.average(losses.residuals[inside], weights=weights[inside]))
            figures.append(
                ErrorFigure(
                    node=number,
                    region=place.region,
                    output=losses.output,
                    value=value,
                    low=low,
                    high=high,
                    bias=bias,
                    ratio=ratio,
                    stands_out=stands_out and ratio >= WORTH_TELLING,
                    n_rows=len(inside),
                )
            )
    return ModelErrors(measure, rows, tuple(figures))


def _compared_regions(
    losses: FloatArray,
    regions: IntArray,
    weights: FloatArray,
    clusters: IntArray,
    level: float | None,
    n_tests: int,
) -> dict[int, tuple[float, bool]]:
    """The loss of each region over that elsewhere, and whether it stands out.

    Elsewhere are the rows of regions that do not stand out: those that do are found first, the others are compared
    again without them.
    """
    is_ordinary = np.ones(len(regions), dtype=np.bool_)
    compared: dict[int, tuple[float, bool]] = {}
    is_new = True
    while is_new:
        standing_out = {region for region, (_, stands_out) in compared.items() if stands_out}
        for region in np.unique(regions).tolist():
            inside = regions == region
            here = _Mean.of(losses, np.flatnonzero(inside), weights, clusters)
            there = _Mean.of(losses, np.flatnonzero(is_ordinary & ~inside), weights, clusters)
            ratio, stands_out = _compared(here, there, level, n_tests)
            compared[region] = (ratio, stands_out or region in standing_out)
        now = {region for region, (_, stands_out) in compared.items() if stands_out}
        is_new = now != standing_out
        is_ordinary = ~np.isin(regions, list(now))
    return compared


class _Mean(NamedTuple):
    """A mean loss, and how sure it is."""

    value: float
    error: float  # standard error
    n_observations: int  # clusters of rows

    @classmethod
    def of(
        cls, losses: FloatArray, rows: IntArray, weights: FloatArray, clusters: IntArray
    ) -> _Mean:
        """Of some rows; the error follows from what each cluster adds to the mean."""
        if len(rows) == 0:
            return cls(math.nan, math.nan, 0)
        shares = weights[rows] / weights[rows].sum()
        mean = float(shares @ losses[rows])
        numbers = np.unique(clusters[rows], return_inverse=True)[1].reshape(-1)
        added = np.bincount(numbers, weights=shares * (losses[rows] - mean))
        count = len(added)
        error = math.sqrt(count / max(count - 1, 1) * float(np.square(added).sum()))
        return cls(mean, error, count)

    def interval(self, level: float | None) -> tuple[float, float]:
        """Student's; nan for too few clusters."""
        if level is None:
            return math.nan, math.nan
        quantile = student_quantile(level, self.n_observations)
        return interval_around(self.value, self.error, quantile)


def _compared(here: _Mean, there: _Mean, level: float | None, n_tests: int) -> tuple[float, bool]:
    """A mean loss over that elsewhere, and whether it is larger than chance gives any of so many.

    Tested on logs, on which the mean of skewed losses is nearly normal.
    """
    if not here.value > 0.0 or math.isnan(there.value):  # no errors, or no rows
        return math.nan, False
    ratio = here.value / there.value if there.value > 0.0 else math.inf
    if level is None:
        return ratio, False
    n_observations = min(here.n_observations, there.n_observations)
    bar = student_quantile(1.0 - (1.0 - level) / n_tests, n_observations, sides=1)
    if math.isinf(ratio):
        return ratio, here.value > bar * here.error
    error = math.hypot(here.error / here.value, there.error / there.value)
    return ratio, math.log(ratio) > bar * error
