"""The page, read by a strict parser: nothing of the user's acts, nothing is requested."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.report.page import TEMPLATES, marked
from report.cases import HOSTILE

VOID = {"meta", "input", "link", "br", "img"}
IMPLIED = {"td", "tr"}


class Page(HTMLParser):
    """Elements, attributes, text and what script and style hold."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.inline, self.words, self._inside = [], {}, [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data):
        (self.inline.setdefault(self._inside[-1], []) if self._inside else self.words).append(data)


@pytest.fixture(scope="module")
def page(hostile):
    return Page(hostile.html())


def test_no_name_becomes_an_element_or_a_handler(page):
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == tags.count("style") == 1
    assert not {"img", "link", "iframe", "object", "form", "base"} & set(tags)
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [
        name
        for name in names
        if name.startswith("on") or name in ("style", "src", "srcdoc", "xlink:href")
    ]


def test_the_parser_would_find_an_element():
    assert ("img", {"src": "x", "onerror": "alert(1)"}) in Page("<p>" + HOSTILE[1]).elements


def test_hostile_names_are_there_as_text(page):
    text = "".join(page.words)
    for name in HOSTILE[:5]:
        assert name in text
    assert "49" not in HOSTILE[4]
    assert "{{7*7}}" in text


def test_what_hides_is_made_visible(hostile):
    html = hostile.html()
    assert not re.search("[\x00-\x08\x0b-\x1f\u2028\u202a-\u202e\ud800-\udfff]", html)
    for escape in ("\\u2028", "\\udc80", "\\u001b", "\\u202e", "\\u0000"):
        assert escape in html


def test_json_escapes_what_scripts_and_files_cannot_hold(hostile):
    text = hostile.json()
    assert "\u2028" not in text
    assert "\\udc80" in text
    text.encode("utf-8")


def test_the_policy_allows_only_what_is_in_the_page(page):
    policy = next(
        a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    for kind in ("script", "style"):
        digest = base64.b64encode(
            hashlib.sha256("".join(page.inline[kind]).encode()).digest()
        ).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_links_stay_on_the_page(page):
    links = [attributes["href"] for _, attributes in page.elements if "href" in attributes]
    assert links
    assert all(link.startswith("#") for link in links)
    assert "url(" not in "".join(page.inline["style"])
    assert "@import" not in "".join(page.inline["style"])


def test_templates_are_source_that_can_be_read():
    """Indented, one element a line where it has content, no line over 120 characters."""
    for path in TEMPLATES.rglob("*"):
        if path.is_file():
            lines = path.read_text(encoding="utf-8").splitlines()
            assert max(map(len, lines)) <= 120, path


def test_the_script_is_small(page):
    assert len("".join(page.inline["script"])) < 12_000


def test_names_are_isolated_from_the_direction_of_the_page(page):
    assert "unicode-bidi: isolate" in "".join(page.inline["style"])
    assert sum(tag == "bdi" for tag, _ in page.elements) > len(HOSTILE)


def test_long_names_are_cut_with_the_full_text_on_hover(page):
    titles = [
        attributes["title"]
        for tag, attributes in page.elements
        if tag == "bdi" and "title" in attributes
    ]
    assert HOSTILE[10] in titles
    assert HOSTILE[10] not in "".join(page.words)


def test_of_many_features_the_largest_are_drawn_and_the_rest_is_in_a_table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.integers(0, 3, (40, 45)).astype(float), columns=[f"column {i}" for i in range(45)]
    )
    weights = np.arange(45) + 1.0
    report = gx.explain(
        lambda X: np.asarray(X) @ weights + np.asarray(X)[:, 44] * np.asarray(X)[:, 43], X
    )
    assert report.html().count('class="plot"') <= 15
    assert "Show all 45 features" in report.html()
    assert len(report.html().encode()) < 400_000


def test_a_notebook_gets_a_sandboxed_frame(hostile):
    """Scripts run inside it, without the notebook's origin; nothing of the page is outside the attribute."""
    parsed = Page(hostile._repr_html_())
    ((tag, attributes),) = parsed.elements
    assert tag == "iframe"
    assert attributes["sandbox"] == "allow-scripts"
    assert attributes["srcdoc"] == hostile.html()
    assert parsed.words == []


def test_every_figure_has_a_name_and_its_data(page):
    figures = [
        attributes
        for tag, attributes in page.elements
        if tag == "svg" and "chart" in attributes.get("class", "").split()
    ]
    assert figures
    assert all(figure["role"] == "img" and figure["aria-label"] for figure in figures)
    plots = [attributes for _, attributes in page.elements if attributes.get("class") == "plot"]
    tables = [attributes for _, attributes in page.elements if attributes.get("class") == "vals"]
    assert len(plots) == len(tables) > 0


def test_identifiers_are_unique_and_labels_exist(page):
    known = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(known) == len(set(known))
    wanted = {
        attributes["aria-labelledby"]
        for _, attributes in page.elements
        if "aria-labelledby" in attributes
    }
    wanted |= {
        attributes["href"][1:]
        for _, attributes in page.elements
        if attributes.get("href", "").startswith("#")
    }
    assert wanted <= set(known)


def test_names_of_features_are_set_as_code_and_escaped():
    text = marked("Where a<b is 1, hr peaks; hr_2 and a do not.", ["hr", "a<b", "a"])
    assert str(text) == "Where <code>a&lt;b</code> is 1, <code>hr</code> peaks; hr_2 and a do not."
