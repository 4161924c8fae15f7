"""Sentences and words that only the report has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.base.numbers import share
from granite_xai.base.text import ALL_ROWS
from granite_xai.report.measure import Measure
from granite_xai.results.described import Described

MOST_SPLITS = 3  # that a sentence on stability tells one by one
NEARLY_ALL = 0.95  # share described in regions from which on curves tell nearly the whole story
LARGE_PART = 0.75  # share from which on they tell most of it
SMALL_NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
)

GLOSSARY = (
    (
        "Curve, effect (PDP)",
        "The average prediction if every row had this value of the feature, all else unchanged.",
    ),
    (
        "A row’s own curve (ICE)",
        "The same for one row. Where rows’ own curves differ, the average hides it.",
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


def benefit_heading(described: Described, n_regions: int) -> str:
    """How much of the model curves describe, as a heading.

    Parameters
    ----------
    described : Described
        Shares that curves describe, overall and in regions.
    n_regions : int
    """
    if n_regions < 2:
        return f"One curve per feature describes {share(max(described.overall, 0.0))} of the model"
    if described.in_regions >= NEARLY_ALL:
        return "Inside the regions, one curve per feature tells nearly the whole story"
    if described.in_regions >= LARGE_PART:
        return "Inside the regions, one curve per feature tells most of the story"
    missed = share(1.0 - max(described.in_regions, 0.0))
    return f"Even in regions, curves miss {missed}"


def basis_text(described: Described) -> str:
    """The rows that shares of the model are measured on."""
    if described.rows == "held-out":
        return f"{described.n_rows:,} held-out rows"
    if described.rows == "given":
        return f"{described.n_rows:,} rows"
    if described.rows == "cross-validated":
        return "rows left out in turn (cross-validated)"
    return "the search rows, which also chose the regions"


def stop_text(reason: str | None) -> str:
    """Why a region was not split further; None or empty: a split was not tried."""
    if not reason:
        return "A split was not tried."
    if reason in STOP_REASONS:
        return STOP_REASONS[reason]
    return f"{reason[:1].upper()}{reason[1:]}."


def count_words(number: int) -> str:
    """A small number in words, a larger one in digits."""
    if number < len(SMALL_NUMBERS):
        return SMALL_NUMBERS[number]
    return str(number)


def stability_sentence(splits: Sequence[Mapping[str, Any]], searches: int) -> str:
    """How often the features of the splits were split again; of many splits, only the first.

    Parameters
    ----------
    splits : sequence of mappings
        As `certainty_part.stability` has them, the first split of the tree first; not empty.
    searches : int
        How many searches of half the rows there were.
    """
    if len(splits) > MOST_SPLITS:
        first = splits[0]
        return (
            f"Of {searches} searches on half the rows, {first['times']} split on "
            f"{first['feature']} first, as here{_otherwise(first)}. "
            "The table has the splits below it."
        )
    clauses = []
    for split in splits:
        where = "" if split["rule"] == ALL_ROWS else f" where {split['rule']}"
        clauses.append(
            f"{split['times']} split on {split['feature']}{where} again{_otherwise(split)}"
        )
    last = clauses.pop()
    listed = f"{', '.join(clauses)} and {last}" if clauses else last
    return f"Of {searches} searches on half the rows, {listed}."


def _otherwise(split: Mapping[str, Any]) -> str:
    """The feature that searches split instead, in brackets."""
    if not split["instead"]:
        return ""
    return f" (otherwise {split['instead']})"


def certainty_sentences(story: Mapping[str, Any]) -> list[str]:
    """How often splits come back, and how the regions do on rows given for testing."""
    sentences = []
    stability = story["stability"]
    if stability and stability["sentence"]:
        sentences.append(stability["sentence"])
    evaluation = story["evaluation"]
    if evaluation is not None:
        removed = "none"
        if evaluation["remaining"] <= 1:
            removed = share(1.0 - evaluation["remaining"])
        sentences.append(
            f"On the {evaluation['n_rows']:,} rows given for testing the regions remove {removed} "
            f"of the heterogeneity, and curves describe {share(evaluation['explained'])} of the "
            "model."
        )
    return sentences


def glossary(measure: Measure) -> list[dict[str, str]]:
    """Words that a reader may not know (``word``), and what they mean (``meaning``)."""
    entries = GLOSSARY if measure.per_row else (*GLOSSARY, *IMPORTANCE_WORDS)
    return [{"word": word, "meaning": meaning} for word, meaning in entries]
