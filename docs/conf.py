"""Configuration of Sphinx, which builds this folder as a site: `make docs`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import rapidsgraph

sys.path.insert(0, str(Path(__file__).parent))

project = "rapidsgraph"
author = "The rapidsgraph authors"
version = release = rapidsgraph.__version__
html_title = f"rapidsgraph {version}"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "repository_links",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]

exclude_patterns = ["_jupyter"]
# API reference: one page per public object, from its docstring.
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # types are in the sections of parameters
numpydoc_show_class_members = False  # the template of classes lists them
# Single backticks in docstrings link to public names, and are code otherwise.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:obj", r"(?!(rapidsgraph|rg)\.).*")]

# Markdown. Notebooks are Markdown with code cells, executed in the build.
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 4
# The kernel of this folder logs errors only; by default it warns of connections within the machine.
os.environ["JUPYTER_PATH"] = str(Path(__file__).parent / "_jupyter")
nb_execution_mode = "cache"
nb_execution_cache_path = str(Path(__file__).parents[1] / "build/notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300  # seconds per cell; first calls compile
nb_merge_streams = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Pages without others below them have no navigation to show in a sidebar.
SINGLE_PAGES = [
    "index", "getting_started", "command_line", "deployment", "algorithms", "comparison", "faq",
    "glossary",
]  # fmt: skip
html_sidebars = {page: [] for page in SINGLE_PAGES}
html_theme_options = {
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "navbar_persistent": ["search-button"],
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "algorithms": [], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
