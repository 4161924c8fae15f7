"""The story for a terminal, and in Markdown for a model card."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from granite_xai.base.formats import amount, share
from granite_xai.base.text import aligned, plain, shortened
from granite_xai.report.page import measure_of
from granite_xai.report.wording import Measure

WIDTH = 100
FEATURES = 10  # that the text lists
MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})


def story_text(story: dict[str, Any], tree: str) -> str:
    """The story for a terminal: finding, how much better, tree, regions, features, notes.

    Parameters
    ----------
    story : dict
    tree : str
        The tree in print.
    """
    if "outputs" in story:
        return "\n\n".join(story_text(each, tree) for each in story["outputs"].values())
    measure = measure_of(story)
    title = shortened(plain(story["title"]), WIDTH)
    finding = " ".join([story["opening"], *story["further"], *story["by_question"]])
    parts = [f"{title}\n{'=' * len(title)}", _filled(finding)]
    parts += [_filled(sentence) for sentence in _doubt(story)]
    if len(story["regions"]) > 1:
        parts.append(f"Regions\n\n{tree}")
        parts.append(_regions(story, measure))
    if story["describes"]:
        parts.append(_described(story["describes"]))
    if len(story["triage"]) > 1:
        parts.append(_features(story, measure))
    parts += [_filled(note, "  ") for note in _certainty(story)]
    parts += [_filled(f"Note: {note}", "  ") for note in (*story["notes"], *story["warnings"])]
    parts.append(_filled(_made(story)))
    return "\n\n".join(parts)


def _filled(text: str, indent: str = "") -> str:
    return textwrap.fill(plain(text), width=WIDTH, break_on_hyphens=False, subsequent_indent=indent)


def _regions(story: dict[str, Any], measure: Measure) -> str:
    lines = ["What is special in each region", ""]
    for region in story["regions"]:
        label = region["name"] or region["words"]
        texts = [text for text in (region["heading"], region["further"]) if text]
        sentences = " ".join(text if text.endswith(".") else f"{text}." for text in texts)
        few = " It has few rows: take it as a hint." if region["small"] else ""
        lines.append(_filled(f"{region['region']}  {label}: {sentences}{few}", "   "))
    return "\n".join(lines)


def _described(found: dict[str, Any]) -> str:
    lines = [f"Share of the model that curves describe, on {found['rows']}", ""]
    lines += [f"{share(max(step['share'], 0.0)):>6}  {step['step']}" for step in found["steps"]]
    if found["pairs"]:
        pairs = ", ".join(" with ".join(map(plain, pair)) for pair in found["pairs"])
        joint = f"with the joint effects of {pairs} (search rows)"
        lines.append(_filled(f"{share(found['pairs_share']):>6}  {joint}", " " * 8))
    if found["note"]:
        lines.append(_filled(found["note"]))
    return "\n".join(lines)


def _features(story: dict[str, Any], measure: Measure) -> str:
    several = len(story["regions"]) > 1
    heads = ["", "average effect", "rows stray along it" if measure.per_row else "difference"]
    if several:
        heads.append("in regions")
    rows = [heads]
    size = measure.effect if measure.per_row else amount
    for feature in story["triage"][:FEATURES]:
        cells = [feature["shows"], feature["hides"], feature["within"][1]]
        name = shortened(plain(feature["set"]), 30)
        rows.append([name, *(size(cell) for cell in cells[: len(heads) - 1])])
    unit = f", in {measure.unit_text}" if measure.unit_text else ""
    heading = f"Feature by feature, on {story['measure']['rows']}{unit}"
    lines = [heading, "", aligned(rows, (0,))]
    more = len(story["triage"]) - FEATURES
    if more > 0:
        lines.append(f"({more} more features)")
    return "\n".join(lines)


def _doubt(story: dict[str, Any]) -> list[str]:
    """What stands right under the finding where its first split seldom comes back."""
    known = story["stability"]
    return [known["tentative"]] if known and known["tentative"] else []


def _certainty(story: dict[str, Any]) -> list[str]:
    sentences = []
    if story["stability"] and story["stability"]["sentence"]:
        sentences.append(story["stability"]["sentence"])
    found = story["evaluation"]
    if found is not None:
        removed = share(1.0 - found["remaining"]) if found["remaining"] <= 1 else "none"
        sentences.append(
            f"On the {found['n_rows']:,} rows given for testing the regions remove {removed} of the "
            f"heterogeneity, and curves describe {share(found['explained'])} of the model."
        )
    return sentences


def _made(story: dict[str, Any]) -> str:
    made = story["provenance"]
    version = made["versions"].get("granite-xai", "")
    return (
        f"{' '.join(story['about'])} "
        f"{made['model_rows']:,} rows were sent to the model, seed {made['seed']}, "
        f"granite-xai {version}."
    )


def markdown(story: dict[str, Any]) -> str:
    """The story in Markdown: sentences, regions and provenance, in tables for a model card."""
    if "outputs" in story:
        return "\n".join(map(markdown, story["outputs"].values()))
    measure = measure_of(story)
    parts = [f"# {_safe(story['title'])}", f"**{_safe(story['opening'])}**"]
    parts += [_safe(sentence) for sentence in _doubt(story)]
    parts += [_safe(sentence) for sentence in (*story["further"], *story["by_question"])]
    parts.append(" ".join(_safe(sentence) for sentence in story["about"]))
    if story["describes"]:
        rows = [(step["step"], share(step["share"])) for step in story["describes"]["steps"]]
        parts.append(_table(("", "share of the model described"), rows))
    heads = ("region", "rule", "rows", "mean prediction", measure.noun)
    regions = [
        (
            region["name"] or region["region"],
            region["rule"],
            share(region["share"]),
            measure.level(region["mean"]),
            measure.text(region["stray"]),
        )
        for region in story["regions"]
    ]
    parts += ["## Regions", _table(heads, regions)]
    lines = []
    for region in story["regions"]:
        if region["heading"]:
            text = f"{region['heading']}. {region['further']}".strip()
            lines.append(f"- **Region {region['region']}**: {_safe(text)}")
    if lines:
        parts.append("\n".join(lines))
    sentences = _certainty(story)
    if story["evaluation"] is not None:
        parts.append("## Rows given for testing")
    parts += [_safe(sentence) for sentence in sentences]
    notes = [*story["notes"], *story["warnings"]]
    if notes:
        parts += ["## Notes", "\n".join(f"- {_safe(note)}" for note in notes)]
    made = story["provenance"]
    keys = ("made", "model", "explained", "rows", "held_out", "columns", "seed")
    versions = ", ".join(f"{name} {which}" for name, which in made["versions"].items())
    facts = [*((key.replace("_", "-"), made[key]) for key in keys), ("versions", versions)]
    parts += ["## How this was made", _table(("", ""), facts)]
    return "\n\n".join(parts) + "\n"


def _table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(cell: Any) -> str:
    return "---" if cell == "---" else _safe(cell)


def _safe(text: Any) -> str:
    """Text in which nothing is markup."""
    return plain(text).translate(MARKS)
