"""The story in Markdown."""

from __future__ import annotations

from granite_xai.report.markdown import markdown


def test_markdown_says_what_the_page_says(report, tmp_path):
    text = report.markdown(tmp_path / "card.md")
    assert (tmp_path / "card.md").read_text(encoding="utf-8") == text
    assert report.story["opening"] in text
    assert text.count("\n| ") >= 5 + len(report.story["regions"])
    assert "## Rows given for testing" in text


def test_names_cannot_act_in_markdown(hostile, golden_reports):
    for told in (hostile, golden_reports["classifier"]):
        text = told.markdown()
        assert "<script" not in text.replace("\\<", "")
        assert all(line.isprintable() for line in text.splitlines())


def test_a_name_with_marks_stays_one_cell(report):
    regions = [{**region, "rule": "a|b *c*"} for region in report.story["regions"]]
    text = markdown({**report.story, "regions": regions})
    lines = [line for line in text.splitlines() if r"a\|b \*c\*" in line]
    assert len(lines) == len(regions)
    assert {line.replace(r"\|", "").count("|") for line in lines} == {6}
