"""Which tests judge a mutant does not hang on the names of modules."""

from __future__ import annotations

from pathlib import Path

import mutants
from mutants import PACKAGE, ROOT, files_of


def test_promises_come_first_and_the_room_last():
    assert mutants.tests_of(f"{PACKAGE}/displays/any_name.py") == [
        f"{PACKAGE}/displays/any_name.py",
        "tests/spec",
        "tests/use",
        "tests/words",
        "tests/parts",
        "tests/displays",
    ]


def test_a_room_without_a_folder_of_tests_is_judged_by_promises():
    assert mutants.tests_of(f"{PACKAGE}/new_room/fit.py")[1:] == [
        "tests/spec",
        "tests/use",
        "tests/words",
        "tests/parts",
    ]


def test_rooms_and_single_files_are_found():
    assert len(files_of("search")) > 1
    assert files_of("search/growth") == [Path(ROOT / PACKAGE / "search" / "growth.py")]
