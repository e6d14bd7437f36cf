"""How Sphinx builds this documentation: ``make docs``."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))
sys.path.insert(0, str(HERE.parent / "src"))  # the pages speak of the code beside them, whatever is installed

from tailwise import __version__  # noqa: E402

project = "tailwise"
author = "the authors of tailwise"
copyright = author
release = version = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "source_pages",
    "command_help",
    "command_lexer",
    "mathml",
]
html_math_renderer = "mathml"
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "tailwise"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_copyright = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "native"

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc says the types, in words
numpydoc_show_class_members = False
numpydoc_show_inherited_class_members = False

nitpicky = True


def skip_routing(app, what, name, obj, skip, options):
    """scikit-learn gives every estimator methods like set_fit_request, whose docstrings speak of its own pages."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    app.connect("autodoc-skip-member", skip_routing)
