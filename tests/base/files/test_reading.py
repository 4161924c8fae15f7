"""Reading is bounded in time and memory, and runs no code: F04 to F06."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import pickle
import time
import tracemalloc
import zipfile

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError
from granite_xai.base.files import reading as limits
from granite_xai.base.files.reading import check_size, parse_json, read_json
from granite_xai.regions import Rule


def refused(raw, code):
    with pytest.raises(FormatError) as caught:
        parse_json(raw, "a.json")
    assert caught.value.code == code
    return str(caught.value)


def test_F04_a_truncated_file_is_named_with_the_place(tmp_path):
    whole = json.dumps({"schema": "x", "values": [1, 2, 3], "text": "a\\b"}).encode()
    for end in range(1, len(whole)):
        assert "column" in refused(whole[:end], "F04")
    path = tmp_path / "a.json"
    path.write_bytes(whole[:20])
    with pytest.raises(FormatError, match=r"a\.json breaks off or is not JSON at line 1, column"):
        read_json(path)


@pytest.mark.parametrize("raw", [b"", b"  \n", b"[1]", b"null", b"hello", b"<html>"])
def test_F04_a_file_that_holds_no_object_is_refused(raw):
    assert "byte 0" in refused(raw, "F04")


def test_F04_bytes_that_are_no_text_are_named():
    assert "byte 7" in refused(b'{"a": "\xff"}', "F04")


HOSTILE = {
    "25 deep": lambda: b'{"a": ' + b"[" * 25 + b"]" * 25 + b"}",
    "100,000 deep": lambda: b'{"a":' * 100_000,
    "deep after an escape": lambda: b'{"a": "\\"", "b": ' + b"[" * 100_000,
    "many lists": lambda: b'{"a": [' + b"[]," * 2**18 + b"[]]}",
    "many numbers": lambda: b'{"a": [' + b"1," * (limits.MAX_VALUES + 1) + b"1]}",
    "many texts": lambda: b'{"a": [' + b'"",' * (limits.MAX_VALUES + 1) + b"1]}",
    "NaN": lambda: b'{"a": NaN}',
    "infinity": lambda: b'{"a": -Infinity}',
    "NaN in a long list": lambda: b'{"a": [' + b"1.0, " * 100 + b"NaN]}",
    "overflow": lambda: b'{"a": 1e999}',
    "21 digits": lambda: b'{"a": ' + b"9" * 21 + b"}",
    "a million digits": lambda: b'{"a": ' + b"9" * 1_000_000 + b"}",
    "duplicate keys": lambda: b'{"a": {"b": 1, "b": 2}}',
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_F05_hostile_text_is_refused_quickly_and_within_twice_its_size(make):
    raw = make()
    tracemalloc.start()
    try:
        begin = time.perf_counter()
        refused(raw, "F05")
        seconds, peak = time.perf_counter() - begin, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert seconds < 5
    assert peak < 2 * len(raw) + 200_000


def test_F05_an_unclosed_text_full_of_escapes_costs_linear_time():
    begin = time.perf_counter()
    refused(b'{"a": "' + b'\\"' * 2_000_000, "F04")
    assert time.perf_counter() - begin < 5


def test_F05_brackets_inside_text_do_not_count():
    assert parse_json(json.dumps({"a": "[" * 1000 + '"' + "{" * 1000 + "\\"}).encode())[
        "a"
    ].endswith("\\")


def test_F05_a_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "a.json"
    with path.open("wb") as file:
        file.truncate(limits.MAX_BYTES + 1)  # takes no room on the disk
    tracemalloc.start()
    with pytest.raises(FormatError, match="bytes"):
        read_json(path)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    with pytest.raises(FormatError, match="bytes"):
        check_size(bytes(limits.MAX_BYTES + 1))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_F05_a_device_is_not_read():
    with pytest.raises(FormatError, match="not a regular file"):
        read_json("/dev/zero")


def zipped(data):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("../../etc/passwd", data)
    return buffer.getvalue()


def joblib_bytes(compress):
    buffer = io.BytesIO()
    joblib.dump({"a": np.arange(10)}, buffer, compress=compress)
    return buffer.getvalue()


def numpy_bytes():
    buffer = io.BytesIO()
    np.save(buffer, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return buffer.getvalue()


PICKLES = {
    **{
        f"protocol {p}": pickle.dumps({"a": [1, "x"]}, protocol=p)
        for p in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "list": pickle.dumps([1, "x"], protocol=0),
    "gzip": gzip.compress(pickle.dumps(1)),
    "bz2": bz2.compress(pickle.dumps(1)),
    "xz": lzma.compress(pickle.dumps(1)),
    "lzma": lzma.compress(pickle.dumps(1), format=lzma.FORMAT_ALONE),
    "zip": zipped(pickle.dumps(1)),
    "joblib": joblib_bytes(0),
    **{f"joblib {c}": joblib_bytes((c, 3)) for c in ("zlib", "gzip", "bz2", "xz", "lzma")},
    "npy": numpy_bytes(),
}


@pytest.mark.parametrize("raw", PICKLES.values(), ids=PICKLES)
def test_F06_a_pickle_is_refused_whatever_wraps_it(raw):
    assert "pickle can run code; use granite_xai.load" in refused(raw, "F06")


class Exploit:
    def __reduce__(self):
        return os.system, ("exit 1",)


def test_F06_nothing_in_a_pickle_runs(monkeypatch):
    ran = []
    monkeypatch.setattr(os, "system", ran.append)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        refused(pickle.dumps(Exploit(), protocol=protocol), "F06")
    assert ran == []


@given(st.binary(max_size=200))
def test_F04_random_bytes_are_refused(raw):
    for data in (raw, b"{" + raw):
        with contextlib.suppress(FormatError):
            assert isinstance(parse_json(data), dict)


def test_F05_a_key_that_stands_twice_is_named():
    with pytest.raises(FormatError, match="F05: the file has the key 'a' twice in one object"):
        parse_json(b'{"a": 1, "a": 2}')


@pytest.mark.parametrize(
    ("cells", "dtype"),
    [
        ([1] * 100, np.int8),
        ([100] * 100, np.int16),
        ([10**4] * 100, np.int32),
        ([10**10] * 100, np.int64),
        ([0.5, None] * 100, np.float64),
    ],
)
def test_long_lists_of_numbers_become_arrays_as_narrow_as_their_digits(cells, dtype):
    numbers = parse_json(json.dumps({"a": cells}).encode())["a"]
    assert numbers.dtype == dtype
    np.testing.assert_array_equal(numbers, np.array(cells, dtype=float))


def test_a_long_list_that_mixes_whole_numbers_with_others_stays_a_list():
    cells = [1, 2.5] * 100
    assert parse_json(json.dumps({"a": cells}).encode())["a"] == cells


def test_F04_half_a_character_survives_as_a_name_or_level_and_breaks_nothing():
    """A file may say anything: what is no pair of halves is kept as it is, and no row of a table has it."""
    assert parse_json(rb'{"a": "\ud83d\ude00"}') == {"a": "\U0001f600"}
    written = Rule.parse("a in {u}").to_dict()
    written["conditions"][0]["condition"]["levels"] = ["\ud800"]
    rule = Rule.from_dict(written)
    assert rule.to_dict() == written
    assert str(rule).isprintable()
    for frame in (pd.DataFrame({"a": ["u", "v"]}), pl.DataFrame({"a": ["u", "v"]})):
        assert rule.contains(frame).tolist() == [False, False]
