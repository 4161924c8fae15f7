"""The report: one story about a model and a table, as terminal text, HTML, JSON and frame."""

from granite_xai.report.report import Report, explain

__all__ = ["Report", "explain"]
