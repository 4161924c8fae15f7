"""The story as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

from granite_xai.base.numbers import share
from granite_xai.base.text import aligned, plain, shortened
from granite_xai.report.measure import Measure, measure_of
from granite_xai.report.wording import certainty_sentences

WIDTH = 100  # letters of a line
MOST_FEATURES = 10  # that the text lists
NAME_LETTERS = 30  # of a feature in the list
SHARE_LETTERS = 6  # of the column of shares


def story_text(story: Mapping[str, Any], tree: str) -> str:
    """The story for a terminal: finding, regions, how much better, features, notes.

    Parameters
    ----------
    story : mapping
        As `story.tell` makes it, or of several outputs.
    tree : str
        The tree in print.
    """
    if "outputs" in story:
        return "\n\n".join(story_text(output, tree) for output in story["outputs"].values())
    title = shortened(plain(story["title"]), WIDTH)
    finding = " ".join([story["opening"], *story["further"], *story["by_question"]])
    parts = [f"{title}\n{'=' * len(title)}", _filled(finding)]
    parts += [_filled(sentence) for sentence in story["doubts"]]
    if len(story["regions"]) > 1:
        parts.append(f"Regions\n\n{tree}")
        parts.append(_regions_text(story))
    if story["describes"]:
        parts.append(_description_text(story["describes"]))
    if len(story["triage"]) > 1:
        parts.append(_features_text(story, measure_of(story)))
    parts += [_filled(sentence, "  ") for sentence in certainty_sentences(story)]
    parts += [_filled(f"Note: {note}", "  ") for note in (*story["notes"], *story["warnings"])]
    parts.append(_filled(_origin(story)))
    return "\n\n".join(parts)


def _filled(text: str, indent: str = "") -> str:
    """Text in lines that fit; ``indent`` stands before all but the first."""
    return textwrap.fill(plain(text), width=WIDTH, break_on_hyphens=False, subsequent_indent=indent)


def _regions_text(story: Mapping[str, Any]) -> str:
    """What is special in each region."""
    lines = ["What is special in each region", ""]
    for region in story["regions"]:
        label = region["name"] or region["words"]
        sentences = [_with_stop(text) for text in (region["heading"], region["further"]) if text]
        text = f"{region['region']}  {label}: {' '.join(sentences)}"
        if region["small"]:
            text += " It has few rows: take it as a hint."
        lines.append(_filled(text, "   "))
    return "\n".join(lines)


def _with_stop(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _description_text(describes: Mapping[str, Any]) -> str:
    """Shares of the model that curves describe, a line each."""
    lines = [f"Share of the model that curves describe, on {describes['rows']}", ""]
    for step in describes["steps"]:
        described = share(max(step["share"], 0.0))
        lines.append(f"{described:>{SHARE_LETTERS}}  {step['step']}")
    return "\n".join(lines)


def _features_text(story: Mapping[str, Any], measure: Measure) -> str:
    """A table of the features: average effect, and how far rows stray on all rows and in regions."""
    has_regions = len(story["regions"]) > 1
    heads = ["", "average effect", "rows stray along it" if measure.per_row else "difference"]
    if has_regions:
        heads.append("in regions")
    table = [heads]
    for feature in story["triage"][:MOST_FEATURES]:
        sizes = [feature["shows"], feature["hides"]]
        if has_regions:
            stray_in_regions = feature["within"][1]
            sizes.append(stray_in_regions)
        name = shortened(plain(feature["set"]), NAME_LETTERS)
        table.append([name, *map(measure.effect_of_feature, sizes)])
    unit = f", in {measure.unit_text}" if measure.unit_text else ""
    heading = f"Feature by feature, on {story['measure']['rows']}{unit}"
    lines = [heading, "", aligned(table, (0,))]
    n_more = len(story["triage"]) - MOST_FEATURES
    if n_more > 0:
        lines.append(f"({n_more} more features)")
    return "\n".join(lines)


def _origin(story: Mapping[str, Any]) -> str:
    """Model, rows, seed and version."""
    provenance = story["provenance"]
    version = provenance["versions"].get("granite-xai", "")
    return (
        f"{' '.join(story['about'])} "
        f"{provenance['model_rows']:,} rows were sent to the model, seed {provenance['seed']}, "
        f"granite-xai {version}."
    )
