"""How the manual is built: ``make docs``."""

from importlib import metadata

from sphinx_gallery.sorting import ExplicitOrder

project = "granite-xai"
author = copyright = "The granite-xai developers"
release = version = metadata.version("granite-xai")
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "large_figures.rst", "rooms.rst", "trust_figures.rst"]
templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = f"granite-xai {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "show_prev_next": False}
html_sidebars: dict[str, list[str]] = {"**": []}  # no page has sub-pages that a sidebar could list

autodoc_typehints = "none"  # the docstrings say it in words
autosummary_generate = True
numpydoc_show_class_members = False  # the template of a class lists them
default_role = "autolink"  # `Granite` is a link, `x` is not

# In the order in which a new reader asks.
_EXAMPLES = [
    "plot_1_one_curve_hides.py",
    "plot_2_find_the_regions.py",
    "plot_3_can_i_trust_them.py",
    "plot_4_use_them.py",
    "plot_5_other_questions.py",
    "plot_quickstart.py",
    "plot_bike.py",
    "plot_which_question.py",
    "plot_reading_the_report.py",
    "plot_report_of_a_fit.py",
    "plot_one_row.py",
    "plot_two_models.py",
    "plot_rules_elsewhere.py",
    "plot_dependencies.py",
    "plot_interactions_of_order_two.py",
    "plot_groups.py",
    "plot_classification.py",
    "plot_scale.py",
    "plot_where_it_errs.py",
    "plot_survival.py",
    "plot_horizons.py",
    "plot_concepts.py",
    "plot_own_objective.py",
    "plot_clusters.py",
    "plot_slow_model.py",
    "plot_large_table.py",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": ExplicitOrder(["../examples/tutorial", "../examples/how_to"]),
    "within_subsection_order": ExplicitOrder(_EXAMPLES),
    "capture_repr": ("_repr_html_",),  # frames and reports; a display has shown its figure
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "reset_modules": ("matplotlib",),
}
