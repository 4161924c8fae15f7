"""What a reader of the page sees: charts that show what sentences state, one colour a region, names instead of 1."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier

import granite_xai as gx
from granite_xai.report.page import TEMPLATES

STYLE = (TEMPLATES / "style.css").read_text(encoding="utf-8")


def skewed(X):
    """Climbs far beyond the values of most rows, by region."""
    x = np.asarray(X["x"])
    side = np.where(np.asarray(X["group"]) > 0, 1.0, -1.0)
    return side * (x + 3.0 * np.maximum(np.abs(x) - 1.2, 0.0) ** 2) + 0.3 * np.asarray(X["z"])


@pytest.fixture(scope="module")
def told():
    rng = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"x": rng.normal(size=n), "group": rng.integers(0, 2, n), "z": rng.random(n)})
    return gx.explain(skewed, X, max_depth=1)


@pytest.fixture(scope="module")
def shared():
    """Three regions: two of them share the curve of b and c."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(900, 4)), columns=list("abcd"))

    def model(X):
        a, b, c, d = np.asarray(X).T
        within = np.where(d > 0, 2.0, -2.0) * c
        return np.where(a > 0, 3 * b + within, -3 * b)

    return gx.explain(model, X, max_depth=2)


@pytest.fixture(scope="module")
def means():
    """Regions of the same curves and different means."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return gx.explain(HistGradientBoostingClassifier(random_state=0).fit(X, y), X, y)


def charts(report, identifier="differ"):
    """The charts of a section, as SVG."""
    page = report.html()
    section = page[page.index(f'<section id="{identifier}"') :]
    return re.findall(r"<svg class=\"chart.*?</svg>", section[: section.index("</section>")], re.S)


def heights(path):
    return np.array([float(y) for _, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", path)])


def scale(chart):
    """Units of the vertical axis in a step of the figure."""
    ys = [float(y) for y in re.findall(r'class="grid" d="M[\d.]+ ([\d.]+)', chart)]
    texts = re.findall(r'<text x="41" y="[\d.]+" text-anchor="end">([^<]*)</text>', chart)
    numbers = [float(text.replace("\u2212", "-")) for text in texts]
    return (numbers[-1] - numbers[0]) / (ys[0] - ys[-1])


def test_the_thick_part_of_a_curve_shows_its_range(told):
    (chart, *_) = [part for part in charts(told) if "along x;" in part]
    curves = told.granite.curves_.of("x")
    assert len(curves) == 2
    for curve in (*curves, next(c for c in told.granite.curves_.everywhere if c.label == "x")):
        look = "gl rall" if curve.node == 0 else f"ln r{curve.regions[0]}"
        thick = heights(re.search(rf'class="{look}" d="([^"]*)"', chart)[1])
        assert np.ptp(thick) * scale(chart) == pytest.approx(
            curve.range, abs=0.21 * abs(scale(chart))
        )
    thin = re.findall(r'class="out r\d" d="([^"]*)"', chart)
    assert len(thin) == 4
    whole = np.concatenate([heights(path) for path in thin])
    assert np.ptp(whole) * scale(chart) > 1.5 * max(curve.range for curve in curves)


def test_curves_are_predictions_around_the_mean_of_their_rows_with_intervals():
    """The numbers below a chart are the mean prediction and the effect at each value; bars are 95% intervals."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.integers(0, 6, 300), "group": rng.integers(0, 2, 300)})
    X["z"] = rng.normal(size=300)

    def model(X):
        return 100 + (2 * X["group"] - 1) * X["x"] ** 2 + X["x"] * X["z"]

    report = gx.explain(model, X, max_depth=1)
    table = report.html().partition('aria-label="Values of x"')[2].partition("</table>")[0]
    lines = [re.findall(r"<bdi[^>]*>([^<]*)</bdi>", line) for line in table.split("<tr>")[1:]]
    assert lines[0] == ["x", "all rows", "region 0", "region 1"]
    curves = [curve for curve in report.facts["curves"] if curve["features"] == ["x"]]
    assert [curve["regions"] for curve in curves] == [[0], [1]]
    for number, (place, *told) in enumerate(lines[1:]):
        assert [curve["places"][number] for curve in curves] == [place, place]
        expected = [curve["mean"] + curve["effects"][number] for curve in curves]
        assert [float(text) for text in told[1:]] == pytest.approx(expected, rel=0.06)
    (chart, *_) = [part for part in charts(report) if "along x;" in part]
    for curve in curves:
        bars = re.findall(rf'class="err r{curve["regions"][0]}" d="([^"]*)"', chart)
        sizes = [np.ptp(heights(bar)) * abs(scale(chart)) for bar in bars]
        wanted = 2 * 1.96 * np.array(curve["errors"])
        assert sizes == pytest.approx(wanted, rel=0.1, abs=0.11 * abs(scale(chart)))


def test_the_page_says_once_what_the_thick_part_is(told, shared):
    for report in (told, shared):
        page = report.html()
        assert page.count("Thick: where nine of ten rows of the curve lie") == 1
    assert re.search(r"\n\.out \{[^}]*stroke-dasharray", STYLE)


def test_levels_without_order_are_all_drawn_alike():
    rng = np.random.default_rng(0)
    kind = rng.choice(list("uvwxyz"), 300, p=[0.6, 0.3, 0.04, 0.03, 0.02, 0.01])
    X = pd.DataFrame({"kind": pd.Categorical(kind), "s": rng.integers(0, 2, 300)})
    report = gx.explain(
        lambda X: (2 * X["s"].to_numpy() - 1) * X["kind"].cat.codes.to_numpy(), X, max_depth=1
    )
    (chart, *_) = [part for part in charts(report) if "along kind;" in part]
    assert "<circle" in chart
    assert "hollow" not in chart
    assert "out r" not in chart


def test_curves_that_regions_share_have_no_region_s_colour(shared):
    curves = shared.granite.curves_
    several = [c for label in curves.differs for c in curves.of(label) if len(c.regions) > 1]
    assert several
    page = shared.html()
    for curve in several:
        shown_with = " ".join(map(str, curve.regions))
        groups = re.findall(rf'<g class="k" data-r="{shown_with}">.*?</g>', page)
        assert groups
        for part in groups:
            assert re.search(r'class="[^"]* s\d"', part)
            assert not re.search(r'class="[^"]* r\d"', part)
    assert re.search(r"\.s0,\n\.s2 \{\n  --c: var\(--ink\)", STYLE)


def test_labels_have_the_colour_of_their_line(shared):
    found = 0
    for chart in charts(shared):
        line_of = dict(re.findall(r'<g class="k" data-r="([^"]*)">.*?(?:ln|gl|pt) (\w+)"', chart))
        for shown_with, look in re.findall(r'data-r="([^"]*)"><text class="h b (\w+)"', chart):
            assert line_of[shown_with] == look
            found += 1
    assert found > 4
    assert "var(--c)" in re.search(r"svg \.b \{[^}]*\}", STYLE)[0]


def test_what_divides_the_regions_is_not_the_same_everywhere(told, means):
    assert "group divides the regions and has one curve" in " ".join(str(told).split())
    for report in (told, means):
        rules = report.granite.partition_.rules
        dividing = {name for rule in rules for name, _ in rule.conditions}
        dividing &= {*report.granite.curves_.same, *report.granite.curves_.hardly}
        assert dividing
        page = report.html()
        heading = re.search(r'<h2 id="h-divides">(.*?)</h2>', page)[1]
        of_others = re.findall(r'<h2 id="h-same">(.*?)</h2>', page)
        for name in dividing:
            assert f"<code>{name}</code>" in heading
            assert not any(f"<code>{name}</code>" in other for other in of_others)
            assert f"<code>{name}</code> hardly" not in page


def test_bars_of_regions_without_own_curves_name_the_mean_prediction(means, told):
    assert means.granite.curves_.differs == ()
    page = means.html()
    assert "one curve per feature, and the mean prediction of each region" in page
    assert "where regions differ" not in page
    assert "one curve per feature by region, where regions differ" in told.html()


@pytest.mark.parametrize(("n", "ending"), [(6, "and x5"), (7, "and 2 more")])
def test_a_single_name_is_named(n, ending):
    X = pd.DataFrame(
        np.random.default_rng(0).normal(size=(300, n + 1)),
        columns=[*(f"x{k}" for k in range(n)), "turn"],
    )

    def model(X):
        x = np.asarray(X)
        return np.where(x[:, -1] > 0, 1.0, -1.0) * (x[:, :-1] @ np.linspace(1.3, 1.0, n))

    report = gx.explain(model, X, max_depth=1, max_samples=300)
    assert len(report.granite.curves_.differs) == n
    heading = re.search(r'<h2 id="h-differ">(.*?)</h2>', report.html())[1]
    names = re.sub("<[^>]*>", "", heading)
    assert "1 more" not in names
    assert names.count("x") == (n if ending.startswith("and x") else 5)


def test_all_rows_are_labelled_where_there_is_little_room(shared):
    narrow = [chart for chart in charts(shared) if 'class="chart narrow"' in chart]
    assert narrow
    for chart in narrow:
        assert re.search(r'data-r="all"><text class="h b rall"[^>]*>all</text>', chart)


def test_only_a_pointer_that_hovers_is_told_to_point(shared):
    page = shared.html()
    assert page.count("Point at a chart") == page.count('<span class="tip">Point at a chart') == 1
    assert re.search(
        r"\.tip \{\s*display: none;\s*\}\s*@media \(hover: hover\) and \(pointer: fine\)", STYLE
    )


def test_the_strip_of_a_phone_has_the_whole_rule_of_a_region(shared):
    page = shared.html()
    for region in shared.facts["regions"]:
        link = page[page.index(f'href="#region-{region["region"]}"') :]
        full = re.search(
            r'<span class="full">(.*?)</span>\s*</b>|<span class="full">(.*?)</a>', link, re.S
        )
        words = unescape(re.sub("<[^>]*>", "", full[0]))
        for _, name, predicate in region["conditions"]:
            assert f"{name} {predicate}" in " ".join(words.split())


def test_regions_of_few_rows_are_named_by_their_rule_and_marked_in_the_tree():
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.random(300)})

    def model(X):
        return np.where(np.asarray(X["b"]) > 0.8, 2.0, -2.0) * np.asarray(X["a"])

    report = gx.explain(model, X, max_depth=1, min_samples_leaf=20)
    small = [r for r in report.facts["regions"] if r["n_samples"] < 100]
    assert len(small) == 1
    (region,) = small
    (doubt,) = report.facts["finding"]["doubts"]
    assert doubt == (
        f"Where {region['words']} (region {region['region']}), there are only {region['n_samples']} "
        "search rows: take it as a hint."
    )
    tree = report.html().split('<ul class="tree">')[1].split("</main>")[0]
    tree = tree[: tree.index('class="toc"')]
    assert tree.count(">few rows<") == 2  # in the tree, and in the strip of a phone
    marked = tree[: tree.index(">few rows<")]
    assert marked.rindex(f'href="#region-{region["region"]}"') > marked.rindex('class="node in')
