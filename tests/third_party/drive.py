"""Commands with other packages installed; `python -m tests.third_party.drive` is the far end, in a fresh process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support import environment

SITE = Path(__file__).parent / "site"
ROOT = Path(__file__).parents[2]


def installed() -> dict[str, str]:
    """The environment of a process that has the packages on its path."""
    return environment({"PYTHONPATH": os.pathsep.join([str(SITE), str(ROOT)]), "COLUMNS": "100"})


def drive(folder: Path, *commands: list[str], site: Path | None = None) -> list[tuple[int, str, str]]:
    """Run the commands in a fresh process that has the packages on its path, and what `site` holds."""
    env = installed()
    if site is not None:
        env["PYTHONPATH"] = f"{site}{os.pathsep}{env['PYTHONPATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "tests.third_party.drive"],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        env=env,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return [(code, out, err) for code, out, err in json.loads(done.stdout)]


if __name__ == "__main__":
    from tests.cli.invoke import limner

    said = [limner(*words, code=None) for words in json.load(sys.stdin)]
    json.dump([[one.code, one.out, one.err] for one in said], sys.stdout)
