"""Text from users: nothing acts on a terminal, what is too long is cut, tables line up."""

from __future__ import annotations

import pytest

from granite_xai.base import text

EXAMPLES = [
    (text.quoted, ("a`b\x1b", "`"), r"`a\`b\x1b`"),
    (text.plain, ("a\x1b[31m\nb",), r"a\x1b[31m\nb"),
    (text.plain, ("a\\b",), "a\\b"),
    (text.drawable, ("a_$x^2$\u202e",), r"a_\$x^2\$\u202e"),
    (text.visible, ("a\x00\u202eb",), r"a\u0000\u202eb"),
    (text.visible, (1.5,), 1.5),
    (text.shortened, ("abcdef", 4), "abc…"),
    (text.shortened, ("abcdef", 5, 2), "ab…ef"),
    (
        text.distinct_labels,
        (["income_before_tax", "income_before_fees", "age"], 9),
        ["incom…tax", "inco…fees", "age"],
    ),
    (text.distinct_labels, (["a", "b", "a"],), ["a", "b", "a (2)"]),
    (text.wrapped, ("workingday ≤ 0 and hr > 6", 16, 2), "workingday ≤ 0\nand hr > 6"),
    (text.wrapped, ("abc_defgh_ijk", 6, 2), "abc_\ndefgh…"),
    (text.wrapped, (r"abcde\$f", 6, 2), "abcde\n\\$f"),
    (text.aligned, ([["a", "1"], ["bb", "10"]],), "a    1\nbb  10"),
    (text.aligned, ([["日本", "1"], ["a", "10"]],), "日本   1\na     10"),
    (text.rows_text, ([0, 1, 2, 3, 4],), "rows 0, 1, 2, 3, 4"),
    (text.rows_text, ([3, 18, 42, 77, 90, 91],), "rows 3, 18, 42, 77, 90, …"),
    (text.rows_text, ([0, 1, 2, 3, 4], 6), "rows 0, 1, 2, 3, 4, …"),
    (text.rows_text, (["a"], 1), "row 'a'"),
    (text.count_text, (2, "NaN", ["a", "b"]), "2 NaN (rows 'a', 'b')"),
    (text.column_text, ("temp", 7), "column 'temp' (index 7)"),
    (text.listing, (["a", "b", "c"], 2), "'a', 'b', … (3 in all)"),
]


@pytest.mark.parametrize(("write", "arguments", "expected"), EXAMPLES)
def test_each_function_writes_its_example(write, arguments, expected):
    assert write(*arguments) == expected


def test_S04_control_characters_in_names_and_labels_are_escaped():
    assert "\x1b" not in text.column_text("a\x1b[31m\nb", 0)
    assert "\u202e" not in text.column_text("a\u202eb", 0)
    assert "\x1b" not in text.rows_text(["\x1b[31m"])


def test_S01_markup_is_left_alone():
    class Markup(str):
        def __html__(self):
            return self

    assert text.visible(Markup("<b>\u2028</b>")) == "<b>\u2028</b>"
