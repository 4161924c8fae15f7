"""Files of the package's objects: versioned JSON, never pickle."""

from granite_xai.persistence.documents import load, save

__all__ = ["load", "save"]
