"""What sets a region apart: its features by how much their curves differ from those of all rows.

The strongest contrast is the heading of the region. There is one comparison only:
with all rows, at the values that occur in the region.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.numbers import amount
from granite_xai.regions import feature_text
from granite_xai.results.feature_curve import FeatureCurve
from granite_xai.results.region_curves import CurvePair
from granite_xai.results.shapes import Shape, shape_of, shapes_differ

STRONGER = 1.3  # ratio of ranges from which a feature is said to matter more
WEAKER = 0.77  # ratio below which it is said to matter less
HARDLY = 0.1  # ratio below which it hardly matters
WEAK = 0.02  # share of the largest range below which a contrast is none
QUIET = 0.25  # share of the spread of all predictions below which they vary far less than overall
SMALLEST_RANGE = 1e-6  # share of the largest range that stands for 0: ratios of ranges stay finite
ROUNDING = 1e-9  # share of the largest range by which strengths of contrasts are told apart
MOST_NAMED = 3  # features that the line below a heading names, of each sort


class Contrast(NamedTuple):
    """One feature in a region against all rows.

    Attributes
    ----------
    feature : str
    here, overall : FeatureCurve
        At the same values.
    here_shape, overall_shape : Shape
    ratio : float
        Range here, as a multiple of the range overall.
    kinds_differ : bool
        Whether both curves do different things.
    strength : float
        Distance of both curves around their means, times the size of the logarithm of the ratio; times
        1 at least where the curves do different things.
    """

    feature: str
    here: FeatureCurve
    overall: FeatureCurve
    here_shape: Shape
    overall_shape: Shape
    ratio: float
    kinds_differ: bool
    strength: float

    @property
    def name(self) -> str:
        """The feature as people see it."""
        return feature_text(self.feature)

    @property
    def larger_range(self) -> float:
        """The range of the curve here or overall, whichever is larger."""
        return max(self.here.range, self.overall.range)

    @property
    def matters_only_here(self) -> bool:
        """Whether the curve is flat overall, but not here."""
        return self.overall_shape.kind == "flat" and self.here_shape.kind != "flat"

    @property
    def hardly_matters(self) -> bool:
        """Whether the curve is flat here, or has less than a tenth of its range."""
        return self.here_shape.kind == "flat" or self.ratio < HARDLY


class Heading(NamedTuple):
    """The heading of a region."""

    text: str  # empty where no curve is known
    feature: str  # that it is about; empty where it is about none


def is_quiet(spread: float, overall_spread: float) -> bool:
    """Whether predictions of a region vary far less than overall.

    Parameters
    ----------
    spread, overall_spread : float
        Standard deviation of the predictions in the region, and of all predictions.
    """
    return spread < QUIET * overall_spread


def contrasts(curves: Mapping[str, CurvePair]) -> list[Contrast]:
    """All features of a region, the strongest contrast first.

    Parameters
    ----------
    curves : mapping of feature to CurvePair
        As `region_curves` returns them.

    Returns
    -------
    list of Contrast
        Without features that have one value only in the region.
    """
    varying = {name: pair for name, pair in curves.items() if len(pair.here.labels) > 1}
    largest_range = 0.0
    for pair in varying.values():
        largest_range = max(largest_range, pair.here.range, pair.overall.range)
    unsorted = [_contrast(name, pair, largest_range) for name, pair in varying.items()]
    # Among strengths that differ by rounding, the feature with the larger range comes first.
    unit = (largest_range or 1.0) * ROUNDING

    def rank(contrast: Contrast) -> tuple[int, int]:
        return -round(contrast.strength / unit), -round(contrast.here.range / unit)

    return sorted(unsorted, key=rank)


def _contrast(feature: str, pair: CurvePair, largest_range: float) -> Contrast:
    here_shape = shape_of(pair.here, largest_range)
    overall_shape = shape_of(pair.overall, largest_range)
    kinds_differ = shapes_differ(here_shape, pair.here, overall_shape, pair.overall)
    ratio = _ratio_of_ranges(pair, largest_range)
    unlikeness = abs(math.log(ratio))
    if kinds_differ:
        unlikeness = max(unlikeness, 1.0)
    return Contrast(
        feature=feature,
        here=pair.here,
        overall=pair.overall,
        here_shape=here_shape,
        overall_shape=overall_shape,
        ratio=ratio,
        kinds_differ=kinds_differ,
        strength=_distance(pair) * unlikeness,
    )


def _ratio_of_ranges(pair: CurvePair, largest_range: float) -> float:
    """The range here as a multiple of the range overall; 1 where all curves are constant."""
    if largest_range == 0.0:
        return 1.0
    smallest = SMALLEST_RANGE * largest_range
    return max(pair.here.range, smallest) / max(pair.overall.range, smallest)


def _distance(pair: CurvePair) -> float:
    """Root mean square distance of both curves, each around its mean over the region's rows."""
    weights = pair.here.weights
    gap = pair.here.predictions - pair.overall.predictions
    centred = gap - weights @ gap
    return float(np.sqrt(weights @ np.square(centred)))


def heading(ranked: Sequence[Contrast], *, quiet: bool, main_feature: str = "") -> Heading:
    """The strongest contrast of a region in words.

    Parameters
    ----------
    ranked : sequence of Contrast
        The strongest first.
    quiet : bool
        Whether predictions vary far less in the region than overall.
    main_feature : str
        The feature that the finding is about: named where there is no contrast.

    Returns
    -------
    Heading
    """
    if quiet:
        return Heading("Predictions vary far less here than overall", feature="")
    if not ranked:
        return Heading("", feature="")
    strongest = ranked[0]
    if strongest.strength < _weak_strength(ranked):
        named = _main_contrast(ranked, main_feature)
        predicate = named.here_shape.of_predictions(named.name)
        return Heading(f"Much as overall: predictions {predicate}", named.feature)
    return Heading(_contrast_words(strongest), strongest.feature)


def _weak_strength(ranked: Sequence[Contrast]) -> float:
    """Strength up to which a contrast is none."""
    return WEAK * max((contrast.larger_range for contrast in ranked), default=0.0)


def _main_contrast(ranked: Sequence[Contrast], main_feature: str) -> Contrast:
    """The contrast of the main feature; where it has none, that with the largest range here."""
    for contrast in ranked:
        if contrast.feature == main_feature:
            return contrast
    return max(ranked, key=lambda contrast: contrast.here.range)


def _contrast_words(contrast: Contrast) -> str:
    if contrast.hardly_matters:
        return f"{contrast.name} hardly matters here"
    here = contrast.here_shape.of_predictions(contrast.name)
    if contrast.matters_only_here:
        shape = here.removeprefix("are ")
        return f"{contrast.name} matters here, unlike overall (predictions {shape})"
    if contrast.kinds_differ:
        return _both_shapes(contrast)
    if contrast.ratio >= STRONGER:
        return f"Predictions {here}, {amount(contrast.ratio)} times as strongly as overall"
    if contrast.ratio <= WEAKER:
        return f"Predictions {here}, less strongly than overall"
    return f"Predictions {here}, much as overall"


def _both_shapes(contrast: Contrast) -> str:
    """What predictions do along a feature here, and what they do overall."""
    here = contrast.here_shape.of_predictions(contrast.name)
    overall = contrast.overall_shape.of_predictions(contrast.name)
    return f"Predictions {here}; overall they {overall}"


def further_contrasts(ranked: Sequence[Contrast], *, without: str = "") -> str:
    """The next contrasts of a region in a line; empty where there are none.

    Parameters
    ----------
    ranked : sequence of Contrast
        The strongest first.
    without : str
        The feature of the heading.
    """
    weak = _weak_strength(ranked)
    first_unlike = ""
    stronger = []
    weaker = []
    flat = []
    for contrast in ranked:
        if contrast.feature == without or contrast.strength <= weak:
            continue
        if contrast.hardly_matters:
            flat.append(contrast.name)
        elif contrast.kinds_differ:
            first_unlike = first_unlike or f"{_both_shapes(contrast)}."
        elif contrast.ratio >= STRONGER:
            stronger.append(f"{contrast.name} ({amount(contrast.ratio)} times)")
        elif contrast.ratio <= WEAKER:
            weaker.append(contrast.name)
    sentences = [
        first_unlike,
        _listed("Stronger effects than overall", stronger),
        _listed("Weaker effects", weaker),
        _listed("Hardly any effect", flat),
    ]
    return " ".join(sentence for sentence in sentences if sentence)


def _listed(opening: str, texts: Sequence[str]) -> str:
    """A sentence that lists the first few texts; empty where there are none."""
    if not texts:
        return ""
    return f"{opening}: {', '.join(texts[:MOST_NAMED])}."
