"""Files of the package's objects: one JSON document each, never a pickle."""

from granite_xai.persistence.document import OLDEST, VERSION
from granite_xai.persistence.loading import load
from granite_xai.persistence.saving import save

__all__ = ["OLDEST", "VERSION", "load", "save"]
