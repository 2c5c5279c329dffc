"""The manual: Sphinx with Markdown pages and an API reference from docstrings."""

from speedproof import __version__

project = "speedproof"
author = "The speedproof authors"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence", "html_image"]
myst_heading_anchors = 3
source_suffix = {".md": "myst-nb"}
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
exclude_patterns = ["_build"]
smartquotes_action = "qe"  # no dash for the two of an option
suppress_warnings = ["myst.xref_missing"]  # links to files of the repository that are no pages

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give shapes and units, which types cannot
numpydoc_show_class_members = False

html_theme = "furo"
html_theme_options = {  # the colours of the reports' pages
    "light_css_variables": {"color-brand-primary": "#1b2430", "color-brand-content": "#1d5fd1"},
    "dark_css_variables": {"color-brand-primary": "#e4e8ed", "color-brand-content": "#82b1ff"},
}
html_title = "speedproof"
autosummary_generate = False
