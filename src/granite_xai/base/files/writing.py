"""Atomic writing: the old file or the new one, never a part of either."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

from granite_xai.base.errors import GraniteError, InputError, ResourceError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    r"""Write text as UTF-8 with the line ends it has, replacing an existing file in one step.

    The text goes to a new file in the same folder, is flushed to the disk, and takes the place of the old file.
    Whatever happens before that leaves the old file as it was and nothing beside it. A symbolic link stays a link.

    A lone surrogate, which UTF-8 cannot hold, is written as an escape such as ``\udc80``. A full disk (F01) and a
    target that cannot be written (F02) are errors.
    """
    target = Path(path)
    data = text.encode("utf-8", errors="backslashreplace")
    try:
        _replace(Path(os.path.realpath(target)), data)
    except OSError as error:
        raise _refusal(target, len(data), error) from error
    return target


def require_writable(path: str | os.PathLike[str]) -> None:
    """Try whether a file could be written there, before work is spent on its content (F02)."""
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        descriptor, temporary = _beside(target)
        os.close(descriptor)
        temporary.unlink()
    except OSError as error:
        raise _refusal(Path(path), 0, error) from error


def _replace(target: Path, data: bytes) -> None:
    descriptor, temporary = _beside(target)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)  # noqa: PTH105 - tests put a failing disk in its place
    except BaseException:  # an interrupt too must leave nothing behind
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    with contextlib.suppress(OSError):  # the new name too; where folders cannot be opened the system does that itself
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _beside(target: Path) -> tuple[int, Path]:
    """Open a new file in the folder of the target, hidden, with the rights that any new file gets there."""
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    return os.open(temporary, flags, 0o666), temporary


def _refusal(target: Path, size: int, error: OSError) -> GraniteError:
    if error.errno in _FULL:
        message = f"{target} could not be written: no room for {size:,} bytes. What was there is unchanged."
        return ResourceError(message, code="F01", argument="path", hint="Free some space, or choose another folder.")
    message = f"{target} cannot be written ({error.strerror or type(error).__name__})."
    return InputError(message, code="F02", argument="path", hint="Choose a file in a folder that you may write to.")
