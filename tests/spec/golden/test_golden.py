"""The paper's algorithm gives the recorded figures: regions, shares, effects, and other rows.

The records in ``golden.json`` were written by ``python tests/spec/golden/record.py``, which also says
when they may be written anew.
"""

from __future__ import annotations

import pytest

import granite_xai as gx
from golden.cases import CASES
from golden.figures import differences, figures, read_records
from golden.models import prediction_fingerprint

RECORDS = read_records()
SAME_MODEL = 1e-12  # how closely a trained model must repeat the predictions of the record


@pytest.mark.parametrize("name", CASES)
def test_a_fit_gives_the_recorded_figures(name):
    case = CASES[name]
    recorded = dict(RECORDS[name])
    recorded_fingerprint = recorded.pop("fingerprint", None)
    fingerprint = prediction_fingerprint(case.model, case.table)
    if list(differences(recorded_fingerprint, fingerprint, SAME_MODEL)):
        pytest.skip(f"the {case.model} trained here predicts other numbers than the recorded one")
    changes = list(differences(recorded, figures(case), case.tolerance))
    assert not changes, "\n".join(changes)


def test_every_record_belongs_to_a_case():
    assert RECORDS.keys() == CASES.keys()


def test_every_question_is_recorded():
    asked = {case.question for case in CASES.values() if isinstance(case.question, str)}
    assert asked == gx.questions().keys()
