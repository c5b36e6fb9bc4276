"""Executes the example notebooks and keeps their outputs: ``python -m tools.notebooks``."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
SECONDS = 300


def notebooks() -> list[Path]:
    """The examples."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """A notebook run from its first cell to its last in a folder of its own, without settings or keys."""
    book = nbformat.read(path, as_version=4)
    book.metadata["kernelspec"] = KERNEL
    client = NotebookClient(book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    env = {name: value for name, value in os.environ.items() if "KEY" not in name and not name.startswith("LIMNER")}
    client.execute(env=env)
    return book


def plain(book: Any) -> Any:
    """The same without what changes from run to run."""
    book.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for n, cell in enumerate(book.cells):
        cell.id = f"cell-{n}"
        cell.metadata = nbformat.from_dict({})
        for output in cell.get("outputs", ()):
            output.pop("metadata", None)
            if output.output_type in ("execute_result", "display_data"):
                output["metadata"] = {}
                if "image/svg+xml" in output.data:
                    output.data["image/svg+xml"] = re.sub(r"\s+$", "", output.data["image/svg+xml"], flags=re.M)
    return book


def main() -> None:
    """Execute all of them again."""
    for path in notebooks():
        with tempfile.TemporaryDirectory() as folder:
            book = plain(executed(path, Path(folder)))
        nbformat.validate(book)
        path.write_text(nbformat.writes(book) + "\n", "utf-8")
        print(f"{path.name}: {path.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
