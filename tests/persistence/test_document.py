"""The document: pickles, broken, changed and large files (F04 to F06, F10)."""

from __future__ import annotations

import os
import pickle
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.base.errors import FormatError
from granite_xai.tables import (
    read_table,
)
from persistence.saved_objects import (
    model,
)
from persistence.shared import (
    CURRENT,
)

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


@pytest.mark.parametrize("name", ["partition", "explanation", "evaluation", "granite"])
def test_F04_a_truncated_or_empty_file_is_a_format_error(name, tmp_path):
    whole = (CURRENT / f"{name}.json").read_bytes().rstrip()
    path = tmp_path / "a.json"
    for end in {0, 1, 20, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"F04: .*a\.json"):
            gx.load(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_F05_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", tmp_path, Path("/dev/null")):
        with pytest.raises(FormatError, match="F05: .* is not a regular file"):
            gx.load(path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_F06_a_pickled_granite_is_refused(saved, tmp_path, protocol):
    path = tmp_path / "a.json"
    path.write_bytes(pickle.dumps(saved("ice-pdp")[0], protocol=protocol))
    with pytest.raises(FormatError, match=r"F06: .*pickle can run code; use granite_xai\.load"):
        gx.load(path)


def test_F10_names_of_any_kind_survive_and_the_file_is_ascii(tmp_path):
    names = ["ä≤", "\u202eevil", "</script>", "b<=c", 'quo"te', "nul\x00", "\ud800", "😀 😀"]
    rules = gx.Partition.from_rules(
        [gx.Rule.parse("x ≤ 1"), gx.Rule.parse("x > 1")], names=["x", *names]
    )
    path = gx.save(rules, tmp_path / "a.json")
    raw = path.read_bytes()
    assert raw.isascii()
    assert raw.endswith(b"}\n")
    assert b"\r" not in raw
    assert gx.load(path).names == ("x", *names)


def test_F04_a_file_that_was_changed_by_accident_is_noticed(saved, tmp_path):
    """One digit of one number: the file is whole and well-formed, only not what was saved."""
    path = saved("ice-pdp")[1]
    raw = path.read_bytes()
    place = raw.index(b'"remaining": 0.') + len(b'"remaining": 0.')
    changed = tmp_path / "changed.json"
    changed.write_bytes(
        raw[:place] + (b"1" if raw[place : place + 1] != b"1" else b"2") + raw[place + 1 :]
    )
    with pytest.raises(
        FormatError, match=r"F04: .*changed\.json was changed after it was saved.*verify=False"
    ) as caught:
        gx.load(changed)
    assert caught.value.argument == "path"
    loaded = gx.load(changed, model=model, verify=False)
    assert loaded.remaining_ != saved("ice-pdp")[0].remaining_
    assert loaded.partition_ == saved("ice-pdp")[0].partition_


def test_every_byte_counts_but_the_line_end(tmp_path):
    path = gx.save(gx.Partition.from_rules(["x ≤ 1", "x > 1"]), tmp_path / "a.json")
    raw = path.read_bytes()
    for end in (b"", b"\n", b"\r\n"):
        path.write_bytes(raw.rstrip() + end)
        assert len(gx.load(path)) == 2
    refused = 0
    for place in range(len(raw.rstrip())):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(FormatError):
            gx.load(path)
        refused += 1
    assert refused > 300
    path.write_bytes(raw.replace(b'"sha256"', b'"sha"'))
    with pytest.raises(FormatError, match="sha256"):
        gx.load(path)


def peak_of(path):
    tracemalloc.start()
    try:
        loaded = gx.load(path)
        return loaded, tracemalloc.get_traced_memory()[1] / path.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_F05_a_large_file_takes_at_most_twice_its_size(tmp_path):
    """Twenty megabytes of numbers, with rows: memory at its peak, while the file is read and checked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4))
    explanation = gx.Explainer().explain(lambda X: X[:, 0], X[:50])
    values = rng.normal(size=(60_000, 4))
    part = replace(
        explanation.parts[0],
        rows=np.arange(60_000),
        values=values,
        errors=abs(values),
        base=rng.normal(size=60_000),
    )
    path = gx.save(
        replace(explanation, parts=(part,) * 2, table=read_table(X, missing="error")),
        tmp_path / "a.json",
        True,
    )
    assert path.stat().st_size > 20_000_000
    loaded, peak = peak_of(path)
    np.testing.assert_array_equal(loaded.parts[1].values, values)
    np.testing.assert_array_equal(loaded.table.native, X)
    assert peak < 2


def test_a_missing_file_is_python_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        gx.load(Path(tmp_path) / "none.json")
