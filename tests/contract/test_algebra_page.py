"""The page on the algebra lists exactly the names that the package knows, each in its place."""

from pathlib import Path

import granite_xai as gx

PAGE = Path(__file__).parents[2] / "docs" / "algebra.rst"


def tables() -> list[list[list[str]]]:
    """Cells of every list-table of the page, without the header."""
    found = []
    for part in PAGE.read_text(encoding="utf-8").split(".. list-table::")[1:]:
        body = part.partition("\n\n   * - ")[2].partition("\n\n")[0]
        rows = [
            [cell.strip() for cell in row.split("\n     - ")] for row in body.split("\n   * - ")
        ]
        found.append(
            [[" ".join(cell.replace("``", "").split()) for cell in row] for row in rows[1:]]
        )
    return found


def test_every_named_explanation_stands_in_its_place():
    """Name, masking, behavior and interaction of each row are those of the package."""
    listed = [row[:4] for row in tables()[1]]
    known = [
        [n, e.masking.key, e.behavior.key, e.interaction.key] for n, e in gx.explanations().items()
    ]
    assert listed == known


def test_every_named_question_pairs_the_explanations_it_says():
    """Name, first and second of each row are those of the package."""
    listed = [row[:3] for row in tables()[2]]
    assert listed == [[name, q.first.name, q.second.name] for name, q in gx.questions().items()]
