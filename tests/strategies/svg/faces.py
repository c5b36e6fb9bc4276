"""Makes the bundled faces from whole fonts: ``python -m tests.strategies.svg.faces FOLDER``.

The folder holds Arimo, Tinos and Cousine, as Debian's package fonts-croscore brings them; fontTools must be installed.
The faces hold what diagrams write: Latin, Greek and Cyrillic letters, indices, arrows and signs of mathematics. All
other characters come from DejaVu Sans.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from limner.strategies.svg.rendering import FACES

CHARACTERS = (
    "20-7E,A0-17F,2C6-2DD,384-3CE,3D1,3D5,3F5,400-45F,2010-2026,2030-2044,2070-209C,20AC,2100-214F,2190-21D5,"
    "2200-22FF,2713,2717,27E8-27E9,FB01-FB02"
)
OPTIONS = ("--no-hinting", "--name-IDs=0,1,2,4,6,13,14", "--layout-features=kern,mark,mkmk,ccmp", "--drop-tables+=FFTM")


def main(folder: Path) -> None:
    """Write the faces where the package looks for them."""
    subset = import_module("fontTools.subset")
    for face in FACES:
        subset.main([str(folder / face.name), f"--unicodes={CHARACTERS}", *OPTIONS, f"--output-file={face}"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
