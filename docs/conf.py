"""Sphinx configuration of the site; `make docs` builds it.

MyST, so that a page is Markdown and reads well on a code host, too. Furo, because it needs no network, font
or tracker, has a dark mode and a mobile layout, and its sidebar shows the five sections as they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

from pygments.lexers.special import TextLexer  # noqa: E402 - the extension must be importable first
from sphinx.highlighting import lexers  # noqa: E402

from learnedgec import __version__  # noqa: E402

project = "learnedgec"
author = "The learnedgec authors"
release = version = __version__
copyright = "The learnedgec authors, Apache-2.0"  # noqa: A001 - Sphinx's name

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "reference",
    "leaderboard",
]
exclude_patterns = ["_build", "style.md"]  # for authors: a host of code shows it
html_theme = "furo"
html_title = f"learnedgec {release}"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"  # not what a program prints

# -- Markdown --------------------------------------------------------------------------------
# No mathematics: a browser would fetch the library for it.
myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3
smartquotes_action = "q"  # quotes alone: the two hyphens of an option stay two
highlight_language = "text"
lexers["csv"] = TextLexer()

# -- docstrings ------------------------------------------------------------------------------
# Backticks in docstrings are names; a name of this package becomes a link.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# -- links -----------------------------------------------------------------------------------
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", ".*"),  # backticks in docstrings also hold what is no name
    ("py:.*", r"(?!learnedgec\b).*"),  # other projects: their inventories are not on this disk
    ("py:class", r"learnedgec\..*\.(_\w+|[A-Z]|Entry)"),  # variables of types
    # Public in no module.
    ("py:class", r"learnedgec\.(applications\.serve\.MetricScore|training\.data\.PairFileName)"),
]
