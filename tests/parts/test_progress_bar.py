"""Bars appear where someone looks, after a second, on stderr."""

from __future__ import annotations

import io
import time

import pytest

from granite_xai.base.limits import Resources
from granite_xai.base.parallel import Meter, progress, round_down


@pytest.mark.parametrize("shown", [True, False, "auto"])
def test_progress_passes_the_items_on(shown, capsys):
    assert list(progress(iter("abc"), Resources(progress=shown), "search", total=3)) == [
        "a",
        "b",
        "c",
    ]
    assert capsys.readouterr() == ("", "")


def test_progress_appears_on_stderr_after_a_second(capsys):
    for _ in progress(range(2), Resources(progress=True), "evaluations", total=2):
        time.sleep(0.6)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "evaluations" in captured.err


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_R15_progress_needs_no_terminal(monkeypatch, stream):
    monkeypatch.setattr("sys.stderr", stream)
    assert list(progress([1, 2], Resources(), "search")) == [1, 2]


def test_a_bar_is_there_soon_although_its_first_item_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("granite_xai.base.parallel.SOON", 0.05)
    for _ in progress(range(1), Resources(progress=True), "resamples", 1):
        time.sleep(0.3)
        assert "resamples" in capsys.readouterr().err
    for _ in progress(range(1), Resources(progress=False), "resamples", 1):
        time.sleep(0.1)
    for _ in progress(range(1), Resources(progress=True), "short", 1):
        pass
    time.sleep(0.2)  # a bar that is closed does not come back
    assert "short" not in capsys.readouterr().err


def test_a_meter_announces_long_work_and_what_takes_a_minute(capsys):
    meter = Meter(Resources(progress=True), total=1_000_000)
    meter.announce(seconds_per_row=1e-5)
    assert capsys.readouterr().err == ""
    meter.announce(seconds_per_row=0.0041)
    meter.close()
    said = capsys.readouterr().err
    assert "1,000,000 rows, which takes about 68 min." in said
    assert "Resources(max_evaluations=10000) takes about a minute" in said


def test_a_meter_that_is_not_shown_says_nothing(capsys):
    meter = Meter(Resources(progress=False), total=1_000_000)
    meter.announce(seconds_per_row=1.0)
    meter(10)
    meter.close()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("count", "rounded"), [(3, 1000), (1999, 1000), (98_765, 90_000)])
def test_numbers_are_rounded_down_to_one_digit(count, rounded):
    assert round_down(count) == rounded
