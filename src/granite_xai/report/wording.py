"""Words and numbers that only the report has: how heterogeneity is told, and the glossary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from granite_xai.base.formats import UNKNOWN, OutputUnit, amount, share
from granite_xai.results.described import Described
from granite_xai.results.finding import FitFinding

MOST_SPLITS = 3  # that a sentence on stability tells one by one
SELDOM = 0.5  # share of searches below which a first split makes the finding tentative
NEARLY_ALL = 0.9  # share described in regions from which on curves tell nearly the whole story
MOST = 0.75  # and most of it

GLOSSARY = (
    (
        "Curve, effect (PDP)",
        ("The average prediction if every row had this value of the feature, all else unchanged."),
    ),
    (
        "A row’s own curve (ICE)",
        ("The same for one row. Where rows’ own curves differ, the average hides it."),
    ),
    ("Interaction", "The effect of one feature depends on the value of another."),
    ("Region", "Rows that satisfy a rule. Its curves are averages over its own rows."),
    (
        "Rows stray (heterogeneity)",
        (
            "The typical (root mean square) distance between single "
            "rows’ curves and the average curve, in units of the prediction. With ±: all features "
            "together; without: along one feature."
        ),
    ),
    (
        "Describes",
        (
            "Share of the variance of the predictions that the curves reproduce: R² against "
            "the model, not against the target."
        ),
    ),
    ("Range", "Highest minus lowest point of a curve, over the values that occur in the region."),
    (
        "Search rows, held-out rows",
        (
            "Regions, curves and means come from the search rows. How well they work is measured on "
            "held-out rows: rows of the same table that were set aside before the search. These "
            "are not the model’s test rows; the model may have been trained on them. Figures are "
            "corrected for what sampling noise alone would show."
        ),
    ),
    (
        "Interval",
        (
            "Where the figure would lie for other rows from the same source, in 95 of 100 "
            "samples, for this model and these regions. A model fitted again may differ by more."
        ),
    ),
    ("Found again", "The search is repeated on random halves of the search rows."),
)
IMPORTANCE_WORDS = (
    (
        "Difference",
        (
            "How far two importances of the same features lie apart: the root of the "
            "summed squared differences."
        ),
    ),
)
STOP_REASONS = {
    "below alpha": "Little heterogeneity is left to split.",
    "no more than chance": "Only sampling noise is left.",
    "no disagreement": "No heterogeneity is left.",
    "split undone": "A further split did not hold up on other rows.",
    "improvement too small": "A further split did not hold up on other rows.",
    "maximum depth": "max_depth is reached.",
    "too few samples": "Too few rows are left.",
}


class Measure(NamedTuple):
    """How the heterogeneity of a question is told.

    Attributes
    ----------
    per_row : bool
        Whether the question has a gap at every row: rows stray; otherwise importances differ.
    is_rooted : bool
        Whether gaps are squared, so that their root is in units of what is compared.
    probability : bool
        Whether the output is a probability, which is told in percentage points.
    unit : str
        Of the output, where it is known.
    """

    per_row: bool
    is_rooted: bool
    probability: bool
    unit: str

    @property
    def noun(self) -> str:
        """The heading of its column."""
        return "rows stray" if self.per_row else "difference"

    @property
    def output(self) -> OutputUnit:
        """How values of the output are told."""
        return OutputUnit(probability=self.probability, unit=self.unit)

    @property
    def unit_text(self) -> str:
        """The unit of effects, for the title of an axis."""
        return self.output.noun

    def root(self, squared_gap: float) -> float:
        """The size of a mean squared gap; slightly negative ones are nothing."""
        if math.isnan(squared_gap):
            return squared_gap
        return math.sqrt(max(squared_gap, 0.0)) if self.is_rooted else max(squared_gap, 0.0)

    def text(self, size: float | None, bare: bool = True) -> str:
        """A size; ``bare``: without its unit, which is said nearby."""
        if size is None or math.isnan(size):
            return UNKNOWN
        if not self.per_row:
            return amount(size)
        if not self.is_rooted:
            return f"±{amount(size)}"
        return self.output.spread(size, bare)

    def level(self, value: float | None) -> str:
        """A value of the output, without its unit."""
        return UNKNOWN if value is None else self.output.level(value, bare=True)

    def effect(self, value: float | None) -> str:
        """A difference of two values, without its unit."""
        return UNKNOWN if value is None else self.output.effect(value, bare=True)


def benefit_heading(described: Described, regions: int) -> str:
    """How much curves tell, as a heading."""
    if regions < 2:
        return f"One curve per feature describes {share(max(described.overall, 0.0))} of the model"
    if described.in_regions >= NEARLY_ALL:
        return "Inside the regions, one curve per feature tells nearly the whole story"
    if described.in_regions >= MOST:
        return "Inside the regions, one curve per feature tells most of the story"
    missed = share(1.0 - max(described.in_regions, 0.0))
    return f"Even in regions, curves miss {missed}"


def basis_text(described: Described) -> str:
    """Which rows the shares are of."""
    if described.rows in ("held-out", "given"):
        kind = "held-out rows" if described.rows == "held-out" else "rows"
        return f"{described.n_rows:,} {kind}"
    if described.rows == "cross-validated":
        return "rows left out in turn (cross-validated)"
    return "the search rows, which also chose the regions"


def stop_text(reason: str | None) -> str:
    """Why a region was not split further."""
    if not reason:
        return "A split was not tried."
    known = STOP_REASONS.get(reason)
    return known or f"{reason[:1].upper()}{reason[1:]}."


def count_words(regions: int) -> str:
    """A small number in words."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[regions] if regions < len(words) else str(regions)


def stability_sentence(splits: Sequence[dict[str, Any]], searches: int) -> str:
    """How often the features of the splits were split again; of many splits, only the first."""
    if len(splits) > MOST_SPLITS:
        root = splits[0]
        instead = f" (otherwise {root['instead']})" if root["instead"] else ""
        return (
            f"Of {searches} searches on half the rows, {root['times']} split on "
            f"{root['feature']} first, as here{instead}. The table has the splits below it."
        )
    parts = []
    for split in splits:
        instead = f" (otherwise {split['instead']})" if split["instead"] else ""
        where = "" if split["rule"] == "all rows" else f" where {split['rule']}"
        parts.append(f"{split['times']} split on {split['feature']}{where} again{instead}")
    *first, last = parts
    listed = f"{', '.join(first)} and {last}" if first else last
    return f"Of {searches} searches on half the rows, {listed}."


def tentative_sentence(splits: Sequence[dict[str, Any]], searches: int) -> str:
    """The doubt that belongs to the finding: the first split seldom comes back; otherwise empty."""
    if not splits or splits[0]["times"] >= SELDOM * searches:
        return ""
    root = splits[0]
    return (
        f"Tentative: the first split, on {root['feature']}, came back in {root['times']} of "
        f"{searches} searches on half the rows."
    )


def glossary(finding: FitFinding, measure: Measure) -> list[dict[str, str]]:
    """Words that a reader may not know, and what they mean."""
    entries = GLOSSARY if measure.per_row else (*GLOSSARY, *IMPORTANCE_WORDS)
    return [{"word": word, "meaning": meaning} for word, meaning in entries]
