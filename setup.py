"""Build settings that `pyproject.toml` cannot express: the documentation pages go into the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PAGES = Path(__file__).parent / "docs"


class BuildWithPages(build_py):
    """A build that copies the documentation's Markdown pages to where `limner docs` reads them."""

    def run(self) -> None:
        """Copy the package, then the pages; an editable install reads the pages where they are."""
        super().run()
        if self.editable_mode:
            return
        for page in sorted(PAGES.rglob("*.md")):
            target = Path(self.build_lib) / "limner" / "docs" / page.relative_to(PAGES)
            self.mkpath(str(target.parent))
            self.copy_file(str(page), str(target))


setup(cmdclass={"build_py": BuildWithPages})
