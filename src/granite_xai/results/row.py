"""The explanation of one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.document import Bar, Document, Paragraph, Printable, Table as TableBlock
from granite_xai.base.numbers import OutputUnit, count, share, table_number
from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.curves import Curve
from granite_xai.results.row_words import (
    interactions_sentence,
    outweighs,
    prediction_sentence,
    reasons_sentence,
)
from granite_xai.tables import Table, frame

MOST_SETS = 12
"""Sets in a text; what the others add is summed up."""
SHOWN_AS_NOTHING = 1e-3
"""Share of the largest contribution below which the table says 0."""

LONGEST_NAME = 40
ROUNDING = 1e-12
"""Share of the prediction, or of the mean, that is rounding."""


class RuleChange(NamedTuple):
    """What would bring a row into another region."""

    region: int
    condition: str  # what would have to hold
    distance: float  # in shares of the fitting rows, and 1 for every condition
    words: str = ""  # the condition as a person says it


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RowExplanation(Printable):
    """Why the model says this about one row, told against the fitting rows of its region.

    Contributions and ``rest`` add up: ``prediction = mean + sum of contributions + rest``.

    Attributes
    ----------
    row : object
        Its label in the frame that it comes from; None: it has none.
    region : int
    rule : str
        Of the region.
    n_samples : int
        Search rows of the region.
    prediction, mean : float
        Of the row; and of the region's search rows, as in the printed tree.
    explanation : str
        Name of the explanation that gives the contributions.
    sets : tuple of str
        Columns, or groups of them.
    values : tuple of str
        What the row has there.
    percentiles : array of shape (n_sets,)
        Where the row's value stands among those of the region, from 0 to 1; NaN where there is no order.
    shares : array of shape (n_sets,)
        Share of the region's rows that have an equal value; NaN for groups.
    contributions, errors : arrays of shape (n_sets,)
        What each set adds to the mean, and its standard error, against the fitting rows of the region; of more than
        1,000, against a random sample of 1,000 (against all of them without a confidence level).
    changes : tuple of (region, condition, distance, words)
        What would bring the row into another region, the nearest first.
    curves : tuple of Curve or None
        Of each set in the region, where it has one.
    table, references : Table
        The row; and the fitting rows of its region.
    title : str
        Name of the region or its rule in words; empty where all rows are one region.
    output : str
        What the explained output is called.
    unit : OutputUnit
        How its values are written.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model).fit(toy.X)
    >>> explanation = g.explain_row(toy.X.iloc[[0]])
    >>> explanation.region, explanation.changes[0].condition
    (1, 'x2 ≤ 0')
    >>> list(explanation.frame())
    ['row', 'region', 'set', 'value', 'percentile', 'share', 'contribution', 'standard_error']
    """

    row: Any
    region: int
    rule: str
    n_samples: int
    prediction: float
    mean: float
    explanation: str
    sets: tuple[str, ...]
    values: tuple[str, ...]
    percentiles: FloatArray
    shares: FloatArray
    contributions: FloatArray
    errors: FloatArray
    changes: tuple[RuleChange, ...]
    curves: tuple[Curve | None, ...]
    table: Table
    references: Table
    title: str = ""
    output: str = "the prediction"
    unit: OutputUnit = field(default_factory=OutputUnit)

    @property
    def rest(self) -> float:
        """What the columns do only together."""
        rest = self.prediction - self.mean - float(self.contributions.sum())
        rounding = ROUNDING * max(abs(self.prediction), abs(self.mean))
        if abs(rest) <= rounding:
            return 0.0
        return rest

    @property
    def order(self) -> IntArray:
        """The sets by the size of their contribution."""
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def frame(self) -> Any:
        """One line a set, in the library of the fit, and one for what they do only together; they add up."""
        n_lines = len(self.sets) + 1
        columns = {
            "row": [self.row] * n_lines,
            "region": [self.region] * n_lines,
            "set": [*self.sets, "together"],
            "value": [*self.values, ""],
            "percentile": [*_without_nan(self.percentiles), None],
            "share": [*_without_nan(self.shares), None],
            "contribution": [*self.contributions.tolist(), self.rest],
            "standard_error": [*_without_nan(self.errors), 0.0],
        }
        return frame(columns, like=self.table)

    def sentences(self) -> list[str]:
        """What a reader needs in words: prediction, reasons, the nearest change."""
        difference = self.prediction - self.mean
        of_prediction = prediction_sentence(
            self.row, self.output, self.prediction, self.mean, self.title, self.unit
        )
        of_features = reasons_sentence(
            self.sets, self.values, self.contributions, difference, self.unit
        )
        of_interactions = interactions_sentence(self.rest, self.contributions, self.unit)
        if outweighs(self.rest, self.contributions):
            sentences = [of_prediction, of_interactions, of_features]
        else:
            sentences = [of_prediction, of_features, of_interactions]
        if self.changes:
            nearest = self.changes[0]
            condition = nearest.words or nearest.condition
            sentences.append(f"With {condition} it would be in region {nearest.region}.")
        return [sentence for sentence in sentences if sentence]

    def _document(self) -> Document:
        """Sentences; the strongest sets, what the others add, and what interactions add."""
        largest = float(np.abs(self.contributions).max(initial=0.0))
        lines: list[tuple[object, ...]] = []
        for place in self.order[:MOST_SETS]:
            name = shortened(self.sets[place], LONGEST_NAME)
            bar = self._bar(float(self.contributions[place]), largest)
            lines.append((name, self.values[place], self._percentile(place), bar))
        summed_up = self.order[MOST_SETS:]
        if len(summed_up):
            bar = self._bar(float(self.contributions[summed_up].sum()), largest)
            lines.append((count(len(summed_up), "other"), "", "", bar))
        lines.append(("interactions", "", "", self._bar(self.rest, largest)))
        last_heading = "adds"
        if self.unit.noun:
            last_heading = f"adds ({self.unit.noun})"
        head: tuple[object, ...] = ("", "value", "percentile in its region", last_heading)
        has_percentiles = any(percentile for _, _, percentile, _ in lines)
        if not has_percentiles:
            head = ("", "value", last_heading)
            lines = [(name, value, bar) for name, value, _, bar in lines]
        sentences = map(Paragraph, self.sentences())
        return Document([*sentences, TableBlock(head, lines, left=(0, 1))])

    def _percentile(self, number: int) -> str:
        """Where the row's value stands in its region; empty where that has one or two values."""
        curve = self.curves[number]
        if curve is None or np.isnan(self.percentiles[number]):
            return ""
        levels = self.references.columns[curve.column.position].levels
        if len(levels) <= 2:
            return ""
        return share(self.percentiles[number])

    def _bar(self, contribution: float, largest: float) -> Bar:
        length = 0.0
        if largest > 0:
            length = abs(contribution) / largest
        if length < SHOWN_AS_NOTHING:
            contribution = 0.0
        return Bar(self.unit.signed_effect(contribution, bare=True), length)

    def __repr__(self) -> str:
        numbers = f"prediction {table_number(self.prediction)}, mean of the region {table_number(self.mean)}"
        row = "this row" if self.row is None else f"row {plain(self.row)}"
        return f"<RowExplanation of {row}: region {self.region}, {numbers}>"


def _without_nan(numbers: FloatArray) -> list[float | None]:
    """Numbers as cells of a table, None for those that are not known."""
    cells: list[float | None] = []
    for value in numbers.tolist():
        if np.isnan(value):
            cells.append(None)
        else:
            cells.append(value)
    return cells
