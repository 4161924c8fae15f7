"""Writing is all or nothing (F01 to F03, F10); arrays come back from JSON exactly."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from granite_xai.base.errors import FormatError, InputError, ResourceError
from granite_xai.base.files import (
    array_from_json,
    array_to_json,
    read_json,
    require_writable,
    write_text,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_F01_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, code, step):
    target = tmp_path / "report.html"
    target.write_bytes(b"old")

    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(step, fail)
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

    monkeypatch.setattr("os.fsync", stop)
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_F02_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for write in (require_writable, lambda path: write_text(path, "text")):
        with pytest.raises(InputError, match="F02: .*not a regular file"):
            write(pipe)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


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
    written = set()
    for i, variables in enumerate(
        ({"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "C.UTF-8"}, {"PYTHONUTF8": "1"})
    ):
        target = tmp_path / str(i)
        environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", **variables}
        subprocess.run([sys.executable, "-c", code, str(target)], check=True, env=environment)
        written.add(target.read_bytes())
    assert written == {"x1 ≤ 0 😀\nsecond\r\n\\udc80".encode()}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("write", [require_writable, lambda path: write_text(path, "text")])
def test_F02_pipes_and_devices_are_not_replaced_by_a_file(tmp_path, write):
    """Root may write beside a device: a report to /dev/null made a file of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(InputError, match=r"F02: .* cannot be written \(not a regular file\)"):
            write(path)
    assert pipe.is_fifo()
    assert names(tmp_path) == ["link", "pipe"]


@pytest.mark.parametrize(
    "values",
    [
        np.array([0.1, -0.0, np.nan, np.inf, 5e-324]),
        np.array([[1, 2], [3, 2**62]]),
        np.array([], dtype=np.float32),
        np.array([True, False]),
        np.array(["a", "≤ 😀", ""]),
        np.array(["2020-02-29", "NaT"], dtype="datetime64[ns]"),
        np.array(3, dtype="timedelta64[D]"),
        np.arange(6.0).reshape(2, 3).T,
    ],
)
def test_arrays_come_back_from_json_exactly(values):
    again = array_from_json(json.loads(json.dumps(array_to_json(values))), "here")
    assert again.dtype == values.dtype
    np.testing.assert_array_equal(again, values)
    again[...] = values  # it may be written


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype": "O"},
        {"dtype": "no dtype"},
        {"dtype": 8},
        {"dtype": "V8"},
        {"shape": [3]},
        {"shape": [-5]},
        {"shape": ["2"]},
        {"shape": 2},
        {"shape": [2**62]},
        {"bytes": "AAAA"},
        {"bytes": "not base64!"},
        {"bytes": "ä"},
        {"bytes": None},
    ],
)
def test_F04_what_is_no_array_is_refused(changes):
    with pytest.raises(FormatError, match=r"F04: here"):
        array_from_json({**array_to_json(np.array([1.0, 2.0])), **changes}, "here")


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "F04"),
        (b"  ", "F04"),
        (b"[1]", "F04"),
        (b'{"a": 1', "F04"),
        (b'{"a": \xff}', "F04"),
        (b'{"a": NaN}', "F05"),
        (b'{"a": ' + b"9" * 5000 + b"}", "F05"),
        (b'{"a": ' + b"[" * 200_000, "F05"),
        (b"PK\x03\x04", "F06"),
        (b"\x93NUMPY", "F06"),
    ],
)
def test_F04_to_F06_text_that_is_no_object_of_json_is_refused(tmp_path, raw, code):
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(FormatError, match=code) as caught:
        read_json(path)
    assert caught.value.argument == "path"
