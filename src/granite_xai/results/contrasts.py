"""What sets a region apart: its features by how much their curves differ from those of all rows.

The strongest contrast is the heading of the region. There is one comparison only:
with all rows, at the values that occur in the region.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.formats import amount
from granite_xai.base.text import plain, shortened
from granite_xai.results.feature_curves import CurvePair
from granite_xai.results.shapes import FeatureCurve, Shape, shape_of, shapes_differ

STRONGER = 1.3  # ratio of ranges from which a feature is said to matter more
WEAKER = 0.77  # ratio below which it is said to matter less
HARDLY = 0.1  # ratio below which it hardly matters
WEAK = 0.02  # share of the largest range below which a contrast is none
QUIET = 0.25  # share of the spread of all predictions below which they vary far less than overall
SMALLEST_LOGARITHM = 1e-6  # keeps the logarithm of a ratio finite where a curve is constant
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
        Distance of both curves around their means, times how unlike they are: the logarithm of the
        ratio, or 1 where the kinds of shape differ.
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
    def matters_only_here(self) -> bool:
        """Whether the curve is flat overall, but not here."""
        return self.overall_shape.kind == "flat" and self.here_shape.kind != "flat"

    @property
    def hardly_matters(self) -> bool:
        """Whether the curve is flat here, or has less than a tenth of its range."""
        return self.here_shape.kind == "flat" or self.ratio < HARDLY


class Heading(NamedTuple):
    """The heading of a region, and the feature that it is about; empty: no curve is known."""

    text: str
    feature: str


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
    largest = largest_range(varying.values())
    unsorted = [_contrast(name, pair, largest) for name, pair in varying.items()]
    return sorted(unsorted, key=lambda contrast: -contrast.strength)


def largest_range(curves: Iterable[CurvePair]) -> float:
    """The largest range of some curves, here or overall."""
    return max((max(pair.here.range, pair.overall.range) for pair in curves), default=0.0)


def _contrast(feature: str, pair: CurvePair, largest: float) -> Contrast:
    here_shape = shape_of(pair.here, largest)
    overall_shape = shape_of(pair.overall, largest)
    kinds_differ = shapes_differ(here_shape, pair.here, overall_shape, pair.overall)
    floor = SMALLEST_LOGARITHM * largest or 1.0
    ratio = max(pair.here.range, floor) / max(pair.overall.range, floor)
    unlikeness = max(abs(math.log(ratio)), 1.0 if kinds_differ else 0.0)
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
        return Heading("Predictions vary far less here than overall", "")
    if not ranked:
        return Heading("", "")
    largest = max(max(contrast.here.range, contrast.overall.range) for contrast in ranked)
    strongest = ranked[0]
    if strongest.strength < WEAK * largest:
        shown = _most_telling(ranked, main_feature)
        what = shown.here_shape.of_predictions(_named(shown))
        return Heading(f"Much as overall: predictions {what}", shown.feature)
    return Heading(_contrast_words(strongest), strongest.feature)


def _most_telling(ranked: Sequence[Contrast], main_feature: str) -> Contrast:
    """The contrast of the main feature, or that with the largest range."""
    named = [contrast for contrast in ranked if contrast.feature == main_feature]
    return named[0] if named else max(ranked, key=lambda contrast: contrast.here.range)


def _contrast_words(contrast: Contrast) -> str:
    name = _named(contrast)
    if contrast.hardly_matters:
        return f"{name} hardly matters here"
    if contrast.matters_only_here:
        shape = contrast.here_shape.of_predictions(name).removeprefix("are ")
        return f"{name} matters here, unlike overall (predictions {shape})"
    here = f"Predictions {contrast.here_shape.of_predictions(name)}"
    if contrast.kinds_differ:
        return f"{here}; overall they {contrast.overall_shape.of_predictions(name)}"
    if contrast.ratio >= STRONGER:
        return f"{here}, {amount(contrast.ratio)} times as strongly as overall"
    if contrast.ratio <= WEAKER:
        return f"{here}, less strongly than overall"
    return f"{here}, much as overall"


def further_contrasts(ranked: Sequence[Contrast], *, without: str = "") -> str:
    """The next contrasts of a region in a line; empty where there are none.

    Parameters
    ----------
    ranked : sequence of Contrast
        The strongest first.
    without : str
        The feature of the heading.
    """
    ranges = [max(contrast.here.range, contrast.overall.range) for contrast in ranked]
    weak = WEAK * max(ranges, default=0.0)
    further = [c for c in ranked if c.feature != without and c.strength > weak]
    flat = [c for c in further if c.hardly_matters]
    unlike = [c for c in further if not c.hardly_matters and c.kinds_differ]
    alike = [c for c in further if not c.hardly_matters and not c.kinds_differ]
    stronger = [c for c in alike if c.ratio >= STRONGER]
    weaker = [c for c in alike if c.ratio <= WEAKER]
    sentences = []
    if unlike:
        name = _named(unlike[0])
        here = unlike[0].here_shape.of_predictions(name)
        overall = unlike[0].overall_shape.of_predictions(name)
        sentences.append(f"Predictions {here}; overall they {overall}.")
    if stronger:
        texts = [f"{_named(c)} ({amount(c.ratio)} times)" for c in stronger[:MOST_NAMED]]
        sentences.append(f"Stronger effects than overall: {', '.join(texts)}.")
    if weaker:
        texts = [_named(contrast) for contrast in weaker[:MOST_NAMED]]
        sentences.append(f"Weaker effects: {', '.join(texts)}.")
    if flat:
        texts = [_named(contrast) for contrast in flat[:MOST_NAMED]]
        sentences.append(f"Hardly any effect: {', '.join(texts)}.")
    return " ".join(sentences)


def _named(contrast: Contrast) -> str:
    return shortened(plain(contrast.feature))
