"""The tests that judge mutants exist: a file that is not there fails, and every fault would count as found."""

from __future__ import annotations

from pathlib import Path

from mutants import ROOMS

ROOT = Path(__file__).parents[2]


def test_every_named_test_file_exists():
    named = {file for files in ROOMS.values() for file in files}
    assert sorted(file for file in named if not (ROOT / "tests" / file).exists()) == []


def test_every_named_room_or_module_exists():
    for room in ROOMS:
        place = ROOT / "src" / "granite_xai" / room
        assert place.is_dir() or place.with_suffix(".py").is_file(), room
