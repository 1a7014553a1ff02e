"""The documentation's site: `make docs`."""

import os
from importlib.metadata import version as installed_version
from typing import Any

project = "gpugda"
author = "The gpugda authors"
project_copyright = author
version = release = installed_version("gpugda")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
default_role = "code"
# Cells of magics, `%%cypher`, are no Python.
suppress_warnings = ["misc.highlighting_failure"]

# Markdown: links to headings by their text, as GitHub makes them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

# The notebooks keep no output: they are run for the site. The application's needs a server.
nb_execution_mode = "cache"
nb_execution_cache_path = "build/docs-notebooks"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_excludepatterns = [] if os.environ.get("NEO4J_URI") else ["notebooks/application*"]
nb_merge_streams = True

autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False

# A prompt is not copied, nor is output.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "gpugda"
html_static_path = ["_static"]
# Addresses that tests and examples name are no pages.
linkcheck_ignore = [r"http://localhost.*", r"bolt://.*"]

# Search is for users: pages about decisions and changes are found by their titles only.
_NOT_SEARCHED = ("adr/", "decisions", "changelog", "CONTRIBUTING", "SECURITY")


def _leave_out_of_search(app: Any, _doctree: object) -> None:
    name = app.env.docname
    if name.startswith(_NOT_SEARCHED):
        app.env.metadata[name]["nosearch"] = True


def setup(app: Any) -> None:
    """Registers what Sphinx calls for each page."""
    app.connect("doctree-read", _leave_out_of_search, priority=900)
