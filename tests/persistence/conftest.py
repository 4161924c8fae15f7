"""Fits that are saved once for all tests."""

from __future__ import annotations

import pytest

import granite_xai as gx
from persistence.saved_objects import (
    fitted,
)
from persistence.shared import QUESTIONS


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Each question fitted once and saved twice: without its rows, and with them."""
    folder, made = tmp_path_factory.mktemp("saved"), {}

    def of(name):
        if name not in made:
            granite = fitted(QUESTIONS[name])
            paths = [
                gx.save(granite, folder / f"{name}-{data}.json", data) for data in (False, True)
            ]
            made[name] = (granite, *paths)
        return made[name]

    return of
