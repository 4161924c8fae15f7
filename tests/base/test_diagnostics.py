"""The recorder of a run: warnings once and remembered, seconds, calls."""

from __future__ import annotations

import warnings

import pytest

from granite_xai.base import diagnostics
from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import ModelWarning


def test_a_warning_is_issued_once_and_remembered():
    record = Diagnostics()
    with pytest.warns(ModelWarning, match="M09"):
        record.warn("M09: not deterministic", ModelWarning)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record.warn("M09: not deterministic", ModelWarning)
    assert record.warnings == ("M09: not deterministic",)
    assert record.as_dict()["warnings"] == ["M09: not deterministic"]


def test_a_warning_is_remembered_even_where_warnings_are_errors():
    record = Diagnostics()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelWarning):
            record.warn("M11: writes", ModelWarning)
    assert record.warnings == ("M11: writes",)


def test_a_warning_points_at_the_callers_line_not_at_ours():
    with pytest.warns(ModelWarning) as caught:
        Diagnostics().warn("M09: here", ModelWarning)
    assert caught[0].filename == __file__
    with pytest.warns(ModelWarning) as caught:
        diagnostics.warn("M09: here", ModelWarning)
    assert caught[0].filename == __file__


def test_stages_add_up_also_when_the_work_fails():
    record = Diagnostics()
    with record.stage("search"):
        pass
    first = record.as_dict()["seconds"]["search"]
    with pytest.raises(KeyError), record.stage("search"):
        raise KeyError
    assert record.as_dict()["seconds"]["search"] > first >= 0.0


def test_counts_start_at_zero_and_add_up():
    record = Diagnostics()
    record.count("ties")
    record.count("ties")
    assert record.as_dict()["ties"] == 2


def test_the_dict_is_a_copy():
    record = Diagnostics()
    record.note("seed", 7)
    notes = record.as_dict()
    notes["warnings"].append("mine")
    notes["seconds"]["mine"] = 1.0
    assert record.as_dict() == {
        "seed": 7,
        "seconds": {},
        "warnings": [],
    }
