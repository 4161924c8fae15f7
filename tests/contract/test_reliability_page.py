"""The page on reliability is up to date, and every case has a test or waits for a part of the package."""

import pytest

from contract.doc_programs import doc_program


@pytest.fixture(scope="module")
def maker():
    return doc_program("make_reliability")


def test_the_page_is_up_to_date(maker):
    assert maker.PAGE.read_text(encoding="utf-8") == maker.page(), (
        "run python docs/make_reliability.py"
    )


def test_every_case_has_a_test(maker):
    tests = maker.tests_of()
    cases = [number for group in maker.CASES.values() for number in group]
    assert len(cases) == len(set(cases))
    assert [number for number in cases if number not in tests] == []


def test_numbers_in_names_of_tests_are_cases(maker):
    """A number that no list knows is a slip of the pen; C and I are choices and invariants of the design."""
    known = {number for group in maker.CASES.values() for number in group}
    assert {number for number in maker.tests_of() if number[0] not in "CI"} - known == set()
