"""Groups of features that should be explained together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import Disagreement, questions
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.notebook import Bar
from granite_xai.base.numbers import ROUNDING, UNKNOWN, share, share_interval
from granite_xai.base.options import choose, whole_number
from granite_xai.base.printable import Printable, TextSummary
from granite_xai.base.text import drawable, wrapped
from granite_xai.document.chart import BLUE, GREY
from granite_xai.document.figure import SMALL, tidy
from granite_xai.estimator import Granite
from granite_xai.fitting.fit import fit
from granite_xai.fitting.opening import collected, open_inputs
from granite_xai.inference.noise import interval_around
from granite_xai.studies.group_search import (
    Group,
    Heterogeneity,
    MeasuredGroups,
    group_name,
    merge_groups,
)
from granite_xai.tables import frame

MAX_SAMPLES = 250
"""Search rows, which choose the groups; as many others are held out to measure them."""


class Merge(NamedTuple):
    """Features that were merged into one group.

    Parameters
    ----------
    features : tuple of str
        The new group.
    left, low, high : float
        Share of the heterogeneity that this merge and those before it leave, with its interval; nan
        where no row was held out.
    """

    features: Group
    left: float
    low: float
    high: float

    @property
    def removed(self) -> float:
        """Share of the heterogeneity that this merge and those before it remove."""
        return 1.0 - self.left

    @property
    def interval(self) -> str:
        """The interval of ``removed`` in words."""
        if math.isnan(self.low):
            return UNKNOWN
        if self.high - self.low < ROUNDING:
            return share(self.removed)
        return share_interval(1.0 - self.high, 1.0 - self.low)


@dataclass(frozen=True, slots=True, repr=False)
class GroupProposal(Printable):
    """Features to explain together, what that removes of the heterogeneity, and why it ends there.

    Attributes
    ----------
    groups : mapping of name to features
        For ``Granite(model, influence="joint", groups=proposal.groups)``.
    merges : tuple of Merge
        In the order in which features were merged.
    reason : str
        Why no further features were merged, and which rows say so.

    Examples
    --------
    >>> merge = Merge(features=("a", "b"), left=0.25, low=0.2, high=0.3)
    >>> print(GroupProposal({"a + b": ("a", "b")}, (merge,), "No other features interact."))
    Explain together: a + b. This removes 75% of the heterogeneity.
    No other features interact.
    <BLANKLINE>
    explained together  heterogeneity removed  interval
    a + b                                 75%    70–80%
    """

    groups: Mapping[str, Group]
    merges: tuple[Merge, ...]
    reason: str

    def frame(self) -> Any:
        """One line for each merge: features, left, low, high."""
        return frame(
            {
                "features": [merge.features for merge in self.merges],
                "left": [merge.left for merge in self.merges],
                "low": [merge.low for merge in self.merges],
                "high": [merge.high for merge in self.merges],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw what each merge removes of the heterogeneity, with its interval.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; None: in a new figure.

        Returns
        -------
        Axes
        """
        if ax is None:
            from matplotlib import pyplot

            size = (5.6, 1.2 + 0.45 * len(self.merges))
            _, ax = pyplot.subplots(figsize=size, layout="constrained")
        tidy(ax)
        for place, merge in enumerate(self.merges):
            ax.barh(place, 100 * merge.removed, height=0.6, color=BLUE)
            interval = [100 * (1 - merge.high), 100 * (1 - merge.low)]  # nan is not drawn
            ax.plot(interval, [place, place], color=GREY)
        names = [wrapped(drawable(group_name(merge.features)), 30, 2) for merge in self.merges]
        ax.set(
            yticks=range(len(names)),
            yticklabels=names,
            xlim=(0, 100),
            xlabel="Heterogeneity removed, %",
        )
        ax.invert_yaxis()
        ax.set_title(self.reason, fontsize=SMALL + 1, loc="left", wrap=True)
        return ax

    @property
    def _finding(self) -> str:
        """The proposal in a sentence."""
        if not self.merges:
            return "No features need to be explained together."
        removed = share(self.merges[-1].removed)
        names = "; ".join(self.groups)
        return f"Explain together: {names}. This removes {removed} of the heterogeneity."

    def _summary(self) -> TextSummary:
        table: list[tuple[object, ...]] = []
        if self.merges:
            table.append(("explained together", "heterogeneity removed", "interval"))
        for merge in self.merges:
            removed = Bar(text=share(merge.removed), fraction=merge.removed)
            table.append((group_name(merge.features), removed, merge.interval))
        return TextSummary(sentences=[self._finding, self.reason], table=table, left=(0,))

    def __repr__(self) -> str:
        return f"<GroupProposal: {', '.join(self.groups) or 'no groups'}>"


def propose_groups(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    question: str | Disagreement = "ice-pdp",
    max_size: int = 3,
) -> GroupProposal:
    """Propose groups of features to explain together.

    Features are merged as long as their joint explanation removes at least 5% of the heterogeneity.

    Parameters
    ----------
    model, X, y
        As in `Granite`.
    question : str or Disagreement
        One whose two explanations are pure and full effects.
    max_size : int
        Features of a group, at most.

    Returns
    -------
    GroupProposal

    Raises
    ------
    InputError
        Of a question whose effects of a group depend on how other features are grouped.

    Examples
    --------
    >>> X = np.random.default_rng(0).integers(-2, 3, size=(200, 3)).astype(float)
    >>> dict(propose_groups(lambda X: X[:, 0] * X[:, 2] + X[:, 1], X).groups)
    {'x0 + x2': ('x0', 'x2')}
    """
    max_size = whole_number("max_size", max_size, at_least=2)
    chosen_question = choose("question", question, questions())
    _require_independent_groups(chosen_question)
    rows = fit_and_part_rows(model, X, y, chosen_question)
    fitted = rows.search.fitted
    if fitted.level is None or fitted.below_noise_floor or fitted.is_chance:
        reason = "These rows show no heterogeneity beyond sampling noise."
        return GroupProposal(groups={}, merges=(), reason=reason)
    return _propose(rows, fitted.level, max_size)


def _propose(rows: RowsOfProposal, level: float, max_size: int) -> GroupProposal:
    """Merge features on the search rows, and measure the merges on the held-out rows where there are some."""
    table = rows.search.rows.table
    normal = NormalDist().inv_cdf((1.0 + level) / 2.0)
    features = [table.names[position] for position in table.explained]
    merged = merge_groups(rows.search, features, max_size, normal)
    if rows.held_out is None:
        measured = rows.search
        quantile = math.nan  # rows that chose the groups give no interval
        basis = "Measured on the search rows; more rows would give an interval."
    else:
        measured = rows.held_out
        measured.measure(chain.from_iterable(merged.stages))
        quantile = normal
        n_rows = len(measured.rows)
        basis = f"{share(level)} intervals from {n_rows:,} held-out rows."
    last_stage = merged.stages[-1]
    return GroupProposal(
        groups={group_name(group): group for group in last_stage if len(group) > 1},
        merges=tuple(_measure_merges(measured, merged.stages, quantile)),
        reason=f"{merged.reason} {basis}",
    )


def _require_independent_groups(question: Disagreement) -> None:
    """Refuse effects of a group that depend on how the other features are grouped."""
    for side in (question.first, question.second):
        if side.interaction.key not in ("pure", "full"):
            raise InputError(
                f"no groups for {question.label!r}: the effects of a group depend on how other "
                "features are grouped.",
                code="P03",
                argument="question",
                hint='For example "ice-pdp", "mplot-pdp" or "sobol".',
            )


class RowsOfProposal(NamedTuple):
    """The rows that choose groups, and others that measure them."""

    search: MeasuredGroups
    held_out: MeasuredGroups | None  # None: there are too few rows to hold some out


def fit_and_part_rows(model: Any, X: Any, y: Any, question: Disagreement) -> RowsOfProposal:
    """Fit a question without regions, and part the rows as that fit does.

    Parameters
    ----------
    model, X, y
        As in `Granite`.
    question : Disagreement
    """
    granite = Granite(model, question, max_depth=0, max_samples=MAX_SAMPLES)
    record = Diagnostics()
    result = fit(granite, X, y, record=record)
    search = MeasuredGroups(result, result.rows)
    positions = record.as_dict()["rows"]["held_out"]  # in the table that the user passed
    if not positions:
        return RowsOfProposal(search=search, held_out=None)
    settings = result.settings
    X, y, *_ = collected(granite, X, y, None, seed=settings.seed)
    every_row = open_inputs(settings, X, y, None, None, Diagnostics()).rows
    held_out = every_row.take(np.flatnonzero(np.isin(every_row.positions, positions)))
    return RowsOfProposal(search=search, held_out=MeasuredGroups(result, held_out))


def _measure_merges(
    measured: MeasuredGroups, stages: list[list[Group]], quantile: float
) -> list[Merge]:
    """What every merge leaves, with an interval by the delta method.

    Parameters
    ----------
    measured : MeasuredGroups
        With all groups.
    stages : list of lists of Group
        As in `MergedGroups`.
    quantile : float
        Standard errors on both sides; nan: no interval.
    """
    whole = measured.total(stages[0])
    merges = []
    for groups, merged_groups in pairwise(stages):
        (new_group,) = set(merged_groups) - set(groups)
        remaining = measured.total(merged_groups)
        share_left = remaining.value / whole.value
        error = _standard_error_of_share(remaining, whole)
        low, high = interval_around(share_left, error, quantile)
        merges.append(Merge(features=new_group, left=share_left, low=low, high=high))
    return merges


def _standard_error_of_share(part: Heterogeneity, whole: Heterogeneity) -> float:
    """Of part / whole: its moves are (dpart - share * dwhole) / whole."""
    moves = (part.moves - part.value / whole.value * whole.moves) / whole.value
    return float(np.sqrt(np.mean(np.square(moves))))
