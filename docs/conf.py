"""How Sphinx makes the documentation's site; ``python -m tools.docs_site`` gives it the pages."""

import limner

project = "Limner"
author = "The Limner contributors"
copyright = "The Limner contributors"
release = version = limner.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
]
suppress_warnings = ["config.cache"]
# Anchors as GitHub makes them: the pages are read there too.
myst_heading_anchors = 4

autodoc_typehints = "signature"
autodoc_member_order = "groupwise"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# Docstrings mark code with single backticks, as Markdown does.
default_role = "code"

html_theme = "furo"
html_title = "Limner"
html_static_path = ["_static"]
html_css_files = ["limner.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}

# What is copied from a console block are its commands.
copybutton_prompt_text = "$ "
copybutton_here_doc_delimiter = "EOF"
copybutton_line_continuation_character = "\\"
