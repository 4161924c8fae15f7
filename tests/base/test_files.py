"""Writing is all or nothing, and reading is bounded: F01 to F06 and F10 at the level of files."""

from __future__ import annotations

import bz2
import contextlib
import errno
import gzip
import io
import json
import lzma
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from granite_xai.base.errors import FormatError, InputError, ResourceError
from granite_xai.base.files import (
    Structure,
    bounded,
    check_size,
    entry,
    parse_json,
    read_json,
    require_writable,
    write_text,
)
from granite_xai.base.files.structure import write_cells
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.regions.rule import Rule


def names(folder):
    return sorted(path.name for path in folder.iterdir())


class FullDisk:
    """Every write fails the way a full disk does."""

    def __init__(self, code):
        self.code = code

    def __call__(self, *_):
        raise OSError(self.code, os.strerror(self.code))


# ------------------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_F01_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, code, step):
    target = tmp_path / "report.html"
    target.write_bytes(b"old")
    monkeypatch.setattr(f"granite_xai.base.files.bounded.os.{step}", FullDisk(code))
    with pytest.raises(ResourceError, match=r"report\.html.*4 bytes") as caught:
        write_text(target, "ä\n\n")
    assert (caught.value.code, caught.value.argument) == ("F01", "path")
    assert caught.value.__cause__.errno == code
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["report.html"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_F01_the_real_error_of_a_full_device_is_the_one_that_is_simulated():
    with (
        pytest.raises(OSError, match="No space left") as caught,
        Path("/dev/full").open("wb", buffering=0) as file,
    ):
        file.write(b"x")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, RuntimeError])
def test_F01_no_partial_file_after_any_exception(tmp_path, monkeypatch, kind):
    def stop(*_):
        raise kind

    monkeypatch.setattr("granite_xai.base.files.bounded.os.fsync", stop)
    with pytest.raises(kind):
        write_text(tmp_path / "a.json", "text")
    assert names(tmp_path) == []


def test_F02_a_target_that_cannot_be_written_is_named(tmp_path):
    for target in (tmp_path / "no folder" / "a.json", tmp_path):
        with pytest.raises(InputError, match="cannot be written") as caught:
            write_text(target, "text")
        assert caught.value.code == "F02"
        assert str(target) in str(caught.value)
        with pytest.raises(InputError, match="cannot be written"):
            require_writable(target)
    assert names(tmp_path) == []


def test_F02_trying_leaves_nothing_behind(tmp_path):
    require_writable(tmp_path / "a.json")
    assert names(tmp_path) == []


def test_F03_an_existing_file_is_replaced_and_keeps_its_rights(tmp_path):
    target = tmp_path / "a.json"
    target.write_bytes(b"a much longer old file")
    target.chmod(0o640)
    assert write_text(target, "new") == target
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_F03_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "a.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_F03_a_reader_never_sees_a_part(tmp_path):
    """Whoever opened the old file keeps reading the old file."""
    target = tmp_path / "a.json"
    write_text(target, "old" * 1000)
    with target.open("rb") as before:
        write_text(target, "new" * 1000)
        assert before.read() == b"old" * 1000
    assert target.read_bytes() == b"new" * 1000


def test_F10_the_bytes_do_not_depend_on_the_locale(tmp_path):
    code = (
        "import sys; from granite_xai.base.files import write_text; "
        "write_text(sys.argv[1], 'x1 \\u2264 0 \\U0001f600\\nsecond\\r\\n\\udc80')"
    )
    found = set()
    for i, variables in enumerate(
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C.UTF-8"}, {"PYTHONUTF8": "1"})
    ):
        target = tmp_path / str(i)
        environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", **variables}
        subprocess.run([sys.executable, "-c", code, str(target)], check=True, env=environment)
        found.add(target.read_bytes())
    assert found == {"x1 ≤ 0 😀\nsecond\r\n\\udc80".encode()}


# ------------------------------------------------------------------------------------------------------------ reading


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
    "many numbers": lambda: b'{"a": [' + b"1," * (bounded.MAX_VALUES + 1) + b"1]}",
    "many texts": lambda: b'{"a": [' + b'"",' * (bounded.MAX_VALUES + 1) + b"1]}",
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
        file.truncate(bounded.MAX_BYTES + 1)  # takes no room on the disk
    tracemalloc.start()
    with pytest.raises(FormatError, match="bytes"):
        read_json(path)
    assert tracemalloc.get_traced_memory()[1] < 100_000
    tracemalloc.stop()
    with pytest.raises(FormatError, match="bytes"):
        check_size(bytes(bounded.MAX_BYTES + 1))


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


# ------------------------------------------------------------------------------------------------------------- fields


def structured(data, hint):
    return Structure().read(data, hint, "here")


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: entry([], "a", int, "here"), "here is not an object"),
        (lambda: entry({}, "a", int, "here"), "here has no entry 'a'"),
        (lambda: entry({"a": True}, "a", int, "here"), r"here\.a is not of type int"),
        (lambda: structured(10**400, float), "here is not a finite number"),
        (lambda: structured(float("nan"), float), "here is not a finite number"),
        (lambda: structured(True, float), "here is 'True', not of type float"),
        (lambda: structured(1.0, int), "here is '1.0', not of type int"),
        (lambda: structured(1, str), "here is '1', not of type str"),
        (lambda: structured("yes", bool), "here is 'yes', not of type bool"),
        (lambda: structured(None, int), "here is 'None', not of type int"),
        (lambda: structured([1, True], FloatArray), r"here\[1\] is not of type float64"),
        (lambda: structured([1, "x"], FloatArray), r"here\[1\] is not of type float64"),
        (lambda: structured([0, 1.0], IntArray), r"here\[1\] is not of type int64"),
        (lambda: structured([0, 2**70], IntArray), "here has cells that do not fit int64"),
        (lambda: structured([0.5] * 70, IntArray), r"here\[0\] is not of type int64"),
        (
            lambda: structured({"shape": [2, 2], "cells": [1.0]}, FloatArray),
            r"here\.shape is not that of 1 cells",
        ),
        (lambda: structured({"shape": [1] * 5, "cells": [1.0]}, FloatArray), r"here\.shape"),
        (lambda: structured({"shape": [2**40, 0], "cells": [1.0]}, FloatArray), r"here\.shape"),
        (lambda: structured([1, 2], tuple[int, int, int]), "here has 2 entries, not 3"),
        (lambda: structured([[1, 2], [1, 3]], dict[int, int]), "here has a key twice"),
        (lambda: structured([1, 2], dict[str, int]), "here is not an object"),
        (lambda: structured("c", Literal["a", "b"]), "here is 'c'"),
    ],
)
def test_F04_every_field_that_is_wrong_is_named_by_its_place(read, words):
    with pytest.raises(FormatError, match=words) as caught:
        read()
    assert caught.value.code == "F04"


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


@dataclass
class Step:
    size: float
    columns: tuple[int, ...] = ()


def test_values_are_written_by_their_names_and_refused_by_their_place(tmp_path):
    structure = Structure({"step": Step})
    assert structure.write(Step(0.5, (1, 2)), Any, "step") == {
        "type": "step",
        "size": 0.5,
        "columns": [1, 2],
    }
    with pytest.raises(FormatError, match="F04: step.size is 'True', not of type float"):
        structure.read({"type": "step", "size": True}, Any, "step")
    assert write_cells(np.array([1.5, np.nan])) == [1.5, None]
    assert write_cells(np.eye(2, dtype=int)) == {"shape": [2, 2], "cells": [1, 0, 0, 1]}
    path = write_text(tmp_path / "a.json", '{"a": [1, 2.5], "x1 ≤ 0": 0}\n')
    assert path.read_bytes() == b'{"a": [1, 2.5], "x1 \xe2\x89\xa4 0": 0}\n'
    assert read_json(path) == {"a": [1, 2.5], "x1 ≤ 0": 0}
    with pytest.raises(FormatError, match="F05: the file has the key 'a' twice in one object"):
        parse_json(b'{"a": 1, "a": 2}')
