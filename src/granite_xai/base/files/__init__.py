"""Files: atomic UTF-8 writing, careful reading of JSON that someone else wrote, and dataclasses in its types."""

from granite_xai.base.files.arrays import broken, plain_list
from granite_xai.base.files.bounded import check_size, parse_json, read_json
from granite_xai.base.files.structure import BY_ROW, Form, Structure, entry, unwritable
from granite_xai.base.files.writing import require_writable, write_text

__all__ = [
    "BY_ROW",
    "Form",
    "Structure",
    "broken",
    "check_size",
    "entry",
    "parse_json",
    "plain_list",
    "read_json",
    "require_writable",
    "unwritable",
    "write_text",
]
