"""Files: text written at once, JSON of others read with care, arrays and dataclasses in its types."""

from granite_xai.base.files.cells import object_array
from granite_xai.base.files.checks import broken, entry, require
from granite_xai.base.files.reading import check_size, parse_json, read_json
from granite_xai.base.files.structure import BY_ROW, NAN_AS_NULL, Form, Structure, saved_as
from granite_xai.base.files.writing import require_writable, write_text

__all__ = [
    "BY_ROW",
    "NAN_AS_NULL",
    "Form",
    "Structure",
    "broken",
    "check_size",
    "entry",
    "object_array",
    "parse_json",
    "read_json",
    "require",
    "require_writable",
    "saved_as",
    "write_text",
]
