"""The report in a browser: what a reader sees, presses and never triggers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from report.browser import Browser
from report.cases import HOSTILE, hostile_report

pytestmark = pytest.mark.browser

SHOWN = "[...document.querySelectorAll('.view')].filter(v => !v.hidden).map(v => v.dataset.region)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["temp", "wind", "hum"])

    def model(X):
        x = np.asarray(X)
        return x[:, 0] * np.where(x[:, 1] > 0, 1, -1) + x[:, 2]

    gx.explain(model, X, model(X), test=(X, model(X))).html(folder / "plain.html")
    report = hostile_report()
    report.html(folder / "hostile.html")
    (folder / "notebook.html").write_text(f"<!doctype html><body>{report._repr_html_()}", encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["plain", "hostile", "notebook"])
def test_S01_S02_no_request_no_script_no_complaint(browser, files, name):
    browser.open(files / f"{name}.html")
    assert browser.requests == []
    assert browser.complaints == []


def test_S01_a_script_would_be_noticed(browser, tmp_path):
    """The check above can fail."""
    page = tmp_path / "bad.html"
    page.write_text("<!doctype html><script>console.log(1)</script><img src='http://127.0.0.1:9/x'>", encoding="utf-8")
    browser.open(page)
    assert browser.complaints
    assert browser.requests == ["http://127.0.0.1:9/x"]


def test_S01_hostile_titles_are_text(browser, files):
    browser.open(files / "hostile.html")
    assert browser.run("document.title").startswith(HOSTILE[0])
    assert browser.run("document.querySelectorAll('script').length") == 1
    assert browser.run("document.querySelectorAll('img, iframe, [onload], [onerror], [onmouseover]').length") == 0


def test_S16_the_frame_of_a_notebook_has_no_origin(browser, files):
    browser.open(files / "notebook.html")
    assert browser.run("document.querySelector('iframe').contentDocument") is None


def test_the_region_selector_shows_one_region_at_a_time(browser, files):
    browser.open(files / "plain.html")
    assert set(browser.run(SHOWN)) == {"all"}
    browser.run("document.querySelector('input[value=\"1\"]').click()")
    assert set(browser.run(SHOWN)) == {"1"}


def test_the_region_selector_works_by_keyboard(browser, files):
    browser.open(files / "plain.html")
    browser.run("document.querySelector('input[value=all]').focus()")
    browser.press("ArrowRight")
    assert set(browser.run(SHOWN)) == {"0"}


def test_a_table_is_sorted_by_its_head_with_the_keyboard(browser, files):
    browser.open(files / "plain.html")
    rows = "[...document.querySelectorAll('#regions tbody tr')].map(r => Number(r.cells[2].dataset.value))"
    browser.run("document.querySelectorAll('#regions thead button')[2].focus()")
    browser.press("Enter")
    down = browser.run(rows)
    browser.press("Enter")
    assert down == sorted(down, reverse=True)
    assert browser.run(rows) == sorted(down)
    assert browser.run("document.querySelectorAll('#regions thead th')[2].getAttribute('aria-sort')") == "ascending"


def test_a_figure_is_enlarged_and_closed_with_escape(browser, files):
    browser.open(files / "plain.html")
    browser.run("document.querySelector('.zoom').focus()")
    browser.press("Enter")
    assert browser.run("document.getElementById('zoom').open && !!document.querySelector('#stage svg')")
    browser.press("Escape")
    assert not browser.run("document.getElementById('zoom').open")


def test_the_data_of_a_figure_open_as_a_table(browser, files):
    browser.open(files / "plain.html")
    browser.run("document.querySelector('#effects summary').click()")
    assert browser.run("document.querySelector('#effects details table').offsetHeight") > 0


@pytest.mark.parametrize("name", ["plain", "hostile"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_screen(browser, files, name, width):
    """Wide tables scroll in a box of their own."""
    browser.open(files / f"{name}.html", width=width)
    assert browser.run("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_no_label_of_an_axis_leaves_its_figure(browser, files, name):
    browser.open(files / f"{name}.html")
    outside = browser.run(
        "[...document.querySelectorAll('svg.chart')].filter(s => s.getBoundingClientRect().width).flatMap(s => {"
        "const b = s.getBoundingClientRect();"
        "return [...s.querySelectorAll('text')].filter(t => {const r = t.getBoundingClientRect();"
        "return r.left < b.left - 1 || r.right > b.right + 1 || r.bottom > b.bottom + 1}).map(t => t.textContent)})"
    )
    assert outside == []


def test_dark_and_light_have_enough_contrast(browser, files):
    """Text on the page: at least 7 to 1, soft text at least 4.5 to 1."""
    ratio = """(name) => {
        const light = (c) => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(n => n / 255)
            .map(n => n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
            return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
        const [a, b] = [getComputedStyle(document.querySelector(name)).color,
            getComputedStyle(document.body).backgroundColor].map(light);
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }"""
    for scheme in ("light", "dark"):
        browser.media(scheme=scheme)
        browser.open(files / "plain.html")
        assert browser.run(f"({ratio})('.lead')") > 7
        assert browser.run(f"({ratio})('.note')") > 4.5
    browser.media()


def test_print_shows_every_region_and_no_controls(browser, files):
    browser.open(files / "plain.html")
    browser.media("print")
    hidden = "[...document.querySelectorAll('.view')].filter(v => !v.offsetHeight).length"
    assert browser.run(hidden) == 0
    assert browser.run("document.querySelector('.selector').offsetHeight") == 0
    browser.media()
