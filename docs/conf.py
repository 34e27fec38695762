"""How Sphinx makes a site of docs/: `make docs` writes it to .site/.

The pages are plain Markdown. index.md is also the order of the sidebar, and
the names in `keras_bert/**/__init__.pyi` are the API reference.
"""

import importlib.util
import inspect
import re
from pathlib import Path

import keras_bert

HERE = Path(__file__).parent
ROOMS = [
    name
    for name in keras_bert.__all__
    if inspect.ismodule(getattr(keras_bert, name))
]

project = "keras_bert"
version = release = keras_bert.__version__
copyright = "The keras_bert authors"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["**.ipynb_checkpoints"]
html_theme = "furo"
html_title = "keras_bert"

# Links to headings work as on GitHub.
myst_heading_anchors = 4
# Notebooks have no outputs in git. They run here, in a few minutes, and again
# only when their code has changed.
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE.parent / ".site" / ".jupyter_cache")
nb_execution_in_temp = True
nb_execution_timeout = 900
nb_execution_raise_on_error = True
# What TensorFlow tells about the machine.
nb_output_stderr = "remove"
nb_execution_excludepatterns = (
    [] if importlib.util.find_spec("transformers") else ["from-transformers*"]
)

# In docstrings, `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_custom_sections = [("Class attributes", "Attributes")]
napoleon_use_ivar = True
napoleon_use_rtype = False
maximum_signature_line_length = 70


def change_page(app, name, source):
    """Leaves out links to folders of the repository; completes index.md.

    Files of the repository become downloads. index.md gets a toctree for each
    of its sections, of the pages that the section links.
    """
    source[0] = re.sub(
        r"\[([^\]]+)\]\((\.\./[^)]+)\)",
        lambda link: link[1 if _is_no_file(link[2]) else 0],
        source[0],
    )
    if name != "index":
        return
    seen = set()
    text = source[0]
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        pages = re.findall(r"\]\(([\w/-]+)\.(?:md|ipynb)\)", section)
        pages = [x for x in pages if not (x in seen or seen.add(x))]
        source[0] += _toctree(title, pages)
    source[0] += _toctree("API", ["api/keras_bert", *map(_page_of, ROOMS)])


def write_reference(app):
    """Writes a page for the package, and one for each room."""
    folder = HERE / "api"
    folder.mkdir(exist_ok=True)
    for full in ("keras_bert", *(f"keras_bert.{room}" for room in ROOMS)):
        directive = f".. automodule:: {full}\n   :members:"
        text = f"# {full}\n\n```{{eval-rst}}\n{directive}\n```\n"
        file = folder / f"{full}.md"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def skip_what_is_elsewhere(app, what, name, found, skip, options):
    """A name of the top is explained there, and a room on its own page."""
    if inspect.ismodule(found):
        return True
    document = app.env.docname
    if what == "module" and document.count(".") and name in keras_bert.__all__:
        return True
    return None


def setup(app):
    app.connect("builder-inited", write_reference)
    app.connect("source-read", change_page)
    app.connect("autodoc-skip-member", skip_what_is_elsewhere)


def _is_no_file(link):
    return link.endswith(".md") or not (HERE / link).is_file()


def _page_of(room):
    return f"api/keras_bert.{room}"


def _toctree(title, pages):
    lines = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n"
