"""Files that cannot be read end in our errors, whatever their libraries raise."""

from __future__ import annotations

import pytest

import granite_xai as gx
from granite_xai.cli.refusals import any_error, bad_table, needs


def test_any_error_of_a_library_becomes_a_refusal_with_its_words():
    with (
        pytest.raises(
            gx.ModelError, match=r"S11: m.cbm cannot be read \(KeyError: 'a'\)"
        ) as caught,
        any_error("m.cbm cannot be read", hint="Save it again."),
    ):
        raise KeyError("a")
    assert caught.value.hint == "Save it again."
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_that_says_it_already_passes():
    error = gx.InputError("the table is odd.", code="D07")
    with (
        pytest.raises(gx.InputError, match="D07"),
        any_error("d.csv cannot be read", bad_table, unless=(gx.InputError,)),
    ):
        raise error


def test_an_interrupt_is_no_error_of_a_file():
    with pytest.raises(KeyboardInterrupt), any_error("m.cbm cannot be read"):
        raise KeyboardInterrupt


def test_a_package_that_is_missing_is_named():
    with (
        pytest.raises(gx.InputError, match="S12: d.parquet needs the package pyarrow") as caught,
        needs("pyarrow", "d.parquet", bad_table),
    ):
        raise ImportError("no module")
    assert "pip install pyarrow" in caught.value.hint
