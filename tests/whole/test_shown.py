"""What a notebook and a terminal show of each object: short, plain, harmless."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn

import granite_xai as gx
from parts.random_rules import HOSTILE


@pytest.fixture(scope="module")
def g():
    X = pd.DataFrame(
        np.random.default_rng(0).choice([-1.0, 0.0, 1.0], size=(200, 2)), columns=["a", "<b>"]
    )
    return gx.Granite(lambda X: np.asarray(X)[:, 0] * np.where(np.asarray(X)[:, 1] > 0, 1, -1)).fit(
        X
    ), X


def shown(g, X):
    objects = [
        g.partition_,
        g.partition_[0],
        g.partition_[0].rule,
        g.evaluate(X),
        g.explain(X),
        g.explain_row(X[:1]),
    ]
    return [*objects, g.estimate_, gx.questions(), gx.explanations()]


def test_every_object_is_short_in_text_and_in_a_notebook(g):
    for each in shown(*g):
        assert len(repr(each).splitlines()) <= 30
        assert len(str(each)) < 4000
        assert "array(" not in repr(each)
        assert len(each._repr_html_()) < 8000


def test_a_fit_shows_its_finding_first_with_the_diagram_folded_below(g):
    """Converters of notebooks read one of both, so both say the same."""
    fitted, _ = g
    of_bundle = fitted._repr_mimebundle_()
    shown_finding, _, folded = fitted._repr_html_().partition("<details>")
    assert shown_finding == of_bundle["text/html"].partition("<details>")[0]
    headline = "The effect of a depends on &lt;b&gt;."
    assert 0 < shown_finding.index(headline) < shown_finding.index("all rows")
    assert shown_finding.count('class="swatch"') == 2
    assert "Next: g.report(X, y)" in shown_finding
    assert "sk-top-container" not in shown_finding
    assert "sk-top-container" in folded
    assert folded.endswith("</details>")
    assert of_bundle["text/plain"] == str(fitted)
    assert len(shown_finding) < 8000


def test_what_is_not_fitted_shows_the_diagram_of_scikit_learn(g):
    fitted, _ = g
    unfitted = gx.Granite(fitted.model)
    for html in (unfitted._repr_html_(), unfitted._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in html
        assert "granite-xai" not in html
    with sklearn.config_context(display="text"):
        assert not hasattr(unfitted, "_repr_html_")
        assert "depends on" in fitted._repr_html_()


def test_names_cannot_act_on_a_page(g):
    for each in shown(*g):
        assert "<b>" not in each._repr_html_()
    assert "<b>" not in g[0]._repr_html_().partition("<details>")[0]
    options = gx.Granite(g[0].model, features=["<b>"]).fit(g[1])._repr_html_()
    assert "['<b>']" not in options
    assert "[&#x27;&lt;b&gt;&#x27;]" in options
    for name in HOSTILE:
        rule = gx.Rule.parse("x ≤ 1").and_(name, gx.Rule.parse("x > 0").conditions[0][1])
        words = rule._repr_html_().partition('<p class="">')[2].partition("</p>")[0]
        assert "<" not in words
        assert len(words) > len(name)


def test_a_rule_and_a_region_read_as_sentences(g):
    partition = g[0].partition_
    assert repr(partition[0].rule) == "<Rule: `<b>` ≤ 0>"
    assert repr(partition[0]).startswith("<Region 0: `<b>` ≤ 0; ")
    assert repr(gx.Partition.from_rules(["x ≤ 1", "x > 1"])[1]) == "<Region 1: x > 1>"
    assert partition._repr_html_().count('class="swatch"') == 2


def test_an_evaluation_leads_with_how_far_rows_stray(g):
    found = g[0].evaluate(g[1])
    assert repr(found) == "<Evaluation of 200 rows in 2 regions: 100% of the heterogeneity removed>"
    assert "inside the 2 regions by ±0" in str(found).splitlines()[0]
    assert str(found).splitlines()[2].split() == [
        "region",
        "rows",
        "share",
        "rows",
        "stray",
    ]


def test_an_explanation_of_many_sets_takes_a_screen():
    X = np.random.default_rng(0).normal(size=(30, 60))
    found = gx.explanations()["pdp"].explain(lambda X: X.sum(axis=1), X)
    assert repr(found) == "<Explanation: pdp of 60 features, 1 region, 30 rows>"
    assert str(found).endswith("… and 30 more")
    assert found._repr_html_().count("<tr>") == 1 + 30
    assert "30 more" in found._repr_html_()


def test_the_catalogs_are_tables_and_still_dictionaries():
    assert str(gx.questions()).splitlines()[1].split() == ["ice-pdp", "ice", "pdp", "local"]
    assert dict(gx.questions()) == gx.questions()
    assert gx.explanations()["preddiff"] == gx.explanations()["cice"]
    assert gx.explanations()["csage"].masking.key == "conditional"
