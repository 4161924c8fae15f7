"""A question: two explanations that share behavior and influence, here two ways to credit a column with its risk."""

from __future__ import annotations

import granite_xai as gx

pfi_sage = gx.Disagreement("pfi", "sage", name="pfi-sage")
