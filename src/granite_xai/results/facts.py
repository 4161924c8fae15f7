"""What a fit knows of itself: how it ended, which features depend on which, what curves describe, reasons to doubt.

Nothing here is English, and nothing asks the model: what has not been computed is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import Disagreement
from granite_xai.base.numbers import ShareWithInterval, share, share_with_interval
from granite_xai.base.typing import FloatArray
from granite_xai.curves.shared import SharedCurve, SharedCurves
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.remarks import INTERACT, cause
from granite_xai.fitting.stability import SplitStability
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Rule, Vocabulary, vocabulary, word_list
from granite_xai.results.shapes import Shape, distance_apart, shape_of, shapes_differ

QUIET = 0.25  # share of the spread of all predictions below which they vary far less than overall
FLAT = 0.05  # share of the largest range up to which a curve hardly matters
FEW_ROWS = 100  # search rows below which a region is a hint
LARGE = 0.75  # share described from which one curve per feature is nearly enough, and pairs are not recommended
OTHER_SCALE = (
    0.5  # share of what regions add from which another scale is named that does it without regions
)
SELDOM = 0.5  # share of searches below which a first split makes the regions tentative
WAVERING = ("M09", "N01")  # warnings of models whose answers are not steady
FURTHER_FEATURE = 0.5  # share of the first feature's figure from which a further one is named
FURTHER_MODERATOR = 0.2  # share of the main feature's fall that the splits on a moderator remove

Outcome = Literal["regions", "nothing", "noise", "no rule"]
"""How a fit ended.

Regions were found; there is nothing to explain; nothing beyond sampling noise; rows differ, but no rule says where.
"""


def is_about_effects(question: Disagreement) -> bool:
    """Whether a question is about effects of features (ICE and PDP).

    Their heterogeneity is made by interactions; other questions compare two explanations.
    """
    return question.behavior.key == "local" and cause(question) == INTERACT


def target_name(y: Any) -> str:
    """The name of a target: of a column, or of a series; empty where it has none.

    Parameters
    ----------
    y : str, series or array
        As the user passed it.

    Examples
    --------
    >>> import pandas as pd
    >>> target_name(pd.Series([1, 2], name="cnt")), target_name("cnt"), target_name([1, 2])
    ('cnt', 'cnt', '')
    """
    if isinstance(y, str):
        return y
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else ""


class Described(NamedTuple):
    """Share of the model that curves describe.

    Attributes
    ----------
    overall, in_regions : float
        With one curve per feature, and in regions.
    low, high : float
        Interval of the share in regions; NaN: there is none.
    confidence_level : float
    rows : "held-out", "given", "cross-validated", "fitting"
        What rows these are shares of.
    n_rows : int
    on_other_scale : float
        With one curve per feature on another scale, turned back; NaN: none was looked at.
    other_scale : str
        Its name.
    """

    overall: float
    in_regions: float
    low: float
    high: float
    confidence_level: float
    rows: str
    n_rows: int
    on_other_scale: float = math.nan
    other_scale: str = ""

    @property
    def overall_text(self) -> str:
        """The share with one curve per feature."""
        return share(max(self.overall, 0.0))

    @property
    def in_regions_text(self) -> ShareWithInterval:
        """The share in regions, and its interval, which is empty where there is none."""
        in_regions = max(self.in_regions, 0.0)
        if math.isnan(self.low):
            return ShareWithInterval(share=share(in_regions), interval="")
        return share_with_interval(in_regions, self.low, self.high)

    @property
    def helps_on_other_scale(self) -> bool:
        """Whether one curve per feature on another scale does at least half of what regions add."""
        half = self.overall + OTHER_SCALE * max(self.in_regions - self.overall, 0.0)
        return bool(self.other_scale) and self.on_other_scale > max(half, self.overall)

    @property
    def needs_no_regions_there(self) -> bool:
        """Whether it describes as much there as the regions do, and most of the model."""
        return self.helps_on_other_scale and self.on_other_scale >= max(self.in_regions, LARGE)


class Dependence(NamedTuple):
    """What a tree of regions says about interactions.

    Attributes
    ----------
    features : tuple of str
        Whose effects differ between regions, the largest difference first: the first is the main feature.
    sizes : tuple of float
        How far their curves lie apart; where there are no curves, how far their heterogeneity falls.
    moderators : tuple of str
        The features that say where, by the heterogeneity that their splits remove. The first split is among them, or
        on the main feature.
    first_split : str
        The feature that all rows are split on; empty where there is no tree.
    """

    features: tuple[str, ...] = ()
    sizes: tuple[float, ...] = ()
    moderators: tuple[str, ...] = ()
    first_split: str = ""


class FitFacts:
    """A fit as its sentences see it.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.

    Attributes
    ----------
    question : Disagreement
        The first question, which the sentences are about.
    is_effect : bool
        Whether it is about effects of features.
    figures : NodeFigures
        Of the nodes, for the first question.
    is_constant : bool
        Whether the model gives every row the same prediction.
    n_rows, n_search_rows, n_held_out_rows : int
        Rows of the table; those that searched, also of a fit that was loaded without them; and those that had no say
        in finding the regions.
    outcome : Outcome
    is_doubtful : bool
        Whether regions were found, and the rows that judge them see no more than sampling noise.
    seldom_first_split : SplitStability or None
        The first split, where less than half of the searches on half the rows make it.
    small_regions : list of Region
        Those with few search rows; none where all rows are one region.
    wavering : tuple of str
        What the fit warned of a model whose answers jump or waver, so that little stands out from them.
    quiet_regions : tuple of int
        Regions in which predictions vary far less than overall. None where that would be all of them: then regions
        differ by their level.
    described : Described or None
        Share of the model that curves describe; None where it has not been computed yet.
    curves : SharedCurves or None
        Of one output by a question about effects, where all of them are known.
    flat : float
        The range up to which a curve hardly matters beside the largest; 0 where there are no curves.
    dividing : tuple of str
        Features that divide the regions and have one curve.
    dependence : Dependence
        Whose effects depend on which features; empty where there are no regions.
    vocabulary : mapping
        What the words of rules need to know.
    places : sequence of Place
        The nodes of the tree, parents first; of regions without a tree all rows, then every region.
    shape : callable
        What a curve does, beside all others.
    """

    def __init__(self, fitted: FitResult, diagnostics: Mapping[str, Any]) -> None:
        self.fitted = fitted
        self.diagnostics = diagnostics
        partition = fitted.partition
        estimate = fitted.estimate
        self.question = fitted.questions[0].question
        self.is_effect = is_about_effects(self.question)
        self.figures = fitted.nodes[0]
        self.is_constant = self.figures.root.spread == 0
        self.n_search_rows = sum(region.n_samples for region in partition)
        self.n_rows = int(diagnostics.get("plan", {}).get("available", self.n_search_rows))
        self.n_held_out_rows = 0
        if estimate is not None and estimate.rows == "held-out":
            self.n_held_out_rows = estimate.n_rows

        is_noise_elsewhere = estimate is not None and math.isnan(estimate.remaining)
        self.is_doubtful = len(partition) > 1 and is_noise_elsewhere
        self.outcome: Outcome = "no rule"
        if len(partition) > 1:
            self.outcome = "regions"
        elif fitted.below_noise_floor:
            self.outcome = "nothing"
        elif fitted.is_chance or is_noise_elsewhere:
            self.outcome = "noise"

        self.seldom_first_split: SplitStability | None = None
        stability = fitted.stability
        if stability is not None and stability.splits:
            first = stability.splits[0]
            if first.count < SELDOM * stability.searches:
                self.seldom_first_split = first
        self.small_regions = [region for region in partition if 0 < region.n_samples < FEW_ROWS]
        if len(partition) == 1:
            self.small_regions = []
        warnings = diagnostics.get("warnings", ())
        self.wavering = tuple(
            text.partition(": ")[2] for text in warnings if text.startswith(WAVERING)
        )
        leaves = self.figures.leaves
        bar = QUIET * self.figures.root.spread
        quiet_regions = tuple(leaf.region for leaf in leaves if leaf.spread < bar)
        self.quiet_regions = quiet_regions if len(quiet_regions) < len(leaves) else ()

        self.described = _described(fitted, self.n_search_rows)
        self.curves: SharedCurves | None = None
        self.flat = 0.0
        self.dividing: tuple[str, ...] = ()
        if self.is_effect and not fitted.outputs and fitted.shared_curves.is_computed:
            curves = fitted.shared_curves.value
            self.curves = curves
            self.flat = FLAT * max(curve.range for curve in curves)
            splits = {name for rule in partition.rules for name, _ in rule.conditions}
            self.dividing = tuple(
                label for label in (*curves.same, *curves.hardly) if label in splits
            )
        self.dependence = Dependence()
        if self.outcome == "regions":
            self.dependence = dependence_of(self.figures, self.curves, self.flat)
        self.vocabulary: Vocabulary = vocabulary(partition.rules, fitted.table)
        self.places = partition.places
        self.shape: Callable[[SharedCurve], Shape] = cache(partial(shape_of, flat=self.flat))

    def shapes_differ(self, first: SharedCurve, second: SharedCurve) -> bool:
        """Whether two curves of a feature do different things."""
        return shapes_differ(first, second, (self.shape(first), self.shape(second)))

    def rule(self, curves: Sequence[SharedCurve]) -> Rule:
        """The rule of the rows that some curves are of; where no node has just these, that of the largest curve."""
        regions = {region for curve in curves for region in curve.regions}
        for place in self.places:
            if set(place.regions) == regions:
                return place.rule
        return self.places[max(curves, key=lambda curve: curve.n_rows).node].rule


def _described(fitted: FitResult, n_search_rows: int) -> Described | None:
    estimate = fitted.estimate
    if estimate is not None and estimate.fidelities.is_computed:
        return Described(
            overall=estimate.global_fidelity,
            in_regions=estimate.fidelity,
            low=estimate.fidelity_low,
            high=estimate.fidelity_high,
            confidence_level=estimate.confidence_level,
            rows=estimate.rows,
            n_rows=estimate.n_rows,
            on_other_scale=estimate.fidelities.value.on_other_scale.value,
            other_scale=estimate.fidelities.value.other_scale,
        )
    if estimate is None and fitted.shared_curves.is_computed:
        return Described(
            overall=fitted.shared_curves.value.global_fidelity,
            in_regions=fitted.shared_curves.value.fidelity,
            low=math.nan,
            high=math.nan,
            confidence_level=math.nan,
            rows="fitting",
            n_rows=n_search_rows,
        )
    return None


# Dependence -------------------------------------------------------------------------------------------


def dependence_of(
    figures: NodeFigures, curves: SharedCurves | None = None, flat: float = 0.0
) -> Dependence:
    """Whose effects depend on which features, from a tree with its figures and the curves of its regions.

    Parameters
    ----------
    figures : NodeFigures
    curves : SharedCurves, optional
        None: they are not known; then the fall of heterogeneity tells how much features differ.
    flat : float
        The range up to which a difference of curves is none.
    """
    removed_by: dict[str, FloatArray] = {}  # by each feature that is split, of every set
    for node in figures.nodes:
        if node.column:
            removed = np.nan_to_num(figures.removed_by_split(node.node))
            removed_by[node.column] = removed + removed_by.get(node.column, 0.0)
    split_columns = sorted(removed_by, key=lambda column: -float(removed_by[column].sum()))
    first_split = figures.root.column
    names = [word_list(members) for members in figures.sets]
    sizes = dict(zip(names, figures.removed.tolist(), strict=True))
    if curves is not None and all(curve.column is not None for curve in curves):
        sizes = {}
        for name in curves.differs:
            pairs = combinations(curves.of(name), 2)
            apart = max((distance_apart(first, second) for first, second in pairs), default=0.0)
            sizes[name] = apart if apart > flat else 0.0
    # An interaction makes both of its features differ: the one whose splits remove most is the moderator.
    others = {name: size for name, size in sizes.items() if name not in split_columns[:1]}
    if any(size > 0 for size in others.values()):
        sizes = others
    largest = max(sizes.values(), default=0.0)
    if largest <= 0:
        return Dependence(moderators=tuple(split_columns), first_split=first_split)
    # Equal sizes differ by rounding: they keep their order.
    ranked = sorted(sizes, key=lambda name: -round(sizes[name] / largest, 9))
    ranked = [name for name in ranked if sizes[name] >= FURTHER_FEATURE * largest]

    # The features that say where the main feature differs, and the first split in any case. A question about all
    # features together knows nothing of the main one alone.
    main_feature = ranked[0]
    main_set = [names.index(main_feature)] if main_feature in names else list(range(len(names)))
    needed = FURTHER_MODERATOR * float(figures.removed[main_set].sum())
    candidates = [column for column in split_columns if column != main_feature]
    moderators = [column for column in candidates if removed_by[column][main_set].sum() >= needed]
    moderators = moderators or candidates[:1]
    if first_split in candidates and first_split not in moderators:
        moderators.insert(0, first_split)
    # A feature that says where effects differ is not named once more as one that differs.
    features = [name for name in ranked if name not in moderators]
    return Dependence(
        features=tuple(features),
        sizes=tuple(sizes[name] for name in features),
        moderators=tuple(moderators),
        first_split=first_split,
    )


# Figures of regions -----------------------------------------------------------------------------------


def region_columns(fitted: FitResult) -> dict[str, list[Any]]:
    """Figures of the regions by column, for a frame; without their rules and names.

    Parameters
    ----------
    fitted : FitResult

    Returns
    -------
    dict of str to list
        mean_prediction, heterogeneity_overall (before: on all rows), heterogeneity (inside the region), with the ends
        of its interval; where the fit was given y, the error of the model by its name, with its interval, and bias. NaN
        where a figure is not known.
    """
    figures = fitted.nodes[0]
    n_regions = len(fitted.partition)
    columns = {
        "mean_prediction": [leaf.mean for leaf in figures.leaves],
        "heterogeneity_overall": [figures.root.heterogeneity] * n_regions,
        "heterogeneity": [leaf.heterogeneity for leaf in figures.leaves],
        "heterogeneity_low": [math.nan] * n_regions,
        "heterogeneity_high": [math.nan] * n_regions,
    }
    errors = fitted.errors
    if errors is not None and not fitted.outputs:
        columns[errors.measure] = [figure.value for figure in errors.of_regions]
        columns[f"{errors.measure}_low"] = [figure.low for figure in errors.of_regions]
        columns[f"{errors.measure}_high"] = [figure.high for figure in errors.of_regions]
        columns["bias"] = [figure.bias for figure in errors.of_regions]
    lines = [] if fitted.estimate is None else fitted.estimate.lines
    for line in lines:
        if line.question == lines[0].question and line.region >= 0:
            for key, end in (("heterogeneity_low", line.low), ("heterogeneity_high", line.high)):
                has_root = figures.is_rooted and not math.isnan(end)
                columns[key][line.region] = math.sqrt(max(end, 0.0)) if has_root else end
    return columns
