"""Makes the documentation's pictures anew, all or some: ``python -m tests.docs [NAME…]``.

Look at them before you keep them.
"""

from __future__ import annotations

import sys
from importlib import import_module

PICTURES = {
    "plots": "tests.docs.plots",
    "site": "tests.report.site.shots",
    "readme": "tests.docs.readme_picture",
    "build": "tests.docs.build_pictures",
    "controls": "tests.docs.pictures",
    "certificate": "tests.docs.certificate_picture",
    "corrected": "tests.docs.corrected_picture",
    "reproduce": "tests.docs.reproduce_picture",
    "rubric": "tests.docs.rubric_picture",
    "study": "tests.docs.study_picture",
}
"""Name -> the module whose `main` makes them."""


def main(names: list[str]) -> None:
    """Make the pictures of these names, or all."""
    if unknown := sorted(set(names) - PICTURES.keys()):
        sys.exit(f"no pictures {', '.join(unknown)}; there is: {', '.join(PICTURES)}")
    for name in names or PICTURES:
        print(name, flush=True)
        import_module(PICTURES[name]).main()


if __name__ == "__main__":
    main(sys.argv[1:])
