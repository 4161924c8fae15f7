"""What the maskings learn from the fitting rows, kept for regions and for new rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from granite_xai.base.typing import AleColumn, Coalition, FloatArray
from granite_xai.explanation.masking.accumulated import AleIntervals, fit_steps
from granite_xai.explanation.masking.bins import BinFunction
from granite_xai.explanation.masking.copula import Copula
from granite_xai.explanation.masking.masking import Masking
from granite_xai.tables import Table

Reading = tuple[
    Masking, Coalition
]  # one masked model that is read: a masking operator and the visible columns


@dataclass(frozen=True, slots=True, eq=False)
class FittedMaskings:
    """Bin functions of conditional masking, reference rows of others, intervals of accumulated effects, copulas."""

    bins: dict[Reading, BinFunction]  # from (masking, coalition) to a bin function
    baselines: dict[Masking, Table]  # from a masking to the table of its reference rows
    steps: dict[AleColumn, AleIntervals]  # from a column and their number to its intervals
    copulas: dict[Masking, Copula] = field(
        default_factory=dict
    )  # from a masking to the copula it draws from


def fit_reference(
    readings: Iterable[Reading],
    changes: Iterable[AleColumn],
    table: Table,
    weights: FloatArray,
    random_state: int,
) -> FittedMaskings:
    """Learn the bins, references and intervals that some readings and changes need."""
    visible: dict[Masking, set[Coalition]] = {}
    for masking, coalition in readings:
        visible.setdefault(masking, set()).add(coalition)
    learned = {
        masking: masking.learn(table, sets, weights, random_state)
        for masking, sets in visible.items()
    }
    return FittedMaskings(
        {
            (masking, coalition): bins
            for masking, own in learned.items()
            for coalition, bins in own.bins.items()
        },
        {masking: own.references for masking, own in learned.items() if own.references is not None},
        {key: found for key in changes if (found := fit_steps(key, table, weights)) is not None},
        {masking: own.copula for masking, own in learned.items() if own.copula is not None},
    )
