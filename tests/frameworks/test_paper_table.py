"""The paper's table of what each framework addresses."""

from __future__ import annotations

import granite_xai as gx
from granite_xai.frameworks.paper_table import table_of

PAPER = """
VINE          ✓ ✗ – ✓ ✗ ✗ m –
CohEx         ✗ ✓ – ✓ ✗ ✗ m –
REPID         ✓ ✗ – ✓ ✗ ✗ m –
GADGET        ✓ ✓ – ✓ ✗ ✗ m,c –
FD-Trees      ✓ ✓ – ✓ ✗ ✗ m –
Transf._Trees – – ✓ ✓ ✓ ✗ – full,pure
GRANITE       ✓ ✓ ✓ ✓ ✓ ✓ * *
"""


def test_the_overview_is_the_papers_table():
    """Disagreement: full→pure, partial→pure, conditional→marginal; behavior: local, risk, sensitivity; M; I."""
    wanted = [
        [cell.replace("_", " ") for cell in line.split()] for line in PAPER.strip().splitlines()
    ]
    found = gx.frameworks.overview()
    assert [
        [str(cell).replace(", ", ",") for cell in row] for row in found.itertuples(index=False)
    ] == wanted


def test_the_overview_follows_the_configurations():
    """It would change if a framework asked something else."""
    table = table_of({"GRANITE": [gx.Granite(None, "cshap-shap")]})
    assert table.iloc[0].tolist() == ["GRANITE", "–", "–", "✓", "✓", "✗", "✗", "–", "partial"]


def test_a_framework_addresses_what_any_of_its_forms_asks():
    forms = [gx.Granite(None, "ice-pdp"), gx.Granite(None, ["shap-pdp", "pfi-risk"])]
    line = table_of({"both": forms}).iloc[0]
    assert [line["full → pure"], line["partial → pure"]] == ["✓", "✓"]
    assert [line["local"], line["risk"], line["sensitivity"]] == ["✓", "✓", "✗"]


def test_a_question_that_differs_in_masking_and_interaction_is_about_neither_alone():
    mixed = gx.Disagreement(
        gx.Explainer("conditional", "local", "full"), gx.Explainer("marginal", "local", "pure")
    )
    line = table_of({"mixed": [gx.Granite(None, mixed)]}).iloc[0].tolist()
    assert line == ["mixed", "–", "–", "–", "✓", "✗", "✗", "–", "–"]
