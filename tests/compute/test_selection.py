"""Which primitives a batch gets."""

from __future__ import annotations

import pytest

from granite_xai.base.errors import InputError, ResourceError
from granite_xai.compute import selection
from granite_xai.compute.compiled_primitives import COMPILED
from granite_xai.compute.primitives import NUMPY


def test_compiled_loops_begin_where_they_are_worth_it(monkeypatch):
    monkeypatch.setattr(selection, "available", lambda: True)
    assert selection.primitives_for(selection.WORTHWHILE - 1) is NUMPY
    assert selection.primitives_for(selection.WORTHWHILE) is COMPILED
    monkeypatch.setattr(selection, "available", lambda: False)
    assert selection.primitives_for(selection.WORTHWHILE) is NUMPY


def test_compiled_loops_can_be_left_out_of_what_is_enclosed(monkeypatch):
    monkeypatch.setattr(selection, "available", lambda: True)
    with selection.compiled_loops(allowed=False):
        assert selection.primitives_for(selection.WORTHWHILE) is NUMPY
        with selection.compiled_loops(allowed=True):
            assert selection.primitives_for(selection.WORTHWHILE) is COMPILED
    assert selection.primitives_for(selection.WORTHWHILE) is COMPILED


def test_the_processor_chooses_for_each_batch():
    assert selection.primitives_on("cpu") is None


def test_R08_only_faults_of_a_device_are_renamed():
    with (
        pytest.raises(ResourceError, match="R08: the device failed: lost"),
        selection.device_faults(NUMPY),
    ):
        raise RuntimeError("lost\nat some place")
    with pytest.raises(RuntimeError, match="^ours$"), selection.device_faults(None):
        raise RuntimeError("ours")
    with pytest.raises(InputError, match="D01"), selection.device_faults(NUMPY):
        raise InputError("wrong", code="D01")
