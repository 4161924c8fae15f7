"""Files: atomic UTF-8 writing, and careful reading of JSON that someone else wrote."""

from granite_xai.base.files.bounded import check_size, parse_json, read_json
from granite_xai.base.files.fields import broken, entry, members, number, numbers, position, positions, texts
from granite_xai.base.files.writing import require_writable, write_text

__all__ = [
    "broken",
    "check_size",
    "entry",
    "members",
    "number",
    "numbers",
    "parse_json",
    "position",
    "positions",
    "read_json",
    "require_writable",
    "texts",
    "write_text",
]
