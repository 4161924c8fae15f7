"""What the maskings of a fit learn from the fitting rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from granite_xai.base.errors import BinWarning, Diagnostics
from granite_xai.base.typing import AleColumn, Coalition, FloatArray
from granite_xai.evaluations.densities import DensityRatios
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking.accumulated import AleIntervals, fit_intervals
from granite_xai.explanation.masking.bins import BinFunction
from granite_xai.explanation.masking.choice import SamplerChoice, WideBins
from granite_xai.explanation.masking.copula import Copula, column_of_ratios
from granite_xai.explanation.masking.masking import Masking
from granite_xai.tables import Table

Reading = tuple[Masking, Coalition]
"""One masked model that is read: a masking operator and the visible columns."""


@dataclass(frozen=True, slots=True, eq=False)
class FittedMaskings:
    """What maskings learned, the same in all regions and for new rows.

    Parameters
    ----------
    bins : dict of (masking, coalition) to BinFunction
        Of conditional masking.
    baselines : dict of Masking to Table
        The reference rows of a masking.
    steps : dict of AleColumn to AleIntervals
        The intervals of accumulated effects.
    copulas : dict of Masking to Copula
        What a masking weighs rows by.
    """

    bins: dict[Reading, BinFunction]
    baselines: dict[Masking, Table]
    steps: dict[AleColumn, AleIntervals]
    copulas: dict[Masking, Copula] = field(default_factory=dict)

    def joined(self, added: FittedMaskings) -> FittedMaskings:
        """These maskings, and further ones that were learned later."""
        return FittedMaskings(
            bins={**self.bins, **added.bins},
            baselines={**self.baselines, **added.baselines},
            steps={**self.steps, **added.steps},
            copulas={**self.copulas, **added.copulas},
        )

    def bins_of(self, readings: Iterable[Reading], table: Table) -> dict[Reading, Bins]:
        """The bins of the rows of a table, for readings that have bins."""
        bins = {}
        for reading in readings:
            bin_function = self.bins.get(reading)
            if bin_function is not None:
                bins[reading] = Bins.of(bin_function(table))
        return bins

    def densities_of(
        self, readings: Iterable[Reading], table: Table
    ) -> dict[Reading, DensityRatios]:
        """Density ratios of the rows of a table, for readings that weigh rows by a copula."""
        everything = frozenset(range(table.n_columns))
        # A column has the same ratios whether it is shown or hidden.
        ratios: dict[tuple[Masking, int], DensityRatios] = {}
        by_reading = {}
        for masking, visible in readings:
            copula = self.copulas.get(masking)
            column = column_of_ratios(visible, everything)
            if copula is None or column is None:
                continue
            if (masking, column) not in ratios:
                ratios[masking, column] = copula.density_ratios(table, column)
            by_reading[masking, visible] = ratios[masking, column]
        return by_reading


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
    coalitions_of_masking: dict[Masking, set[Coalition]] = {}
    for masking, coalition in readings:
        coalitions_of_masking.setdefault(masking, set()).add(coalition)
    fitted = FittedMaskings(bins={}, baselines={}, steps={}, copulas={})
    for masking, coalitions in coalitions_of_masking.items():
        learned = masking.learn(table, coalitions, weights, random_state)
        for coalition, bins in learned.bins.items():
            fitted.bins[masking, coalition] = bins
        if learned.references is not None:
            fitted.baselines[masking] = learned.references
        if learned.copula is not None:
            fitted.copulas[masking] = learned.copula
        if learned.choice is not None and record is not None:
            _note_choice(record, learned.choice)
        if learned.wide_bins is not None and record is not None:
            record.warn(_too_wide(learned.wide_bins, table), BinWarning)
    for column in changes:
        intervals = fit_intervals(column, table, weights)
        if intervals is not None:
            fitted.steps[column] = intervals
    return fitted


def _note_choice(record: Diagnostics, choice: SamplerChoice) -> None:
    """Note which sampler conditional masking took, and why."""
    record.note(
        "conditional",
        {"sampler": choice.sampler, "reason": choice.reason, "errors": dict(choice.errors)},
    )
    if choice.sampler == "copula":
        excess = choice.errors["bins"] / choice.errors["copula"] - 1.0
        record.remember(
            "Conditional masking weighs rows by a Gaussian copula: the error of bins in predicting a feature from the "
            f"others is {excess:.0%} larger. Conditional(sampler='bins') keeps bins."
        )


def _too_wide(wide: WideBins, table: Table) -> str:
    """What a user should know where bins are too wide (D49)."""
    hidden = table.names[wide.hidden]
    if len(wide.visible) == table.n_columns - 1:
        beside = "the other features"
        factor = wide.by_bins / wide.by_copula
        meaning = f"its conditional importance comes out about {factor:.1f} times as large as it is"
    else:
        beside = table.names[min(wide.visible)]
        meaning = f"effects given {beside} are averaged over too wide a range of {hidden}"
    return (
        f"D49: the bins of conditional masking are too wide for these features: beside {beside} they leave {hidden} "
        f"{wide.by_bins:.1%} of its variance, a Gaussian copula leaves {wide.by_copula:.1%}, so that {meaning}. "
        "gx.Conditional(sampler='copula') does without bins."
    )
