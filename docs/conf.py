"""How the manual is built: ``make docs``."""

from importlib import metadata

project = "granite-xai"
author = copyright = "The granite-xai developers"
release = metadata.version("granite-xai")
extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "pydata_sphinx_theme"
autodoc_typehints = "none"  # the docstrings say it in words
numpydoc_show_class_members = False
