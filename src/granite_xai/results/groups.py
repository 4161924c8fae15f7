"""Which features should be explained together.

Groups are merged two at a time while that removes heterogeneity: docs/method.rst, "Which features to explain
together".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import granite_xai
from granite_xai.algebra.disagreement import Disagreement, questions
from granite_xai.algebra.influence import Joint
from granite_xai.base.document import Bar, Document, Paragraph, Printable, Table
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.numbers import ROUNDING, UNKNOWN, share, share_interval
from granite_xai.base.options import choose, whole_number
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import drawable, wrapped
from granite_xai.base.typing import FloatArray
from granite_xai.document.chart import BLUE, GREY
from granite_xai.fitting.fit import fit
from granite_xai.fitting.fit_result import FitResult, plan_about
from granite_xai.fitting.plan import effects_of
from granite_xai.fitting.settings import Settings, open_inputs
from granite_xai.inference.noise import Signs, interval_around, noise_of
from granite_xai.tables import Rows, frame

MAX_SAMPLES = (
    250  # search rows, which choose the groups; as many others are held out to measure them
)
SMALLEST_GAIN = 0.05  # share of the heterogeneity that a merge must remove

Group = tuple[str, ...]
"""Names of features that are explained together; a single feature is a group of one."""


def _named(group: Group) -> str:
    """What a group is called: its features, joined by plus signs."""
    return " + ".join(group)


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
            {name: [getattr(merge, name) for merge in self.merges] for name in Merge._fields}
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
        for place, merge in enumerate(self.merges):
            ax.barh(place, 100 * merge.removed, height=0.6, color=BLUE)
            interval = [100 * (1 - merge.high), 100 * (1 - merge.low)]  # nan is not drawn
            ax.plot(interval, [place, place], color=GREY)
        names = [wrapped(drawable(_named(merge.features)), 30, 2) for merge in self.merges]
        ax.set(
            yticks=range(len(names)),
            yticklabels=names,
            xlim=(0, 100),
            xlabel="Heterogeneity removed, %",
        )
        ax.invert_yaxis()
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(self.reason, fontsize="small", loc="left", wrap=True)
        return ax

    def _document(self) -> Document:
        if not self.merges:
            finding = "No features need to be explained together."
            return Document([Paragraph(finding), Paragraph(self.reason)])
        removed = share(self.merges[-1].removed)
        names = "; ".join(self.groups)
        finding = f"Explain together: {names}. This removes {removed} of the heterogeneity."
        rows = []
        for merge in self.merges:
            bar = Bar(text=share(merge.removed), fraction=merge.removed)
            rows.append((_named(merge.features), bar, merge.interval))
        head = ("explained together", "heterogeneity removed", "interval")
        return Document([Paragraph(finding), Paragraph(self.reason), Table(head, rows, left=(0,))])

    def __repr__(self) -> str:
        return f"<GroupProposal: {', '.join(self.groups) or 'no groups'}>"


@dataclass(frozen=True, slots=True)
class _Measured:
    """Rows of a fit without regions, and the heterogeneity of every group that was asked about on them.

    Parameters
    ----------
    fitted : FitResult
    rows : Rows
        They may be others than those of the fit.
    by_group : dict
        What was measured: the heterogeneity without what sampling noise adds, then its slope along each vector of
        signs, (1 + P,); the root mean square of the slopes is its standard error.
    """

    fitted: FitResult
    rows: Rows
    by_group: dict[Group, FloatArray] = field(default_factory=dict)

    def total(self, groups: Iterable[Group]) -> FloatArray:
        """Heterogeneity and slopes of some groups, added up, (1 + P,); the model is asked about new ones."""
        return np.asarray(np.sum([self._of(group) for group in groups], axis=0))

    def _of(self, group: Group) -> FloatArray:
        if group not in self.by_group:
            settings = self.fitted.settings
            explained_jointly = Joint({_named(group): group}, [_named(group)])
            question = self.fitted.questions[0].question.with_influence(explained_jointly)
            resolved = question.resolve(
                self.rows.table,
                is_probability=self.fitted.model.is_probability,
                is_survival=self.fitted.model.is_survival,
                max_evaluations=settings.resources.max_evaluations,
                seed=settings.seed,
            )
            sample = plan_about(self.fitted, effects_of([resolved])).ask(self.rows)
            with one_blas_thread():
                signs = Signs.drawn(self.rows.clusters, settings.seed)
                noise = noise_of(resolved, sample.outputs[0], signs)
            self.by_group[group] = np.append(noise.corrected, noise.slopes)
        return self.by_group[group]


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
    chosen = choose("question", question, questions())
    for side in (chosen.first, chosen.second):
        if side.interaction.key not in ("pure", "full"):
            raise InputError(
                f"no groups for {chosen.label!r}: the effects of a group depend on how other "
                "features are grouped.",
                code="P03",
                argument="question",
                hint='For example "ice-pdp", "mplot-pdp" or "sobol".',
            )
    search, held_out = _fit_and_part_rows(model, X, y, chosen)
    fitted = search.fitted
    if fitted.level is None or fitted.below_noise_floor or fitted.is_chance:
        reason = "These rows show no heterogeneity beyond sampling noise."
        return GroupProposal(groups={}, merges=(), reason=reason)
    quantile = NormalDist().inv_cdf((1.0 + fitted.level) / 2.0)
    names = fitted.table.names
    stages, reason = _merge_groups(
        search, [names[position] for position in fitted.table.explained], max_size, quantile
    )
    if held_out is None:
        # Rows that chose the groups give no interval.
        merges = _measured_merges(search, stages, math.nan)
        basis = "Measured on the search rows; more rows would give an interval."
    else:
        merges = _measured_merges(held_out, stages, quantile)
        basis = f"{share(fitted.level)} intervals from {len(held_out.rows):,} held-out rows."
    return GroupProposal(
        groups={_named(group): group for group in stages[-1] if len(group) > 1},
        merges=merges,
        reason=f"{reason} {basis}",
    )


def _fit_and_part_rows(
    model: Any, X: Any, y: Any, question: Disagreement
) -> tuple[_Measured, _Measured | None]:
    """Fit a question without regions; the rows that choose groups, and the held-out ones, which measure them.

    None: there are too few rows to hold some out.
    """
    g = granite_xai.Granite(model, question, max_depth=0, max_samples=MAX_SAMPLES)
    record = Diagnostics()
    settings = Settings.of(g)
    result = fit(settings, X, y, record=record)
    search = _Measured(result, result.rows)
    positions = record.as_dict()["rows"]["held_out"]  # in the table that the user passed
    if not positions:
        return search, None
    every_row = open_inputs(settings, X, y, None, None, Diagnostics()).rows
    held_out = every_row.take(np.flatnonzero(np.isin(every_row.positions, positions)))
    return search, _Measured(result, held_out)


def _merge_groups(
    measured: _Measured, features: Iterable[str], max_size: int, quantile: float
) -> tuple[list[list[Group]], str]:
    """Merge the two groups whose joint explanation removes most, as long as that is enough.

    Enough is 5% of the heterogeneity of all features, and more than sampling noise.

    Parameters
    ----------
    measured : _Measured
        On the rows that decide.
    features : iterable of str
    max_size : int
        Features of a group, at most.
    quantile : float
        Standard errors that a removal must exceed.

    Returns
    -------
    stages : list of lists of Group
        All groups at the beginning, where each holds one feature, and after every merge.
    reason : str
        Why there is no further merge, as a sentence.
    """
    groups: list[Group] = [(feature,) for feature in features]
    stages = [groups]
    smallest_gain = SMALLEST_GAIN * measured.total(groups)[0]
    while True:
        removed = {}  # what merging two groups removes, for those that have enough to remove
        for first, second in combinations(groups, 2):
            parted = measured.total([first, second])
            if len(first) + len(second) <= max_size and parted[0] >= smallest_gain:
                removed[first, second] = parted - measured.total([first + second])
        if not removed:
            return stages, f"No further features can be merged into groups of at most {max_size}."
        pair = max(removed, key=lambda pair: removed[pair][0])
        merged = pair[0] + pair[1]
        gain, *slopes = removed[pair]
        if gain < max(smallest_gain, quantile * _root_mean_square(slopes)):
            limit = f"less than {share(SMALLEST_GAIN)}"
            if gain >= smallest_gain:
                limit = "no more than sampling noise"
            return stages, f"Merging {_named(merged)} would remove {limit}."
        groups = [group for group in groups if group not in pair] + [merged]
        stages.append(groups)


def _measured_merges(
    measured: _Measured, stages: Sequence[Sequence[Group]], quantile: float
) -> tuple[Merge, ...]:
    """What every merge leaves, with an interval by the delta method.

    Parameters
    ----------
    measured : _Measured
    stages : sequence of sequences of Group
        As of `_merge_groups`.
    quantile : float
        Standard errors on both sides; nan: no interval.
    """
    whole = measured.total(stages[0])
    merges = []
    for groups, merged_groups in pairwise(stages):
        (new_group,) = set(merged_groups) - set(groups)
        left = measured.total(merged_groups)
        share_left = left[0] / whole[0]
        # A share moves with every vector of signs by (dpart - share * dwhole) / whole.
        error = _root_mean_square((left[1:] - share_left * whole[1:]) / whole[0])
        merges.append(Merge(new_group, share_left, *interval_around(share_left, error, quantile)))
    return tuple(merges)


def _root_mean_square(slopes: Any) -> float:
    """A standard error from slopes along vectors of signs."""
    return float(np.sqrt(np.mean(np.square(slopes))))
