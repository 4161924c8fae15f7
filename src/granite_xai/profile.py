"""Who is in a region and what is special there: traits, means, risk, and its effects in words, against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import BoolArray, FloatArray, IntArray
from granite_xai.base.wording import number, percent, plain, shortened, value
from granite_xai.fit import FitResult
from granite_xai.surrogate import Curve
from granite_xai.tables import Column

CLEAR = 0.15
"""Distance of two distributions (of their cumulated shares, or of the shares of levels) from which a trait is told."""
FLAT = 0.1
"""Share of a curve's way that it may move where it is called flat."""


class Trait(NamedTuple):
    """A column whose values in the region are unlike those of the other rows."""

    column: str
    distance: float
    here: str
    elsewhere: str
    in_rule: bool


class EffectInWords(NamedTuple):
    """What a column does in the region: the size of its effect here and elsewhere, and a sentence."""

    column: str
    size: float
    elsewhere: float
    words: str


class RegionProfile(NamedTuple):
    """A region against all other rows; what is not known is NaN."""

    region: int
    traits: tuple[Trait, ...]
    prediction: tuple[float, float]
    target: tuple[float, float]
    risk: tuple[float, float]
    effects: tuple[EffectInWords, ...]

    def sentences(self, most: int = 3) -> list[str]:
        """The profile in words; what every region could say of itself is left out."""
        told = []
        own = [trait for trait in self.traits if not trait.in_rule and trait.distance >= CLEAR][:most]
        if own:
            who = "; ".join(f"{plain(t.column)} {t.here}, elsewhere {t.elsewhere}" for t in own)
            told.append(f"Besides its rule: {who}.")
        for (here, there), what in ((self.prediction, "Mean prediction"), (self.target, "mean target")):
            if here == here and there == there:
                told.append(f"{what} {number(here)}, elsewhere {number(there)}")
        if self.risk[0] == self.risk[0] and self.risk[1] > 0:
            told.append(f"the model's error is {_times(self.risk[0] / self.risk[1])} elsewhere")
        figures = ", ".join(t for t in told if not t.endswith("."))
        found = [t for t in told if t.endswith(".")] + ([figures[0].upper() + figures[1:] + "."] if figures else [])
        return [*found, *(effect.words for effect in self.effects[:most])]


def profiles(
    fitted: FitResult,
    predictions: FloatArray | None = None,
    target: FloatArray | None = None,
    losses: FloatArray | None = None,
) -> list[RegionProfile]:
    """The profile of every region, from the fitting rows and the curves of the fit."""
    regions, several = fitted.regions, len(fitted.partition) > 1
    sizes = np.array([[_size(curve, fitted, k) for curve in s.curves] for k, s in enumerate(fitted.surrogate.regions)])
    masses = np.bincount(regions, weights=fitted.weights, minlength=len(fitted.partition))
    found = []
    for k, region in enumerate(fitted.partition):
        inside = regions == k
        ruled = {name for name, _ in region.rule.conditions}
        columns = fitted.table.columns if several else ()
        traits = [_trait(column, inside, fitted.weights, column.name in ruled) for column in columns]
        others = np.delete(np.arange(len(masses)), k)
        rest = masses[others] @ sizes[others] / masses[others].sum() if several else np.full(sizes.shape[1], np.nan)
        effects = list(_effects(fitted, k, sizes[k], rest))
        means = (_means(cells, inside, fitted.weights) for cells in (predictions, target, losses))
        ranked = tuple(sorted(traits, key=lambda trait: -trait.distance))
        found.append(RegionProfile(k, ranked, next(means), next(means), next(means), tuple(effects)))
    return found


def _means(cells: FloatArray | None, inside: BoolArray, weights: FloatArray) -> tuple[float, float]:
    if cells is None:
        return np.nan, np.nan
    parts = [(cells[part], weights[part]) for part in (inside, ~inside)]
    here, there = (float(values @ shares / shares.sum()) if len(values) else np.nan for values, shares in parts)
    return here, there


def _trait(column: Column, inside: BoolArray, weights: FloatArray, in_rule: bool) -> Trait:
    """How far the distribution here is from that of all other rows."""
    here, rest = (_shares(column, part, weights) for part in (inside, ~inside))
    ordered = column.kind not in ("nominal", "boolean")
    gap = np.abs(np.cumsum(here - rest)).max() if ordered else np.abs(here - rest).sum() / 2
    return Trait(column.name, float(gap), _typical(column, here), _typical(column, rest), in_rule)


def _shares(column: Column, part: BoolArray, weights: FloatArray) -> FloatArray:
    """Share of each level among some rows, missing values first."""
    counts = np.bincount(column.codes[part] + 1, weights=weights[part], minlength=len(column.levels) + 1)
    return counts / (counts.sum() or 1.0)


def _typical(column: Column, shares: FloatArray) -> str:
    """The middle of the present values and where eight of ten lie; for labels the most frequent one with its share."""
    present = shares[1:] / (shares[1:].sum() or 1.0)
    if not shares[1:].any():
        return "missing"
    if column.kind not in ("numeric", "date"):
        top = int(np.argmax(present))
        return f"{_level(column, top)} ({percent(float(present[top]), 0)})"
    low, middle, high = (int(np.searchsorted(np.cumsum(present), q - 1e-12)) for q in (0.1, 0.5, 0.9))
    ends = f" ({_level(column, low)} to {_level(column, high)})" if low < high else ""
    return f"{_level(column, middle)}{ends}"


def _level(column: Column, code: int) -> str:
    level = column.levels[min(code, len(column.levels) - 1)]
    return value(float(level)) if column.kind == "numeric" else shortened(plain(level), 30)


def _known(curve: Curve, fitted: FitResult, region: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Levels that rows of the region carry, the effect there, and the shares of the rows."""
    rows = np.flatnonzero(fitted.regions == region)
    column = fitted.table.columns[curve.column.position]
    codes = column.codes[rows]
    shares = np.bincount(codes[codes >= 0], weights=fitted.weights[rows][codes >= 0], minlength=len(column.levels))
    levels = np.flatnonzero(shares)
    return levels, curve.effects[1:][levels], shares[levels] / (shares.sum() or 1.0)


def _size(curve: Curve, fitted: FitResult, region: int) -> float:
    """Root mean square of the effect over the rows of the region."""
    _, effects, shares = _known(curve, fitted, region)
    return float(np.sqrt(shares @ np.square(effects - shares @ effects)))


def _effects(fitted: FitResult, region: int, sizes: FloatArray, rest: FloatArray) -> Iterator[EffectInWords]:
    """The strongest columns, those first whose effect is least like that in the other regions."""
    largest = float(np.nanmax([*sizes, *np.nan_to_num(rest)], initial=0.0))
    unlike = sizes * (
        1 + np.abs(np.log((sizes + 1e-300) / (np.where(np.isnan(rest), sizes, rest) + 1e-300))).clip(0, 2)
    )
    for i in np.argsort(-unlike, kind="stable"):
        if sizes[i] <= 0.05 * largest:
            continue
        curve = fitted.surrogate.regions[region].curves[i]
        effects = _known(curve, fitted, region)[1]
        shape, *others = (
            _shape(fitted, k, i) for k in [region, *(k for k in range(len(fitted.partition)) if k != region)]
        )
        if others and {shape, others[0]} == {"it rises", "it falls"} and len(set(others)) == 1:
            shape += f" (elsewhere {others[0]})"
        ratio = "" if np.isnan(rest[i]) or rest[i] <= 0 else f", {_times(sizes[i] / rest[i])} elsewhere"
        name = plain(curve.column.name)
        words = f"{name} moves the prediction by {number(float(np.ptp(effects)))}{ratio}: {shape}."
        yield EffectInWords(curve.column.name, float(sizes[i]), float(rest[i]), words)


def _shape(fitted: FitResult, region: int, i: int) -> str:
    """Where a curve is high and low, whether it rises or falls, and where it is flat."""
    curve = fitted.surrogate.regions[region].curves[i]
    column, (levels, effects, _) = curve.column, _known(curve, fitted, region)
    if not len(levels):
        return "no value is known"
    top, bottom = int(np.argmax(effects)), int(np.argmin(effects))
    ends = f"highest at {_level(column, levels[top])}, lowest at {_level(column, levels[bottom])}"
    if column.kind in ("nominal", "boolean") or len(levels) < 4:
        return ends
    steps = np.diff(effects)
    way = np.cumsum(np.abs(steps)) / (np.abs(steps).sum() or 1.0)
    if abs(float(steps.sum())) > 0.9 * float(np.abs(steps).sum()):
        ends = "it rises" if steps.sum() > 0 else "it falls"
    flat_below, flat_above = int(np.searchsorted(way, FLAT)), int(np.searchsorted(way, 1 - FLAT)) + 1
    if flat_below > len(steps) // 3:
        return f"{ends}, hardly below {_level(column, levels[flat_below])}"
    if flat_above < len(steps) * 2 // 3:
        return f"{ends}, hardly above {_level(column, levels[flat_above])}"
    return ends


def _times(ratio: float) -> str:
    """A ratio as people say it.

    >>> _times(2.04), _times(0.5), _times(1.02), _times(0.31), _times(7.3)
    ('twice as much as', 'half as much as', 'as much as', '0.31 times as much as', '7.3 times as much as')
    """
    named: Sequence[tuple[float, str]] = ((1.0, ""), (2.0, "twice "), (0.5, "half "), (3.0, "three times "))
    word = next((text for known, text in named if abs(ratio / known - 1) < 0.12), None)
    return f"{f'{ratio:.2g} times ' if word is None else word}as much as"
