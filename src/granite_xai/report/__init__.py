"""The report: one story about a model and a table, as terminal text, HTML, JSON and frame."""

from granite_xai.report.report import Report
from granite_xai.report.story import explain

__all__ = ["Report", "explain"]
