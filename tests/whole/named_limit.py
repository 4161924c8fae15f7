"""The limit that a refusal names."""

from __future__ import annotations

from granite_xai.base.errors import ResourceError


def named_limit(error: ResourceError) -> int:
    """Bytes that are enough, as the hint says (``memory_limit=``)."""
    return int(error.hint.rpartition("memory_limit=")[2].rstrip(")"))
