"""What a fit knows of itself: how it ended, which features depend on which, what curves describe, reasons to doubt.

Nothing here is English, and nothing asks the model: what has not been computed is not known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from granite_xai.algebra.disagreement import Disagreement
from granite_xai.base.typing import FloatArray
from granite_xai.curves.shared import SharedCurve, SharedCurves
from granite_xai.fitting.fit_result import FitResult
from granite_xai.fitting.remarks import INTERACT, cause
from granite_xai.fitting.stability import SplitStability
from granite_xai.inference.nodes import NodeFigures
from granite_xai.regions import Place, Region, Rule, Vocabulary, vocabulary, walk, word_list
from granite_xai.results.shapes import Shape, distance_apart, shape_of, shapes_differ

QUIET = 0.25  # share of the spread of all predictions below which they vary far less than overall
FLAT = 0.05  # share of the largest range up to which a curve hardly matters
FEW_ROWS = 100  # search rows below which a region is a hint
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
    """

    overall: float
    in_regions: float
    low: float
    high: float
    confidence_level: float
    rows: str
    n_rows: int


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


@dataclass(frozen=True, eq=False)
class FitFacts:
    """A fit as its sentences see it.

    Parameters
    ----------
    fitted : FitResult
    diagnostics : mapping
        Of the same fit.
    """

    fitted: FitResult
    diagnostics: Mapping[str, Any]

    # How it ended -----------------------------------------------------------------------------------

    @cached_property
    def outcome(self) -> Outcome:
        """How the fit ended."""
        if len(self.fitted.partition) > 1:
            return "regions"
        if self.fitted.below_noise_floor:
            return "nothing"
        estimate = self.fitted.estimate
        is_estimate_noise = estimate is not None and math.isnan(estimate.remaining)
        if self.fitted.is_chance or is_estimate_noise:
            return "noise"
        return "no rule"

    @property
    def question(self) -> Disagreement:
        """The first question, which the sentences are about."""
        return self.fitted.questions[0].question

    @property
    def is_effect(self) -> bool:
        """Whether the first question is about effects of features."""
        return is_about_effects(self.question)

    @property
    def figures(self) -> NodeFigures:
        """Figures of the nodes for the first question."""
        return self.fitted.nodes[0]

    @property
    def is_constant(self) -> bool:
        """Whether the model gives every row the same prediction."""
        return self.figures.root.spread == 0

    @property
    def n_search_rows(self) -> int:
        """Rows that searched, also of a fit that was loaded without them."""
        return sum(region.n_samples for region in self.fitted.partition)

    @property
    def n_held_out_rows(self) -> int:
        """Rows of the table that had no say in finding the regions."""
        estimate = self.fitted.estimate
        return estimate.n_rows if estimate is not None and estimate.rows == "held-out" else 0

    @property
    def quiet_regions(self) -> tuple[int, ...]:
        """Regions in which predictions vary far less than overall.

        None where that would be all of them: then regions differ by their level.
        """
        leaves = self.figures.leaves
        bar = QUIET * self.figures.root.spread
        quiet = tuple(leaf.region for leaf in leaves if leaf.spread < bar)
        return quiet if len(quiet) < len(leaves) else ()

    # Doubts -----------------------------------------------------------------------------------------

    @property
    def is_doubtful(self) -> bool:
        """Whether regions were found, and the rows that judge them see no more than sampling noise."""
        estimate = self.fitted.estimate
        return self.outcome == "regions" and estimate is not None and math.isnan(estimate.remaining)

    @property
    def seldom_first_split(self) -> SplitStability | None:
        """The first split, where less than half of the searches on half the rows make it."""
        stability = self.fitted.stability
        if stability is None or not stability.splits:
            return None
        first = stability.splits[0]
        return first if first.count < SELDOM * stability.searches else None

    @property
    def small_regions(self) -> list[Region]:
        """Regions with few search rows; all rows are none."""
        if len(self.fitted.partition) == 1:
            return []
        return [region for region in self.fitted.partition if 0 < region.n_samples < FEW_ROWS]

    @property
    def wavering(self) -> tuple[str, ...]:
        """What the fit warned of a model whose answers jump or waver, so that little stands out from them."""
        warnings = self.diagnostics.get("warnings", ())
        return tuple(text.partition(": ")[2] for text in warnings if text.startswith(WAVERING))

    # Curves -----------------------------------------------------------------------------------------

    @property
    def dividing(self) -> tuple[str, ...]:
        """Features that divide the regions and have one curve."""
        curves = self.curves
        if curves is None:
            return ()
        splits = {name for rule in self.fitted.partition.rules for name, _ in rule.conditions}
        return tuple(label for label in (*curves.same, *curves.hardly) if label in splits)

    @cached_property
    def described(self) -> Described | None:
        """Share of the model that curves describe; None where it has not been computed yet."""
        estimate = self.fitted.estimate
        if estimate is not None and estimate.fidelities.is_computed:
            return Described(
                overall=estimate.global_fidelity,
                in_regions=estimate.fidelity,
                low=estimate.fidelity_low,
                high=estimate.fidelity_high,
                confidence_level=estimate.confidence_level,
                rows=estimate.rows,
                n_rows=estimate.n_rows,
            )
        if estimate is None and self.fitted.shared_curves.is_computed:
            return Described(
                overall=self.fitted.shared_curves.value.global_fidelity,
                in_regions=self.fitted.shared_curves.value.fidelity,
                low=math.nan,
                high=math.nan,
                confidence_level=math.nan,
                rows="fitting",
                n_rows=self.n_search_rows,
            )
        return None

    @cached_property
    def curves(self) -> SharedCurves | None:
        """The curves of one output by a question about effects, where all of them are known."""
        shared = self.fitted.shared_curves
        if not self.is_effect or self.fitted.outputs or not shared.is_computed:
            return None
        return shared.value

    @cached_property
    def flat(self) -> float:
        """The range up to which a curve hardly matters beside the largest; 0 where there are no curves."""
        curves = self.curves or ()
        return FLAT * max((curve.range for curve in curves), default=0.0)

    def shape(self, curve: SharedCurve) -> Shape:
        """What a curve does, beside all others."""
        return shape_of(curve, self.flat)

    def shapes_differ(self, first: SharedCurve, second: SharedCurve) -> bool:
        """Whether two curves of a feature do different things."""
        return shapes_differ(first, second, (self.shape(first), self.shape(second)))

    @cached_property
    def _nodes(self) -> dict[int, tuple[Rule, frozenset[int]]]:
        """Rule of every node, and the regions below it."""
        partition = self.fitted.partition
        if partition.root is None:
            nodes = {0: (Rule(), frozenset(range(len(partition))))}
            for number, rule in enumerate(partition.rules):
                nodes[number + 1] = (rule, frozenset({number}))
            return nodes
        places = list(walk(partition.root))
        regions: dict[int, set[int]] = {place.number: set() for place in places}
        for place in places:
            above: Place | None = place
            while place.region is not None and above is not None:
                regions[above.number].add(place.region)
                above = above.parent
        return {place.number: (place.rule, frozenset(regions[place.number])) for place in places}

    def rule(self, curves: Sequence[SharedCurve]) -> Rule:
        """The rule of the rows that some curves are of; where no node has just these, that of the largest curve."""
        regions = frozenset(region for curve in curves for region in curve.regions)
        for rule, below in self._nodes.values():
            if below == regions:
                return rule
        return self._nodes[max(curves, key=lambda curve: curve.n_rows).node][0]

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """What the words of rules need to know."""
        return vocabulary(self.fitted.partition.rules, self.fitted.table)

    # Dependence -------------------------------------------------------------------------------------

    @cached_property
    def dependence(self) -> Dependence:
        """Whose effects depend on which features; empty where there are no regions."""
        figures = self.figures
        if self.outcome != "regions":
            return Dependence()
        removed_by = _removed_by_splits(figures)
        split_columns = sorted(removed_by, key=lambda column: -float(removed_by[column].sum()))
        sizes = self._sizes_of_differences(figures)
        # An interaction makes both of its features differ: the one whose splits remove most is the moderator.
        others = {name: size for name, size in sizes.items() if name not in split_columns[:1]}
        if any(size > 0 for size in others.values()):
            sizes = others
        largest = max(sizes.values(), default=0.0)
        if largest <= 0:
            return Dependence(moderators=tuple(split_columns), first_split=figures.root.column)
        # Equal sizes differ by rounding: they keep their order.
        ranked = sorted(sizes, key=lambda name: -round(sizes[name] / largest, 9))
        ranked = [name for name in ranked if sizes[name] >= FURTHER_FEATURE * largest]
        moderators = _moderators(figures, ranked[0], removed_by, split_columns)
        # A feature that says where effects differ is not named once more as one that differs.
        features = [name for name in ranked if name not in moderators]
        return Dependence(
            features=tuple(features),
            sizes=tuple(sizes[name] for name in features),
            moderators=tuple(moderators),
            first_split=figures.root.column,
        )

    def _sizes_of_differences(self, figures: NodeFigures) -> dict[str, float]:
        """How far the curves of each feature lie apart; without curves, how far its heterogeneity falls."""
        curves = self.curves
        if curves is None or any(curve.column is None for curve in curves):
            removed = figures.removed.tolist()
            return dict(zip(set_names(figures), removed, strict=True))
        sizes = {}
        for name in curves.differs:
            pairs = combinations(curves.of(name), 2)
            apart = max((distance_apart(first, second) for first, second in pairs), default=0.0)
            sizes[name] = apart if apart > self.flat else 0.0
        return sizes


def set_names(figures: NodeFigures) -> list[str]:
    """Names of the features, groups or pairs that figures are of."""
    return [word_list(members) for members in figures.sets]


def _removed_by_splits(figures: NodeFigures) -> dict[str, FloatArray]:
    """For each feature that is split, the heterogeneity of each set that its splits remove, (n_sets,)."""
    removed_by: dict[str, FloatArray] = {}
    for node in figures.nodes:
        if node.column:
            removed = np.nan_to_num(figures.removed_by_split(node.node))
            removed_by[node.column] = removed + removed_by.get(node.column, 0.0)
    return removed_by


def _moderators(
    figures: NodeFigures,
    main_feature: str,
    removed_by: Mapping[str, FloatArray],
    split_columns: list[str],
) -> list[str]:
    """The features that say where the main feature differs, and the first split in any case."""
    names = set_names(figures)
    # A question about all features together knows nothing of the main one alone.
    main_set = [names.index(main_feature)] if main_feature in names else list(range(len(names)))
    needed = FURTHER_MODERATOR * float(figures.removed[main_set].sum())
    others = [column for column in split_columns if column != main_feature]
    moderators = [column for column in others if removed_by[column][main_set].sum() >= needed]
    if not moderators:
        moderators = others[:1]
    first_split = figures.root.column
    if first_split in others and first_split not in moderators:
        moderators.insert(0, first_split)
    return moderators


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
        of its interval; NaN where a figure is not known.
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
    lines = [] if fitted.estimate is None else fitted.estimate.lines
    for line in lines:
        if line.question == lines[0].question and line.region >= 0:
            for key, end in (("heterogeneity_low", line.low), ("heterogeneity_high", line.high)):
                has_root = figures.is_rooted and not math.isnan(end)
                columns[key][line.region] = math.sqrt(max(end, 0.0)) if has_root else end
    return columns
