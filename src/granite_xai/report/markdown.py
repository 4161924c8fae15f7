"""The story in Markdown, for a model card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.base.numbers import share
from granite_xai.base.text import plain
from granite_xai.report.measure import measure_of
from granite_xai.report.wording import certainty_sentences

ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#"})
PROVENANCE_KEYS = ("made", "model", "explained", "rows", "held_out", "columns", "seed")


def markdown(story: Mapping[str, Any]) -> str:
    """The story in Markdown: sentences, regions and provenance, with tables.

    Parameters
    ----------
    story : mapping
        As `story.tell` makes it, or of several outputs.
    """
    if "outputs" in story:
        return "\n".join(markdown(output) for output in story["outputs"].values())
    paragraphs = _finding(story)
    if story["describes"]:
        steps = [(step["step"], share(step["share"])) for step in story["describes"]["steps"]]
        paragraphs.append(_table(("", "share of the model described"), steps))
    paragraphs += _regions(story)
    if story["evaluation"] is not None:
        paragraphs.append("## Rows given for testing")
    paragraphs += [_escaped(sentence) for sentence in certainty_sentences(story)]
    notes = [*story["notes"], *story["warnings"]]
    if notes:
        paragraphs.append("## Notes")
        paragraphs.append("\n".join(f"- {_escaped(note)}" for note in notes))
    paragraphs += _provenance(story["provenance"])
    return "\n\n".join(paragraphs) + "\n"


def _finding(story: Mapping[str, Any]) -> list[str]:
    """Title, finding, and what it is about."""
    sentences = [*story["doubts"], *story["further"], *story["by_question"]]
    return [
        f"# {_escaped(story['title'])}",
        f"**{_escaped(story['opening'])}**",
        *(_escaped(sentence) for sentence in sentences),
        " ".join(_escaped(sentence) for sentence in story["about"]),
    ]


def _regions(story: Mapping[str, Any]) -> list[str]:
    """A table of the regions, and what is special in each."""
    measure = measure_of(story)
    table = []
    remarks = []
    for region in story["regions"]:
        table.append(
            (
                region["name"] or region["region"],
                region["rule"],
                share(region["share"]),
                measure.level(region["mean"]),
                measure.text(region["stray"]),
            )
        )
        if region["heading"]:
            text = f"{region['heading']}. {region['further']}".strip()
            remarks.append(f"- **Region {region['region']}**: {_escaped(text)}")
    heads = ("region", "rule", "rows", "mean prediction", measure.noun)
    paragraphs = ["## Regions", _table(heads, table)]
    if remarks:
        paragraphs.append("\n".join(remarks))
    return paragraphs


def _provenance(provenance: Mapping[str, Any]) -> list[str]:
    facts = [(key.replace("_", "-"), provenance[key]) for key in PROVENANCE_KEYS]
    packages = provenance["versions"].items()
    facts.append(("versions", ", ".join(f"{name} {version}" for name, version in packages)))
    return ["## How this was made", _table(("", ""), facts)]


def _table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    lines = [_table_line(heads), _joined_cells(["---"] * len(heads))]
    lines += [_table_line(row) for row in rows]
    return "\n".join(lines)


def _table_line(cells: Sequence[Any]) -> str:
    return _joined_cells([_escaped(cell) for cell in cells])


def _joined_cells(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: Any) -> str:
    """Text in which nothing is markup."""
    return plain(text).translate(ESCAPES)
