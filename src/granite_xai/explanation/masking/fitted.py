"""What the maskings learn from the fitting rows, kept for regions and for new rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.typing import AleColumn, Coalition, FloatArray
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking.accumulated import AleIntervals, fit_intervals
from granite_xai.explanation.masking.bins import BinFunction
from granite_xai.explanation.masking.choice import SamplerChoice
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
    )  # from a masking to the copula it draws from, or weighs rows by

    def joined(self, added: FittedMaskings) -> FittedMaskings:
        """These maskings, and further ones that were learned later."""
        return FittedMaskings(
            bins={**self.bins, **added.bins},
            baselines={**self.baselines, **added.baselines},
            steps={**self.steps, **added.steps},
            copulas={**self.copulas, **added.copulas},
        )

    def bins_of(self, readings: Iterable[Reading], table: Table) -> dict[Reading, Bins]:
        """The bins of some rows, for readings that have bins."""
        return {
            reading: Bins.of(self.bins[reading](table))
            for reading in readings
            if reading in self.bins
        }

    def densities_of(
        self, readings: Iterable[Reading], table: Table
    ) -> dict[Reading, DensityRatios]:
        """Density ratios of some rows, for readings that weigh rows by a copula."""
        everything = frozenset(range(table.n_columns))
        ratios: dict[tuple[Masking, int], DensityRatios] = {}  # shown or hidden, they are the same
        by_reading = {}
        for masking, visible in readings:
            copula = self.copulas.get(masking)
            if copula is None or masking.evaluations({visible}).sampled:
                continue
            column = column_of_ratios(visible, everything)
            if column is None:
                continue
            if (masking, column) not in ratios:
                ratios[masking, column] = copula.density_ratios(table, column)
            by_reading[masking, visible] = ratios[masking, column]
        return by_reading


def column_of_ratios(visible: Coalition, everything: Coalition) -> int | None:
    """The one column that is shown, or else hidden; None: nothing or everything is, or several columns are."""
    if visible == everything or not visible:
        return None
    for side in (visible, everything - visible):
        if len(side) == 1:
            return min(side)
    return None


def fit_maskings(
    readings: Iterable[Reading],
    changes: Iterable[AleColumn],
    table: Table,
    weights: FloatArray,
    random_state: int,
    record: Diagnostics | None = None,
) -> FittedMaskings:
    """Learn the bins, references, copulas and intervals that some readings and changes need.

    Parameters
    ----------
    readings : iterable of (masking, coalition)
        The masked models that are read.
    changes : iterable of AleColumn
        Columns of accumulated effects.
    table : Table
        The fitting rows.
    weights : array of shape (n,)
        Of the rows.
    random_state : int
    record : Diagnostics, optional
        Where choices that the rows make are noted.

    Returns
    -------
    FittedMaskings
    """
    visible: dict[Masking, set[Coalition]] = {}
    for masking, coalition in readings:
        visible.setdefault(masking, set()).add(coalition)
    fitted = FittedMaskings(bins={}, baselines={}, steps={}, copulas={})
    for masking, coalitions in visible.items():
        learned = masking.learn(table, coalitions, weights, random_state)
        for coalition, bins in learned.bins.items():
            fitted.bins[masking, coalition] = bins
        if learned.references is not None:
            fitted.baselines[masking] = learned.references
        if learned.copula is not None:
            fitted.copulas[masking] = learned.copula
        if learned.choice is not None and record is not None:
            _note_choice(record, learned.choice)
    for key in changes:
        intervals = fit_intervals(key, table, weights)
        if intervals is not None:
            fitted.steps[key] = intervals
    return fitted


def _note_choice(record: Diagnostics, choice: SamplerChoice) -> None:
    """Tell which way conditional masking took, and why."""
    record.note(
        "conditional",
        {"sampler": choice.sampler, "reason": choice.reason, "errors": dict(choice.errors)},
    )
    if choice.sampler == "copula":
        ratio = choice.errors["bins"] / choice.errors["copula"] - 1.0
        record.remember(
            "Conditional masking weighs rows by a Gaussian copula: the error of bins in predicting a feature from the "
            f"others is {ratio:.0%} larger. Conditional(sampler='bins') keeps bins."
        )
