"""Files: atomic UTF-8 writing, careful reading of JSON that someone else wrote, and dataclasses in its types."""

from granite_xai.base.files.arrays import broken as broken
from granite_xai.base.files.bounded import (
    check_size as check_size,
    parse_json as parse_json,
    read_json as read_json,
    require_writable as require_writable,
    write_text as write_text,
)
from granite_xai.base.files.structure import (
    BY_ROW as BY_ROW,
    NAN_AS_NULL as NAN_AS_NULL,
    Form as Form,
    Structure as Structure,
    entry as entry,
)
