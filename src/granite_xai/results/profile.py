"""Who is in a region and what is special there: traits, means, risk, and its effects in words, against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.text import plain, shortened
from granite_xai.base.typing import BoolArray, FloatArray
from granite_xai.base.wording import number, percent, value
from granite_xai.fitting.fit_result import FitResult
from granite_xai.surrogate.curves import Curve
from granite_xai.tables import Column

CLEAR, FLAT, SLIGHT = 0.15, 0.1, 0.05
"""Distance from which a trait is told; share of a curve's way that is flat; of the largest effect that is not told."""


class Trait(NamedTuple):
    """A column whose values in the region are unlike those of the other rows: the largest gap of cumulated shares."""

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
        own = [trait for trait in self.traits if not trait.in_rule and trait.distance >= CLEAR][
            :most
        ]
        who = "; ".join(f"{plain(t.column)} {t.here}, elsewhere {t.elsewhere}" for t in own)
        means = {"mean prediction": self.prediction, "mean target": self.target}
        told = [
            f"{name} {number(a)}, elsewhere {number(b)}"
            for name, (a, b) in means.items()
            if not np.isnan(a + b)
        ]
        if self.risk[0] == self.risk[0] and self.risk[1] > 1e-20 * np.square(
            np.max(np.abs(self.prediction))
        ):
            told.append(f"the model's error is {_times(self.risk[0] / self.risk[1])} elsewhere")
        found = [f"Besides its rule: {who}" if who else "", ", ".join(told)]
        return [
            *(f"{f[0].upper()}{f[1:]}." for f in found if f),
            *(effect.words for effect in self.effects[:most]),
        ]


def profiles(fitted: FitResult, *by_row: FloatArray | None) -> list[RegionProfile]:
    """The profile of every region; ``by_row``: predictions, target and losses of the fitting rows, where known."""
    weights, count, found = fitted.weights, len(fitted.partition), []
    curves = [region.curves for region in fitted.additive.value.surrogate.regions]
    shapes = [[Shape.of(fitted, k, curve) for curve in own] for k, own in enumerate(curves)]
    for k, region in enumerate(fitted.partition):
        parts = fitted.regions == k, fitted.regions != k
        ruled = {name for name, _ in region.rule.conditions}
        columns = fitted.table.columns if count > 1 else ()
        traits = [_trait(column, parts, weights, column.name in ruled) for column in columns]
        means = [_means(cells, parts, weights) for cells in (*by_row, None, None, None)[:3]]
        ranked = tuple(sorted(traits, key=lambda trait: -trait.distance))
        masses = np.bincount(fitted.regions, weights=weights, minlength=count).astype(np.float64)
        found.append(RegionProfile._make((k, ranked, *means, tuple(_effects(shapes, k, masses)))))
    return found


def _means(
    cells: FloatArray | None, parts: Sequence[BoolArray], weights: FloatArray
) -> tuple[float, float]:
    known = [
        np.nan if cells is None or not p.any() else np.average(cells[p], weights=weights[p])
        for p in parts
    ]
    return float(known[0]), float(known[1])


def _trait(column: Column, parts: Sequence[BoolArray], weights: FloatArray, in_rule: bool) -> Trait:
    """How far the distribution of the levels (missing values first) here is from that of all other rows."""
    levels = range(len(column.levels) + 2)
    here, rest = (
        np.histogram(column.codes[p] + 1, levels, weights=weights[p])[0] / weights[p].sum()
        for p in parts
    )
    labels = column.kind in ("nominal", "boolean")
    gap = np.abs(here - rest).sum() / 2 if labels else np.abs(np.cumsum(here - rest)).max()
    return Trait(
        column.name, float(gap), _typical(column, here[1:]), _typical(column, rest[1:]), in_rule
    )


def _typical(column: Column, shares: FloatArray) -> str:
    """The middle of the present values and where eight of ten lie; for labels the most frequent one with its share."""
    if not shares.any():
        return "missing"
    below, texts = (
        np.cumsum(shares) / shares.sum(),
        [level_text(column, level) for level in column.levels],
    )
    if column.kind not in ("numeric", "date"):
        top = int(np.argmax(shares))
        return f"{texts[top]} ({percent(float(shares[top] / shares.sum()), 0)})"
    low, middle, high = (
        texts[min(int(np.searchsorted(below, q - 1e-12)), len(texts) - 1)] for q in (0.1, 0.5, 0.9)
    )
    return middle + (f" ({low} to {high})" if low != high else "")


def level_text(column: Column, level: Any) -> str:
    """A value of a column as a person would write it."""
    return value(float(level)) if column.kind == "numeric" else shortened(plain(level), 40)


class Shape(NamedTuple):
    """A curve where rows of its region are: the levels that they carry, the effect there, and its size."""

    column: Column
    levels: list[str]
    effects: FloatArray
    size: float

    @classmethod
    def of(cls, fitted: FitResult, region: int, curve: Curve) -> Shape:
        """The curve of a column in a region."""
        column, inside = fitted.table.columns[curve.column.position], fitted.regions == region
        codes, weights = column.codes[inside], fitted.weights[inside]
        masses = np.bincount(codes + 1, weights=weights, minlength=len(column.levels) + 1)[1:]
        there = np.flatnonzero(masses)
        effects, shares = curve.effects[1:][there], masses[there] / (masses.sum() or 1.0)
        size = float(np.sqrt(shares @ np.square(effects - shares @ effects)))
        return cls(
            column, [level_text(column, level) for level in column.levels[there]], effects, size
        )

    @property
    def words(self) -> str:
        """Where it is high and low, whether it rises or falls, and where it is flat."""
        texts, steps = self.levels, np.diff(self.effects)
        if not texts:
            return "no value is known"
        told = f"highest at {texts[int(np.argmax(self.effects))]}, lowest at {texts[int(np.argmin(self.effects))]}"
        if self.column.kind in ("nominal", "boolean") or len(texts) < 4:
            return told
        way = np.append(0.0, np.cumsum(np.abs(steps)))
        if abs(steps.sum()) > 0.9 * way[-1]:
            told = "it rises" if steps.sum() > 0 else "it falls"
        below, above = (
            int(np.searchsorted(way[1:], share * way[-1])) for share in (FLAT, 1 - FLAT)
        )
        if below > len(steps) // 3:
            return f"{told}, hardly below {texts[below]}"
        return (
            f"{told}, hardly above {texts[above + 1]}" if above + 1 < len(steps) * 2 // 3 else told
        )


def _effects(
    shapes: Sequence[Sequence[Shape]], region: int, masses: FloatArray
) -> Iterator[EffectInWords]:
    """The strongest columns, those first whose effect is least like that in the other regions."""
    sizes, others = (
        np.array([[each.size for each in line] for line in shapes]),
        np.arange(len(shapes)) != region,
    )
    rest = (
        np.average(sizes[others], axis=0, weights=masses[others])
        if others.any()
        else np.nan * sizes[0]
    )
    ratios = sizes[region] / np.where(rest > 0, rest, sizes[region] + 1e-300)
    unlike = sizes[region] * (1 + np.abs(np.log(ratios + 1e-300)).clip(0, 2))
    largest = np.nanmax([sizes[region], rest], initial=0.0)
    for i in (i for i in np.argsort(-unlike, kind="stable") if sizes[region, i] > SLIGHT * largest):
        own, there = (
            shapes[region][i],
            {line[i].words for k, line in enumerate(shapes) if k != region},
        )
        turned = len(there) == 1 and {own.words, *there} == {"it rises", "it falls"}
        told = f"{own.words} (elsewhere {there.pop()})" if turned else own.words
        ratio = f", {_times(ratios[i])} elsewhere" if rest[i] > 0 else ""
        moves = f"{plain(own.column.name)} moves the prediction by {number(float(np.ptp(own.effects)))}{ratio}"
        yield EffectInWords(own.column.name, own.size, float(rest[i]), f"{moves}: {told}.")


def _times(ratio: float) -> str:
    """A ratio as people say it."""
    named = {1.0: "", 2.0: "twice ", 0.5: "half ", 3.0: "three times "}
    word = next(
        (text for known, text in named.items() if abs(ratio / known - 1) < 0.12),
        f"{ratio:.2g} times ",
    )
    return f"{word}as much as"
