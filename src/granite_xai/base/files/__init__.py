"""Files: atomic UTF-8 writing, careful reading of JSON that someone else wrote, and dataclasses in its types."""

from granite_xai.base.files.bounded import (
    check_size,
    parse_json,
    read_json,
    require_writable,
    write_text,
)
from granite_xai.base.files.structure import (
    BY_ROW,
    NAN_AS_NULL,
    Form,
    Structure,
    broken,
    entry,
    object_array,
    require,
)

__all__ = [
    "BY_ROW",
    "NAN_AS_NULL",
    "Form",
    "Structure",
    "broken",
    "check_size",
    "entry",
    "object_array",
]
__all__ += ["parse_json", "read_json", "require", "require_writable", "write_text"]
