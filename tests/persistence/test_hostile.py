"""Mutated files raise nothing but our own errors, and run nothing (F05)."""

from __future__ import annotations

import copy
import json
import warnings

import pytest
from hypothesis import given, settings, strategies as st

import granite_xai as gx
from granite_xai.base.errors import FormatError
from persistence.shared import (
    CURRENT,
    EVERY_FIXTURE,
    NEW,
    edited,
    replace_in,
)
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


DOCUMENTS = {
    f"{path.parent.name}/{path.stem}": json.loads(path.read_text(encoding="utf-8"))
    for path in EVERY_FIXTURE
}


JUNK = [
    *(None, True, False, -1, 0, 1, 7, 10**18, -(10**18), 1e308, -0.5, 5e-324),
    *(
        "",
        "x",
        "nan",
        "ff",
        "0",
        "../../etc/passwd",
        "object",
        "str",
        "float16",
        "datetime64[ns]",
        "Tree",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        [1, 2],
        ["a", "b"],
        {"tuple": []},
        {"mapping": [[[], 1]]},
        {"number": "nan"},
    ),
    *(
        {"type": "Tree"},
        {"type": "Joint", "groups": 5},
        {"array": ["datetime64[ns]", [1]]},
        {"shape": [1], "cells": [1.5]},
    ),
    *(
        {"distinct": ["a"], "codes": [0, 1]},
        {"array": ["int8", [300]]},
        [0.5] * 80,
        list(range(80)),
        "the table of this file",
    ),
]


def walk(draw, data):
    """A random place in a document: the container and the key."""
    while True:
        key = (
            draw(st.sampled_from(sorted(data)))
            if isinstance(data, dict)
            else draw(st.integers(0, len(data) - 1))
        )
        inner = data[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 4)) == 0:
            return data, key
        data = inner


@st.composite
def mutated(draw):
    """A saved document with one to three entries replaced, removed, doubled or swapped with others."""
    document = copy.deepcopy(DOCUMENTS[draw(st.sampled_from(sorted(DOCUMENTS)))])
    for _ in range(draw(st.integers(1, 3))):
        if not document:
            break
        container, key = walk(draw, document)
        other, other_key = walk(draw, document)
        match draw(st.sampled_from(["junk", "junk", "remove", "double", "swap"])):
            case "junk":
                container[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
            case "remove":
                del container[key]
            case "double" if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                container[key] = copy.deepcopy(other[other_key])
    return json.dumps(document).encode()


def load_bytes(raw, folder):
    path = folder / "mutated.json"
    path.write_bytes(raw)
    return gx.load(path, verify=False)


def use(loaded):
    """What a loaded object is for; a mutant may refuse in our own words, never in others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(loaded, gx.Granite | gx.Partition):
            str(loaded.partition_ if isinstance(loaded, gx.Granite) else loaded)
            loaded.apply(NEW)
        else:
            loaded.frame()
        if isinstance(loaded, gx.Granite):
            str(loaded.estimate_)
            loaded.predict(NEW)
            str(gx.Report(loaded))


@settings(examples(300), suppress_health_check=[])
@given(raw=mutated())
def test_F05_mutated_documents_raise_nothing_but_format_errors(raw, tmp_path_factory):
    try:
        loaded = load_bytes(raw, tmp_path_factory.getbasetemp())
    except FormatError:
        return
    try:
        use(loaded)
    except gx.GraniteError:
        return


@settings(examples(200), suppress_health_check=[])
@given(data=st.data())
def test_F05_mutated_bytes_raise_nothing_but_format_errors(data, tmp_path_factory):
    raw = bytearray((CURRENT / "partition.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        raw[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    try:
        load_bytes(bytes(raw), tmp_path_factory.getbasetemp())
    except FormatError:
        return


def test_F05_loading_a_mutant_runs_nothing(monkeypatch, tmp_path):
    """Whatever a file says, no code of it and no shell is reached."""
    ran = []
    gx.load(
        CURRENT / "granite.json"
    )  # the hints of our own classes are read once, before any file counts
    for name in (
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "builtins.exec",
        "pickle.loads",
        "pickle.load",
    ):
        monkeypatch.setattr(name, lambda *a, _name=name, **k: ran.append(_name))
    for value in (
        "__import__('os').system('x')",
        {"type": "os.system", "command": "x"},
        "!!python/object",
    ):
        for name in ("question", "partitioner", "influence", "random_state", "output"):
            change = replace_in("granite", "parameters", name, value=value)
            path = edited(CURRENT / "granite.json", tmp_path, change)
            try:
                gx.load(path, verify=False)
            except FormatError:
                continue
    assert ran == []
