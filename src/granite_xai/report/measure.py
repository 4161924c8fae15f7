"""How a report writes heterogeneity and effects."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from granite_xai.base.numbers import UNKNOWN, OutputUnit, amount


class Measure(NamedTuple):
    """How the heterogeneity of a question is told.

    Attributes
    ----------
    per_row : bool
        Whether the question has a gap at every row: rows stray; otherwise importances differ.
    is_rooted : bool
        Whether gaps are squared, so that their root is in units of what is compared.
    probability : bool
        Whether the output is a probability, which is told in percentage points.
    unit : str
        Of the output, where it is known.
    """

    per_row: bool
    is_rooted: bool
    probability: bool
    unit: str

    @property
    def noun(self) -> str:
        """The heading of its column."""
        return "rows stray" if self.per_row else "difference"

    @property
    def output(self) -> OutputUnit:
        """How values of the output are told."""
        return OutputUnit(probability=self.probability, unit=self.unit)

    @property
    def unit_text(self) -> str:
        """The unit of effects, for the title of an axis."""
        return self.output.noun

    def root(self, gap: float) -> float:
        """The size of a mean gap, which is its root where gaps are squared.

        Slightly negative gaps, which a correction for sampling noise can leave, are nothing.
        """
        if math.isnan(gap):
            return gap
        size = max(gap, 0.0)
        return math.sqrt(size) if self.is_rooted else size

    def text(self, size: float | None, bare: bool = True) -> str:
        """A size; ``bare``: without its unit, which is said nearby."""
        if size is None or math.isnan(size):
            return UNKNOWN
        if not self.per_row:
            return amount(size)
        if not self.is_rooted:
            return f"±{amount(size)}"
        return self.output.spread(size, bare)

    def level(self, value: float | None) -> str:
        """A value of the output, without its unit."""
        if value is None:
            return UNKNOWN
        return self.output.level(value, bare=True)

    def effect(self, value: float | None) -> str:
        """A difference of two values, without its unit."""
        if value is None:
            return UNKNOWN
        return self.output.effect(value, bare=True)

    def effect_of_feature(self, value: float) -> str:
        """A number of the chart of a feature, without its unit: an effect, or an importance."""
        return self.effect(value) if self.per_row else amount(value)


def measure_of(story: Mapping[str, Any]) -> Measure:
    """How heterogeneity is told in a story."""
    entry = story["measure"]
    return Measure(
        per_row=entry["per_row"],
        is_rooted=entry["is_rooted"],
        probability=entry["probability"],
        unit=entry["unit"],
    )
