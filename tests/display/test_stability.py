"""StabilityDisplay: searches where nothing is known yet, and reads what is."""

from __future__ import annotations

import granite_xai as gx


def test_a_fit_without_stability_is_searched_on_halves(toy):
    g = gx.Granite(toy.model, max_depth=1).fit(toy.X)
    display = gx.StabilityDisplay.from_estimator(g, n_resamples=2)
    assert display.stability.searches == 4
    assert gx.StabilityDisplay.from_estimator(g, n_resamples=5).stability is display.stability


def test_what_it_costs_is_said_before_it_begins_where_bars_are_shown(toy, capsys):
    shown = gx.Granite(toy.model, max_depth=1, resources=gx.Resources(progress=True)).fit(toy.X)
    capsys.readouterr()
    gx.StabilityDisplay.from_estimator(shown, n_resamples=2)
    said = capsys.readouterr().err
    assert said.startswith("The search is repeated 4 times, on half the rows each: about ")
    gx.StabilityDisplay.from_estimator(shown)  # known by now
    assert capsys.readouterr().err == ""
    silent = gx.Granite(toy.model, max_depth=1, resources=gx.Resources(progress=False)).fit(toy.X)
    gx.StabilityDisplay.from_estimator(silent, n_resamples=2)
    assert capsys.readouterr() == ("", "")


def test_rules_are_said_as_in_the_printed_tree(toy):
    g = gx.Granite(toy.model, max_depth=1).fit(toy.X)
    display = gx.StabilityDisplay.from_estimator(g, n_resamples=2)
    drawn = display.plot()
    labels = [label.get_text() for label in drawn.axes_[0].get_yticklabels()]
    assert labels == [split.label for split in display.stability.splits]
