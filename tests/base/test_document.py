"""What an object says of itself is the same as text, in a notebook and in Markdown."""

from __future__ import annotations

import re

import pytest

from granite_xai.base.document import (
    LINES_SHOWN,
    NODES_SHOWN,
    Bar,
    Document,
    Fold,
    Lead,
    Paragraph,
    Printable,
    PrintableDict,
    RegionLabel,
    Table,
    Tree,
    TreeLine,
    region_color,
)


class Listing(Printable):
    def __init__(self, lines):
        self.lines = lines

    def _document(self):
        rows = [(f"<{line}>", line) for line in range(self.lines)]
        return Document([Paragraph("Two\x1b lines."), Table(("name", "n"), rows, left=(0,))])


class Unspoken(Printable):
    def __repr__(self):
        return "<Unspoken>"


def tree(n_leaves=2):
    lines = [TreeLine("", 0, RegionLabel(None, "all rows"), ["100%"])]
    leaves = [RegionLabel(leaf, f"x = {leaf}") for leaf in range(n_leaves)]
    lines += [TreeLine("├─ ", 1, label, [Bar("50%", 0.5)]) for label in leaves]
    return Tree(["rows"], lines)


def test_sentences_stand_above_the_table_and_nothing_acts_on_a_terminal():
    assert str(Listing(2)) == "Two\\x1b lines.\n\nname  n\n<0>   0\n<1>   1"


def test_a_long_table_and_a_large_tree_are_cut_after_a_screen():
    assert str(Listing(LINES_SHOWN)).endswith(f"<{LINES_SHOWN - 1}>  {LINES_SHOWN - 1}")
    assert str(Listing(LINES_SHOWN + 1200)).endswith("\n… and 1,200 more")
    html = Listing(LINES_SHOWN + 1200)._repr_html_()
    assert html.count("<tr>") == LINES_SHOWN + 1
    assert "… and 1,200 more" in html
    large = Document([tree(NODES_SHOWN + 4)])
    for text in (large.text(), large.notebook(), large.markdown()):
        assert "… and 5 more" in text
        assert f"x = {NODES_SHOWN - 2}" in text
        assert f"x = {NODES_SHOWN - 1}" not in text


def test_S01_a_notebook_shows_the_same_as_a_table_and_no_markup_of_the_user():
    html = Listing(1)._repr_html_()
    assert html.startswith('<div class="granite-xai"><style>')
    assert '<p class="">Two\\x1b lines.</p>' in html
    assert '<th class="left">name</th><th>n</th>' in html
    assert '<td class="left">&lt;0&gt;</td><td>0</td>' in html


def test_markdown_holds_no_markup_of_the_user():
    said = Document([Lead("*a*"), Table(("|",), [("<b>",)])])
    assert said.markdown() == "**\\*a\\***\n\n| \\| |\n| --- |\n| \\<b\\> |"


def test_an_object_without_words_prints_its_repr():
    assert str(Unspoken()) == "<Unspoken>"


def test_what_is_empty_is_left_out():
    said = Document([Lead(""), Paragraph("One."), Paragraph(""), Paragraph("Two.")])
    assert said.text() == "One.\nTwo."
    assert said.markdown() == "One.\n\nTwo."
    assert said.notebook().count("<p ") == 2


def test_a_blank_line_parts_what_was_found_from_notes():
    said = Document(
        [Lead("Found."), Paragraph("So."), Paragraph("Rows.", "aside"), Paragraph("N.", "note")]
    )
    assert said.text() == "Found.\nSo.\n\nRows.\nN."


def test_sentences_are_broken_at_a_width():
    said = Document([Paragraph("one two three four"), Paragraph("five")])
    assert said.text(width=9) == "one two\nthree\nfour\n\nfive"


def test_a_fold_has_its_heading_everywhere():
    said = Document([Fold("More", [Paragraph("One."), tree()])])
    assert said.text().startswith("More\n\nOne.\n\n")
    assert said.markdown().startswith("## More\n\nOne.\n\n| region | rows |")
    assert "<details><summary>More</summary>" in said.notebook()


def test_a_tree_keeps_its_indents_where_styles_are_taken_away():
    said = Document([tree()])
    assert said.text().splitlines() == [
        "             rows",
        "all rows     100%",
        "├─ 0  x = 0   50%",
        "├─ 1  x = 1   50%",
    ]
    for text in (said.notebook(), said.markdown()):
        depths = [
            line.count("\u2003")
            for line in text.replace("<tr>", "\n").splitlines()
            if "x = " in line
        ]
        assert depths == [2, 2]


@pytest.mark.parametrize(
    ("fraction", "width"), [(0.5, "50%"), (-1.0, "0%"), (7.0, "100%"), (0.0, "0%")]
)
def test_a_bar_stays_on_its_track(fraction, width):
    html = Document([Table(["a"], [[Bar("x", fraction)]])]).notebook()
    assert f"width: {width}" in html
    assert 'aria-hidden="true"' in html


def test_a_region_has_its_number_and_colour():
    assert str(RegionLabel(2, "hr > 6")) == "2  hr > 6"
    assert str(RegionLabel(None, "all rows")) == "all rows"
    html = RegionLabel(1, "hr > 6").html()
    assert region_color(1) in html
    assert ">1</span>" in html


def test_colours_are_distinct_and_end():
    assert len({region_color(number) for number in range(8)}) == 8
    assert region_color(8) == region_color(-1) == ""


def test_a_printable_dictionary_shows_itself_as_a_table():
    entries = PrintableDict({"a": 1.5}, ("name", "half"), lambda entry: (entry / 2,))
    assert repr(entries) == str(entries) == "name  half\na     0.75"
    assert entries == {"a": 1.5}


def test_columns_begin_at_the_left_in_jupyter_too():
    """Its own rule for cells has two classes and an element: ours must have more, or trees lose their indents."""
    shown = Document([Table(["", "rows"], [["x > 0", 7]], left=(0,))]).notebook()
    (rule,) = re.findall(r"([^}]*\.left[^{]*)\{ text-align: left", shown)
    for selector in rule.split(","):
        n_classes = selector.count(".")
        n_elements = len(re.findall(r"(?:^|\s)[a-z]+", selector))
        assert (n_classes, n_elements) > (2, 1)
