"""Objects that print themselves: sentences, a table, the same in a notebook."""

from __future__ import annotations

from granite_xai.base.printable import LINES_SHOWN, Printable, PrintableDict, TextSummary


class Report(Printable):
    def __init__(self, lines):
        self.lines = lines

    def _summary(self):
        rows = [(f"<{line}>", line) for line in range(self.lines)]
        return TextSummary(sentences=["Two\x1b lines."], table=[("name", "n"), *rows], left=(0,))


class Unspoken(Printable):
    def __repr__(self):
        return "<Unspoken>"


def test_sentences_stand_above_the_table_and_nothing_acts_on_a_terminal():
    assert str(Report(2)) == "Two\\x1b lines.\n\nname  n\n<0>   0\n<1>   1"


def test_a_table_is_cut_after_a_screen():
    assert str(Report(LINES_SHOWN)).endswith(f"<{LINES_SHOWN - 1}>  {LINES_SHOWN - 1}")
    assert str(Report(LINES_SHOWN + 1200)).endswith("\n… and 1,200 more")


def test_S01_a_notebook_shows_the_same_as_a_table_and_no_markup_of_the_user():
    html = Report(1)._repr_html_()
    assert '<p class="">Two\\x1b lines.</p>' in html
    assert '<th class="left">name</th><th>n</th>' in html
    assert '<td class="left">&lt;0&gt;</td><td>0</td>' in html


def test_a_notebook_cuts_a_long_table_too():
    html = Report(LINES_SHOWN + 1200)._repr_html_()
    assert html.count("<tr>") == LINES_SHOWN + 1
    assert "… and 1,200 more" in html


def test_an_object_without_a_summary_prints_its_repr():
    assert str(Unspoken()) == "<Unspoken>"


def test_sentences_may_stand_without_a_table():
    summary = TextSummary(sentences=["One.", "Two."], table=[])
    assert str(summary) == "One.\nTwo."
    assert "<table>" not in summary.html()


def test_a_printable_dictionary_shows_itself_as_a_table():
    entries = PrintableDict({"a": 1.5}, ("name", "half"), lambda entry: (entry / 2,))
    assert repr(entries) == str(entries) == "name  half\na     0.75"
    assert entries == {"a": 1.5}
