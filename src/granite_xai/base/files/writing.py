"""Text files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from granite_xai.base.errors import GraniteError, InputError, ResourceError

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Disk(NamedTuple):
    """The two steps at which a disk reports that it is full; tests pass a disk that is."""

    flush: Callable[[int], None] = os.fsync
    rename: Callable[[Path, Path], None] = os.replace


def write_text(path: str | os.PathLike[str], text: str, disk: Disk = Disk()) -> Path:  # noqa: B008
    r"""Write text as UTF-8, replacing an existing file in one step, or not at all (F01 to F03, F10).

    Parameters
    ----------
    path : str or path
        The file; its folder exists. A symbolic link stays one.
    text : str
        Written with its line ends as they are; a lone surrogate becomes an escape.
    disk : Disk
        How bytes reach the disk.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        F02: the file cannot be written.
    ResourceError
        F01: there is no room for it; what was there is unchanged.
    """
    content = text.encode("utf-8", errors="backslashreplace")
    with _temporary_beside(Path(path), len(content)) as beside:
        beside.file.write(content)
        beside.file.flush()
        disk.flush(beside.file.fileno())
        beside.file.close()
        with contextlib.suppress(FileNotFoundError):
            rights = stat.S_IMODE(beside.target.stat().st_mode)
            beside.temporary.chmod(rights)
        disk.rename(beside.temporary, beside.target)
    _flush_folder(beside.target.parent)
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


class _Beside(NamedTuple):
    file: IO[bytes]
    temporary: Path
    target: Path  # what the path means once links are followed


@contextlib.contextmanager
def _temporary_beside(path: Path, size: int) -> Iterator[_Beside]:
    """Open a hidden file beside the target, with the rights of any new file; afterwards it is gone."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if target.exists() and not target.is_file():  # a device or a pipe would be gone
            raise OSError(errno.EINVAL, "it is not a regular file", str(target))
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            yield _Beside(file=file, temporary=temporary, target=target)
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


def _flush_folder(folder: Path) -> None:
    """Make the new name last too; where folders cannot be opened the system does that itself."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
