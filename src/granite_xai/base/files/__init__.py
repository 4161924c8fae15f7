"""Files: atomic UTF-8 writing, careful reading of JSON that someone else wrote, and dataclasses in its types."""

from granite_xai.base.files.arrays import broken
from granite_xai.base.files.bounded import check_size, parse_json, read_json
from granite_xai.base.files.structure import BY_ROW, Form, Structure, entry
from granite_xai.base.files.writing import require_writable, write_text

__all__ = [
    "BY_ROW",
    "Form",
    "Structure",
    "broken",
    "check_size",
    "entry",
    "parse_json",
    "read_json",
    "require_writable",
    "write_text",
]
