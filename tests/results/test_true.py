"""Every figure that a sentence states is computed anew: from the model, one row and one value at a time.

Nothing of the package is asked but its regions, which rows searched and judged, and what it says. A sentence without a
figure fails, and so does a figure that nobody knows how to compute.
"""

from __future__ import annotations

import math
import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.results.facts import FitFacts
from granite_xai.results.sentences import (
    Fact,
    finding_of,
    output_words,
    region_sentences,
)
from words.fits import FITS, Fit, alarm, bikes, rides, sensors

CASES = {
    "bikes": FITS["ice-pdp"],
    "late": FITS["classifier"],
    "minutes": FITS["categories-and-gaps"],
    "small": FITS["small"],
    "nothing": FITS["nothing-found"],
    "alarm": FITS["wide"],
    "clusters": FITS["clusters"],
    "two questions": FITS["two-questions"],
    "one region": Fit(bikes, rides, options={"max_depth": 0}),
    "one split": Fit(bikes, rides, options={"max_depth": 1}),
    "alarm in one": Fit(alarm, sensors, options={"max_depth": 0}),
    "more rows": Fit(bikes, rides, n_rows=1500),
}
NEAR = 0.06
"""Share of a figure by which interpolation and the correction for sampling noise may move it."""


class Asked:
    """A fit and its model, asked anew."""

    def __init__(self, fit):
        self.fit = fit
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gx.GraniteWarning)
            self.g = fit.fit()
        self.X = fit.X
        rows = self.g.diagnostics_["rows"]
        self.search = self.X.iloc[rows["search"]].reset_index(drop=True)
        self.held_out = self.X.iloc[rows["held_out"]].reset_index(drop=True)
        self.regions = self.g.partition_.apply(self.search)
        self.result = fitted_view(self.g).result
        self.facts = FitFacts(self.result, self.g.diagnostics_)
        self.output = output_words(self.result.model)
        self.known = {}

    def predict(self, frame):
        if hasattr(self.fit.model, "predict_proba"):
            return self.fit.model.predict_proba(frame)[:, 0]
        return np.asarray(self.fit.model(frame), dtype=float)

    def sentences(self):
        """All that a fit says about itself, its regions and its features."""
        finding = finding_of(self.facts, self.output)
        yield from (finding.headline, finding.details, finding.benefit, finding.curves)
        yield from (
            *finding.by_question,
            *finding.doubts,
            *finding.notes,
            finding.stability,
            finding.rows,
            finding.rows_of_errors,
        )
        for region in range(len(self.g.partition_)):
            yield from region_sentences(self.facts, region, self.output)

    def rows(self, fact):
        regions = fact.regions or tuple(range(len(self.g.partition_)))
        return self.search[np.isin(self.regions, regions)].reset_index(drop=True)

    def ice(self, feature, regions):
        """Predictions of every row with each value that the rows of some regions have, (rows, values)."""
        if (feature, regions) in self.known:
            return self.known[feature, regions]
        rows = self.search[np.isin(self.regions, regions)].reset_index(drop=True)
        values = [value for value in rows[feature].unique() if not pd.isna(value)]
        values = (
            sorted(values) if not isinstance(rows[feature].dtype, pd.CategoricalDtype) else values
        )
        columns = []
        for value in values:
            changed = rows.copy()
            changed.loc[:, feature] = value
            changed[feature] = changed[feature].astype(rows[feature].dtype)
            columns.append(self.predict(changed))
        self.known[feature, regions] = rows, values, np.column_stack(columns)
        return self.known[feature, regions]


@cache
def asked(case):
    return Asked(CASES[case])


def curve(of, fact):
    """The curve of a feature over the rows of a fact: rows, values, mean predictions, and rows at each value."""
    regions = fact.regions or tuple(range(len(of.g.partition_)))
    rows, values, ice = of.ice(fact.feature, regions)
    counts = np.array([(rows[fact.feature] == value).sum() for value in values])
    return rows, values, ice, ice.mean(axis=0), counts


def is_number(rows, feature):
    return pd.api.types.is_numeric_dtype(rows[feature]) and rows[feature].dtype != bool


def computed_range(of, fact):
    """Largest less smallest mean prediction: of numbers between the 5% and the 95% point."""
    rows, _, _, mean, counts = curve(of, fact)
    if is_number(rows, fact.feature) or pd.api.types.is_datetime64_dtype(rows[fact.feature]):
        below = np.cumsum(counts) / counts.sum()
        inner = (below >= 0.05) & (below - counts / counts.sum() <= 0.95)
        mean = mean[inner]
    return np.ptp(mean)


def computed_spread(of, fact):
    """Root mean square, over rows, of what the row's own curve says at its value less the mean of that curve."""
    rows, values, ice, _, counts = curve(of, fact)
    total, known = 0.0, 0
    for number, value in enumerate(rows[fact.feature]):
        if not pd.isna(value):
            own = ice[number, values.index(value)] - np.average(ice[number], weights=counts)
            total += own**2
            known += 1
    return math.sqrt(total / known)


def computed_share(of, fact):
    """R² of mean + curves on held-out rows; curves of all rows, or as `predict` has them."""
    truth = of.predict(of.held_out)
    if fact.what == "described in regions":
        said = of.g.predict(of.held_out)
    else:
        said = np.full(len(truth), of.predict(of.search).mean())
        everywhere = tuple(range(len(of.g.partition_)))
        for feature in of.X.columns:
            rows, values, ice = of.ice(feature, everywhere)
            mean = ice.mean(axis=0)
            centre = np.mean(
                [mean[values.index(v)] if not pd.isna(v) else 0.0 for v in rows[feature]]
            )
            if is_number(rows, feature):
                said = said + np.interp(of.held_out[feature], values, mean) - centre
            else:
                by_value = dict(zip(values, mean, strict=True))
                said = said + np.array([by_value[v] for v in of.held_out[feature]]) - centre
        if of.output.unit.probability:
            said = np.clip(said, 0, 1)
    return 1 - np.mean((truth - said) ** 2) / truth.var()


def computed_stray(of):
    """Root of the mean squared gap between rows' effects and average effects, all features together."""
    rows = of.held_out if len(of.held_out) else of.search
    total = 0.0
    for feature in of.X.columns:
        values = rows[feature].unique()
        ice = {}
        for value in values:
            changed = rows.copy()
            changed.loc[:, feature] = value
            ice[value] = of.predict(changed)
        mean_of_row = np.mean([ice[value] for value in rows[feature]], axis=0)
        for number, value in enumerate(rows[feature]):
            own = ice[value][number] - mean_of_row[number]
            average = ice[value].mean() - mean_of_row.mean()
            total += (own - average) ** 2
    return math.sqrt(total / len(rows))


def check_shape(of, fact):
    """What the curve is said to do is what it does, beyond twice the error that its rows give."""
    shape = fact.shape
    rows, values, ice, mean, counts = curve(of, fact)
    weights = counts / counts.sum()
    if shape.kind in ("constant", "varies", "effect"):
        return
    if shape.kind == "flat":
        largest = max(entry.range for entry in of.g.curves_)
        error = ice.std(axis=0).max() / math.sqrt(len(rows))
        assert computed_range(of, fact) <= max(0.05 * largest * (1 + NEAR), 4 * error)
        return
    levels = of.result.table.columns[list(of.X.columns).index(fact.feature)].levels
    places = [
        values.index(value)
        for value in (levels[level] for level in shape.levels)
        if value in values
    ]
    assert len(places) == len(shape.levels), "it names values that no row has"

    def is_beyond(high, low):
        gaps = ice[:, high] - ice[:, low]
        return gaps.mean() > 2 * gaps.std() / math.sqrt(len(gaps))

    last = len(values) - 1
    if shape.kind == "higher":
        assert is_beyond(*places)
    elif shape.kind == "labels":
        named = {values[place] for place in places}
        middle = [place for place, value in enumerate(values) if value not in named]
        ranked = sorted(places, key=lambda place: -mean[place])
        assert ranked[0] == places[0]
        assert is_beyond(ranked[0], ranked[-1])
        for place in middle:
            assert weights[place] < 0.05 or mean[ranked[-1]] <= mean[place] <= mean[ranked[0]]
    elif shape.kind.endswith(("rises", "falls", "rises, level", "falls, level")):
        sign = 1 if "rises" in shape.kind else -1
        assert sign * np.cov(np.arange(len(values)), mean, aweights=weights)[0, 1] > 0
        rising = sign * mean
        best = np.maximum.accumulate(rising)  # never falls; a fit no better than the best one
        fits = [
            best,
            np.minimum.accumulate(rising[::-1])[::-1],
            (best + np.minimum.accumulate(rising[::-1])[::-1]) / 2,
        ]
        missed = min(weights @ (rising - fit) ** 2 for fit in fits)
        assert missed <= 0.2 * weights @ (mean - weights @ mean) ** 2
        if "level" in shape.kind:
            (kink,) = places
            level = mean[: kink + 1] if shape.kind.startswith("level") else mean[kink:]
            assert np.ptp(level) <= 0.3 * np.ptp(mean)
    else:
        sign = -1 if shape.kind in ("valley", "low") else 1
        turns = (
            places
            if shape.kind == "two peaks"
            else [places[0] + int(np.argmax(sign * mean[places[0] : places[-1] + 1]))]
        )
        shoulders = [0, last]
        if shape.kind == "two peaks":
            shoulders.insert(1, places[0] + int(np.argmin(mean[places[0] : places[1]])))
        for number, turn in enumerate(turns):
            for shoulder in shoulders[number : number + 2]:
                pair = (turn, shoulder) if sign > 0 else (shoulder, turn)
                assert is_beyond(*pair)
                assert abs(mean[turn] - mean[shoulder]) > 0.1 * computed_range(of, fact)
            assert min(weights[:turn].sum(), weights[turn + 1 :].sum()) >= 0.05


def check(of, fact):
    """Compute a figure anew."""
    n_search, n_held_out = len(of.search), len(of.held_out)
    partition = of.g.partition_
    if fact.what == "range":
        largest = max(entry.range for entry in of.g.curves_)
        assert fact.value == pytest.approx(computed_range(of, fact), rel=NEAR, abs=0.01 * largest)
    elif fact.what == "spread":
        assert fact.value == pytest.approx(computed_spread(of, fact), rel=NEAR)
    elif fact.what == "shape":
        check_shape(of, fact)
    elif fact.what in ("described", "described in regions"):
        if fact.rows == "held-out" and not of.X.isna().any().any():
            assert fact.value == pytest.approx(computed_share(of, fact), abs=0.015)
        assert fact.value <= 1
    elif fact.what == "apart":
        curves = [of.g.curves_.of(fact.feature)]
        assert len(curves[0]) > 1
        ranges = [computed_range(of, fact._replace(regions=entry.regions)) for entry in curves[0]]
        assert fact.value <= 2.1 * max(ranges)
    elif fact.what in ("stray", "difference", "difference in regions"):
        if fact.what == "stray" and not of.X.isna().any().any() and fact.value > 0:
            computed = computed_stray(of)
            assert 0.9 * computed <= fact.value <= 1.02 * computed
    elif fact.what == "rows":
        counts = {n_search, n_held_out, n_search + n_held_out, *np.bincount(of.regions).tolist()}
        assert fact.value in counts
    elif fact.what == "regions":
        assert fact.value == len(partition)
    elif fact.what == "curves":
        assert fact.value == len({(entry.label, entry.node) for entry in of.g.curves_})
    elif fact.what == "differ by region":
        assert len(of.g.curves_.of(fact.feature)) > 1
    elif fact.what == "mean prediction":
        assert fact.value == pytest.approx(of.predict(of.rows(fact)).mean(), rel=NEAR)
    elif fact.what in (
        "are the same everywhere",
        "divide the regions and have one curve each",
        "hardly matter",
    ):
        sizes = [entry.range for entry in of.g.curves_.of(fact.feature)]
        largest = max(entry.range for entry in of.g.curves_)
        assert len(sizes) == 1 or max(sizes) < 0.5 * largest
    elif fact.what == "split on":
        assert any(name == fact.feature for rule in partition.rules for name, _ in rule.conditions)
    elif fact.what == "spread of predictions":
        inside = of.predict(of.rows(fact)).std()
        assert fact.value == pytest.approx(inside, rel=NEAR)
        assert inside < 0.26 * of.predict(of.search).std()
    elif fact.what == "halves":
        assert 0 <= fact.value <= of.g.stability_.searches
    else:
        raise AssertionError(f"nobody knows how to compute {fact}")


@pytest.mark.parametrize("case", CASES)
def test_every_sentence_states_figures_that_the_model_gives(case):
    of = asked(case)
    said = [sentence for sentence in of.sentences() if sentence]
    assert len(said) > 1
    for sentence in said:
        assert sentence.facts, f"no figures: {sentence}"
        for fact in sentence.facts:
            try:
                check(of, fact)
            except AssertionError as error:
                raise AssertionError(f"{sentence}\n{fact}\n{error}") from error


@pytest.mark.parametrize("case", CASES)
def test_sizes_in_the_text_are_the_figures_that_it_carries(case):
    of = asked(case)
    for sentence in of.sentences():
        carried = {of.output.unit.effect(fact.value, bare=True) for fact in sentence.facts}
        sizes = re.findall(r"by up to (\d[\d,.]*\d|\d)", sentence)
        assert carried.issuperset(sizes), sentence


@pytest.mark.parametrize("case", CASES)
def test_every_curve_does_what_its_shape_says(case):
    of = asked(case)
    for entry in (*of.g.curves_, *of.g.curves_.everywhere):
        shape = of.facts.shape(entry)
        regions = entry.regions if entry.node else ()
        fact = Fact("shape", shape.size, shape.error, entry.label, regions, shape=shape)
        try:
            check_shape(of, fact)
        except AssertionError as error:
            raise AssertionError(f"{shape.words(entry.label)}\n{fact}\n{error}") from error


@pytest.mark.parametrize("case", CASES)
def test_no_range_that_is_told_is_below_its_error(case):
    of = asked(case)
    for sentence in of.sentences():
        for fact in sentence.facts:
            is_told = (
                fact.what == "range" and "hardly" not in sentence and "only, but" not in sentence
            )
            if is_told and len(sentence.facts) == 1:
                assert fact.value > fact.error
