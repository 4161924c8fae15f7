"""Default fits give the recorded trees, R and estimates.

The records in ``defaults.json`` were written by ``python tests/spec/record.py``.
"""

from __future__ import annotations

import copy

import pytest

import granite_xai as gx
from default_cases import CASES
from default_figures import differences, figures, read_records, same

SAME_MODEL = 1e-12  # how closely a trained model must repeat the predictions of the record
RECORDS = read_records()


@pytest.mark.parametrize("name", CASES)
def test_a_default_fit_gives_the_recorded_figures(name):
    computed = figures(CASES[name])
    if not same(RECORDS[name]["fingerprint"], computed["fingerprint"], SAME_MODEL):
        pytest.skip(f"the {CASES[name].model} trained here predicts other numbers")
    found = list(differences(RECORDS[name], computed))
    assert not found, "\n".join(f"{kind}: {words}" for kind, words in found)


def test_every_record_belongs_to_a_case():
    assert RECORDS.keys() == CASES.keys()


def test_every_question_is_recorded():
    asked = {case.question for case in CASES.values() if isinstance(case.question, str)}
    assert asked == gx.questions().keys()


def test_each_kind_of_difference_is_found():
    recorded = RECORDS["ice-pdp"]
    other_tree, other_R, other_share, no_interval = (copy.deepcopy(recorded) for _ in range(4))
    other_tree["tree"][0] = "x3 ≤ 0   5 rows"
    other_R["R"]["regions"][0] += 1e-8 * recorded["R"]["all rows"]
    other_share["estimate"]["left"] += 0.001
    no_interval["interval"]["left"] = [None, None]
    kinds = [
        [kind for kind, _ in differences(recorded, changed)]
        for changed in (recorded, other_tree, other_R, other_share, no_interval)
    ]
    assert kinds == [[], ["tree"], ["R"], ["estimate"], ["interval"]]
