"""The seconds that a fit took, apart from what it found: all that differs between the files of two equal fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from granite_xai.base.files import broken, require

SECONDS = "seconds"  # under this name findings keep times, wherever they stand


def without_times(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Findings without the seconds in them."""
    timeless = {}
    for name, finding in findings.items():
        if name == SECONDS:
            continue
        if isinstance(finding, Mapping):
            finding = without_times(finding)
        timeless[name] = finding
    return timeless


def times_in(findings: Mapping[str, Any]) -> dict[str, Any]:
    """Only the seconds in some findings, at their places; nothing where there are none."""
    times: dict[str, Any] = {}
    for name, finding in findings.items():
        if name == SECONDS:
            times[name] = dict(finding) if isinstance(finding, Mapping) else finding
        elif isinstance(finding, Mapping):
            inner = times_in(finding)
            if inner:
                times[name] = inner
    return times


def put_back(findings: dict[str, Any], times: object, place: str) -> None:
    """Put the seconds that `times_in` found into findings again; anything else is a FormatError."""
    if not isinstance(times, dict):
        raise broken(place, "is not an object")
    for name, time in times.items():
        place_of_entry = f"{place}.{name[:60]}"
        if name == SECONDS:
            require(_are_seconds(time), place_of_entry, "are not numbers of seconds")
            findings[name] = time
        else:
            inside = findings.get(name)
            if not isinstance(inside, dict):
                raise broken(place_of_entry, "belongs to no finding")
            put_back(inside, time, place_of_entry)


def _are_seconds(time: object) -> bool:
    """Whether this is a number, or numbers by stage."""
    numbers = list(time.values()) if isinstance(time, dict) else [time]
    return all(isinstance(number, int | float) for number in numbers)
