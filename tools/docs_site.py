"""Makes the documentation's site: ``python -m tools.docs_site [FOLDER]``, by default ``build/docs``.

The pages are written to be read in the repository. They are copied; links between them, and to the few pages that stand
outside ``docs``, change; ``docs/nav.toml`` becomes the navigation, and the table of words a glossary. Then Sphinx
runs, and any warning is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import get_args, get_type_hints

import limner
from limner.report.plots import PlotFigure
from limner.running.progress import Progress
from tools.size import PACKAGE

ROOT = PACKAGE.parents[1]
DOCS = ROOT / "docs"
OUTSIDE = {
    "README.md": "start.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "src/limner/exams/README.md": "published.md",
}
"""Pages that do not stand in ``docs``, and what they are called on the site."""
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (.+?) \| (.+) \|$", re.MULTILINE)


def pages() -> dict[str, Path]:
    """The site's pages with the files they are made of."""
    own = {str(path.relative_to(DOCS)): path for path in sorted(DOCS.rglob("*.md"))}
    return own | {name: ROOT / source for source, name in OUTSIDE.items()}


def navigation(known: set[str]) -> list[tuple[str, list[list[str]]]]:
    """The parts with their pages, each with the pages below it; stars are filled in."""
    named = tomllib.loads((DOCS / "nav.toml").read_text("utf-8"))["part"]
    places = [[each] if isinstance(each, str) else each for part in named for each in part["pages"]]
    plain = {name for place in places for name in place if "*" not in name}
    parts = []
    for part in named:
        rows = [[each] if isinstance(each, str) else each for each in part["pages"]]
        parts.append((part["title"], [[n for name in row for n in _filled(name, known - plain)] for row in rows]))
    return parts


def _filled(name: str, free: set[str]) -> list[str]:
    return sorted(str(path) for path in map(Path, free) if path.match(name)) if "*" in name else [name]


def linked(text: str, source: Path, name: str) -> str:
    """The text with its links to files of the repository as they lead from this page of the site; code stays."""
    homes = {path: page for page, path in pages().items()}

    def there(match: re.Match[str]) -> str:
        file, mark, anchor = match[2].partition("#")
        if "://" in file or not file:
            return match[0]
        target = (source.parent / file).resolve()
        home = homes.get(target) or (f"images/{target.name}" if target.suffix == ".png" else None)
        if home is None:
            raise ValueError(f"{source.relative_to(ROOT)}: {match[2]} leads to no page and no picture of the site")
        return f"{match[1]}{os.path.relpath(home, Path(name).parent)}{mark}{anchor}{match[3]}"

    kept = [match.group() for match in FENCE.finditer(text)]
    parts = [LINK.sub(there, part) for part in FENCE.sub("\0", text).split("\0")]
    return "".join(part + fence for part, fence in zip(parts, [*kept, ""], strict=True))


def start_page(readme: str) -> str:
    """Return the README's section that the site has no other page for."""
    part = readme[readme.index("## Where to start") + 1 : readme.index("## What you can rely on")]
    return part.replace("\n### ", "\n## ")


def glossary(words: str) -> str:
    """The table of words as a glossary, so that the search and links find each."""
    head, table = words[: words.index("| word |")], words[words.index("|---|---|\n") :]
    entries = [f"{terms.replace(', ', chr(10))}\n  {meaning}\n" for terms, meaning in ROW.findall(table)]
    return f"{head}```{{glossary}}\n{chr(10).join(entries)}```\n"


def interface(page: str) -> str:
    """The page on Python with everything that the package gives by name, from the docstrings."""
    found = {f"limner.{name}": getattr(limner, name) for name in sorted(limner.__all__)}
    functions = {name: each for name, each in found.items() if not isinstance(each, type)}
    errors = {name: each for name, each in found.items() if isinstance(each, type) and issubclass(each, Exception)}
    classes = {name: each for name, each in found.items() if name not in {*functions, *errors}}
    # These are known to type checkers alone, so that the package loads quickly.
    known = {"Asking": limner.Asking, "PlotFigure": PlotFigure, "Progress": Progress}
    given = {cls for each in functions.values() for cls in _named(get_type_hints(each, localns=known).get("return"))}
    results = sorted(f"{cls.__module__}.{cls.__qualname__}" for cls in given - {*classes.values()})
    page += _documented("Functions", [*functions], "function")
    page += _documented("What functions return", results, "class")
    return page + _documented("Classes", [*classes], "class") + _documented("Errors", [*errors], "exception")


def _named(hint: object) -> set[type]:
    """The package's classes in a type: of ``list[Standing]`` it is Standing."""
    inner = {cls for each in get_args(hint) for cls in _named(each)}
    return inner | ({hint} if isinstance(hint, type) and hint.__module__.startswith("limner.") else set())


def _documented(title: str, names: list[str], kind: str) -> str:
    wanted = {"function": "", "class": "   :members:\n", "exception": "   :show-inheritance:\n"}[kind]
    told = "\n".join(f".. auto{kind}:: {name}\n{wanted}" for name in names)
    return f"\n## {title}\n\n```{{eval-rst}}\n{told}```\n"


def toctree(names: list[str], caption: str = "") -> str:
    """A list of pages, for the navigation alone."""
    told = f":caption: {caption}\n" if caption else ""
    return (
        "\n```{toctree}\n:hidden:\n"
        + told
        + "\n"
        + "\n".join(f"/{name.removesuffix('.md')}" for name in names)
        + "\n```\n"
    )


CHANGED: dict[str, Callable[[str], str]] = {"words.md": glossary, "api.md": interface}
"""Pages that the site shows in another form than the repository."""


def stage(folder: Path) -> None:
    """Write what Sphinx reads."""
    known = pages()
    below: dict[str, list[str]] = {}
    ends = ""
    for title, rows in navigation(set(known)):
        below |= {row[0]: row[1:] for row in rows if row[1:]}
        ends += toctree([row[0] for row in rows], title)
    for name, source in known.items():
        text = source.read_text("utf-8")
        text = linked(start_page(text) if name == "start.md" else text, source, name)
        text = CHANGED.get(name, str)(text)
        text += ends if name == "index.md" else toctree(below[name]) if name in below else ""
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    shown = (path for path in known.values() for path in _pictures(path))
    (folder / "images").mkdir()
    for picture in set(shown):
        shutil.copy(picture, folder / "images" / picture.name)
    shutil.copy(DOCS / "conf.py", folder)
    shutil.copytree(DOCS / "_static", folder / "_static")


def _pictures(page: Path) -> list[Path]:
    found = [match[2] for match in LINK.finditer(page.read_text("utf-8"))]
    return [(page.parent / target).resolve() for target in found if target.endswith(".png") and "://" not in target]


def make(out: Path) -> str:
    """The site into `out`; gives what Sphinx had to say, which is nothing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stage(folder)
        shutil.rmtree(out, ignore_errors=True)
        words = [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "--fail-on-warning",
            "--keep-going",
            "-d",
            f"{name}/.trees",
        ]
        done = subprocess.run([*words, name, str(out)], capture_output=True, text=True, check=False)
        told = (done.stdout + done.stderr).replace(f"{name}/", "")
        if done.returncode:
            raise SystemExit(f"the documentation has faults:\n{told}")
        return told


if __name__ == "__main__":
    site = Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs")
    make(site)
    print(f"{site / 'index.html'}: {len(pages())} pages")
