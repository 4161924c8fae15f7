"""Files: text that is written completely or not at all, JSON that others may have written, arrays in JSON."""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError, GraniteError, InputError, ResourceError

T = TypeVar("T")

MAX_BYTES = 2**28
"""A larger file is not read."""

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Pickles of every protocol, and what joblib, NumPy and archives begin with.
_PICKLES = re.compile(
    rb"\x80|PK|\x1f\x8b|BZh|\xfd7zXZ|\]\x00\x00|\x04\x22\x4d\x18|\x93NUMPY|\x89HDF|ZF|x[\x01\x5e\x9c\xda]"
)
_FIRST_OPCODES = b"(])}cFGIJKLMNSTUVX"  # of the oldest two protocols of pickle
_KINDS_OF_CELLS = "biufmMU"  # of arrays that are bytes; objects are not


# Writing


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    r"""Write text as UTF-8, replacing an existing file in one step, or not at all (F01 to F03, F10).

    Parameters
    ----------
    path : str or path
        The file; its folder exists. A symbolic link stays one.
    text : str
        Written with its line ends as they are; a lone surrogate becomes an escape.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        F02: the file cannot be written, or is a folder, a device or a pipe.
    ResourceError
        F01: there is no room for it; what was there is unchanged.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    with _temporary_beside(Path(path), len(content)) as (file, temporary, target):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        with contextlib.suppress(FileNotFoundError):
            rights = stat.S_IMODE(target.stat().st_mode)
            temporary.chmod(rights)
        temporary.replace(target)
    return Path(path)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Try whether a file could be written there, before work is spent on its content (F02).

    Raises
    ------
    InputError
        F02: it could not.
    """
    with _temporary_beside(Path(path), size=0):
        pass


@contextlib.contextmanager
def _temporary_beside(path: Path, size: int) -> Iterator[tuple[IO[bytes], Path, Path]]:
    """Open a hidden file beside a target, with the rights of any new file; afterwards it is gone.

    Yields
    ------
    file, temporary, target
        The open file, where it is, and what the path means once links are followed.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if target.exists() and not target.is_file():
            # A device or a pipe would be replaced by a file: for everybody, if it is /dev/null.
            raise OSError(errno.EINVAL, "not a regular file", str(target))
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            yield file, temporary, target
    except OSError as error:
        raise _refusal(path, size, error) from error
    finally:  # also after an interrupt
        with contextlib.suppress(OSError):
            temporary.unlink()


def _refusal(path: Path, size: int, error: OSError) -> GraniteError:
    if error.errno in _DISK_IS_FULL:
        return ResourceError(
            f"{path} could not be written: no room for {size:,} bytes. "
            "What was there is unchanged.",
            code="F01",
            argument="path",
            hint="Free some space, or choose another folder.",
        )
    return InputError(
        f"{path} cannot be written ({error.strerror or type(error).__name__}).",
        code="F02",
        argument="path",
        hint="Choose a file in a folder that you may write to.",
    )


# Reading


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the object in a JSON file that anybody may have written; nothing in it is run.

    Parameters
    ----------
    path : str or path
        A regular file.

    Raises
    ------
    FormatError
        F04: not JSON; F05: no regular file, too large or too deep; F06: a pickle.
    """
    # Before it is opened: a pipe would wait for a writer.
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise FormatError(f"{path} is not a regular file.", code="F05", argument="path")
    if status.st_size > MAX_BYTES:
        raise FormatError(
            f"{path} has {status.st_size:,} bytes; at most {MAX_BYTES:,} are read.",
            code="F05",
            argument="path",
        )
    raw = Path(path).read_bytes()
    if not raw.lstrip().startswith(b"{"):
        raise _no_object(raw, path)
    try:
        data: dict[str, Any] = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{path} is not UTF-8 text at byte {error.start:,}.", code="F04", argument="path"
        ) from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} ({error.msg})"
        raise FormatError(
            f"{path} breaks off or is not JSON at {place}.", code="F04", argument="path"
        ) from error
    except (RecursionError, ValueError) as error:
        raise FormatError(
            f"{path} is nested too deep, or holds a number that is none.",
            code="F05",
            argument="path",
        ) from error
    return data


def _refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity are not JSON."""
    raise ValueError(name)


def _no_object(raw: bytes, path: str | os.PathLike[str]) -> FormatError:
    if _PICKLES.match(raw) or (raw.endswith(b".") and raw[0] in _FIRST_OPCODES):
        message = (
            f"{path} is a pickle, a joblib file or an archive: pickle can run code; "
            "use granite_xai.load for files that granite_xai.save wrote."
        )
        return FormatError(message, code="F06", argument="path")
    return foreign(path, "is not a file of granite-xai" if raw.strip() else "is empty")


def foreign(
    path: str | os.PathLike[str], what: str = "is not a file of granite-xai"
) -> FormatError:
    """Phrase the error for a file that another program wrote (F04)."""
    hint = "Pass a file that granite_xai.save wrote."
    return FormatError(f"{path} {what}.", code="F04", argument="path", hint=hint)


def broken(place: str, what: str) -> FormatError:
    """Phrase the error for a file that is not what it claims to be (F04).

    Parameters
    ----------
    place : str
        Where it is wrong, such as ``"partition.nodes[3]"``.
    what : str
        What is wrong there, such as ``"is not a list"``.
    """
    return FormatError(f"{place} {what}.", code="F04", argument="data")


def require(holds: object, place: str, what: str) -> None:
    """Refuse a file in which something does not hold; the parameters are those of `broken`."""
    if not holds:
        raise broken(place, what)


def entry(data: Any, key: str, kind: type[T], place: str) -> T:
    """Return one entry of an object after checking its type; truth values are not numbers.

    Parameters
    ----------
    data : object
        What should be an object of a file.
    key : str
        Name of the entry.
    kind : type
        What it must be; a whole number is also a float.
    place : str
        Where the object stands in the file.
    """
    require(isinstance(data, dict), place, "is not an object")
    require(key in data, place, f"has no entry {key!r}")
    value = data[key]
    allowed: Any = (int, float) if kind is float else kind
    is_truth_value_for_number = isinstance(value, bool) and kind in (int, float)
    if not isinstance(value, allowed) or is_truth_value_for_number:
        raise broken(f"{place}.{key}", f"is not of type {kind.__name__}")
    return value  # type: ignore[no-any-return]


# Arrays


def object_array(cells: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    """Return cells as an array of objects, also where they are lists."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def array_to_json(values: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers, truth values, dates or texts in the types of JSON, exactly.

    Parameters
    ----------
    values : array of any shape
        Arrays of objects hold anything, and no file can.

    Returns
    -------
    dict
        Its dtype, shape and bytes.
    """
    contents = base64.b64encode(np.ascontiguousarray(values).tobytes())
    shape = list(values.shape)
    return {"dtype": values.dtype.str, "shape": shape, "bytes": contents.decode("ascii")}


def array_from_json(data: Any, place: str) -> NDArray[Any]:
    """Read what `array_to_json` wrote; anything else is a FormatError."""
    name = entry(data, "dtype", str, place)
    shape = entry(data, "shape", list, place)
    try:
        contents = base64.b64decode(entry(data, "bytes", str, place), validate=True)
        dtype = np.dtype(name)
        require(dtype.kind in _KINDS_OF_CELLS, place, f"is an array of {name[:60]}")
        require(all(length >= 0 for length in shape), place, "has no such shape")
        return np.frombuffer(contents, dtype=dtype).reshape(shape).copy()
    except (TypeError, ValueError, OverflowError, SyntaxError) as error:
        if isinstance(error, FormatError):
            raise
        raise broken(place, "is no array") from error
