"""The page on reliability is up to date, and no case stands twice."""

from contract.doc_programs import doc_program


def test_the_page_is_up_to_date():
    maker = doc_program("make_reliability")
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), (
        "run python docs/make_reliability.py"
    )


def test_every_case_stands_once():
    cases = [number for group in doc_program("make_reliability").CASES.values() for number in group]
    assert len(cases) > 100
    assert len(cases) == len(set(cases))
