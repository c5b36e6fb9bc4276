"""What failed while two processes shared the machine is tried once more, alone: ``python -m tools.again``.

A kill, a browser or a lease can lose a race on a machine that stands still for seconds. Few failures get one second
try without neighbours; what passes then is named, for its waiting is a fault of its own. Many failures get none.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

FEW = 5
"""So many failures may be bad luck; more have a cause."""
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def failed(file: Path = FAILED) -> list[str]:
    """The tests that failed last, in order; none where pytest did not come to its end."""
    return sorted(json.loads(file.read_text("utf-8"))) if file.exists() else []


def try_again(tests: Sequence[str], run: Callable[[Sequence[str]], int]) -> int:
    """0 when the tests were few and all pass now; each of them is named."""
    if not 0 < len(tests) <= FEW:
        print(f"{len(tests)} failed tests: only 1 to {FEW} are tried again, alone")
        return 1
    if code := run(tests):
        return code
    print("failed beside other tests and passed alone (mend how they wait):", *tests, sep="\n  ")
    return 0


def _pytest(tests: Sequence[str]) -> int:
    # Whoever has the first run write a report keeps it: an empty name takes back the one in PYTEST_ADDOPTS.
    return subprocess.run([sys.executable, "-m", "pytest", "--junitxml=", *tests], check=False).returncode


if __name__ == "__main__":
    sys.exit(try_again(failed(), _pytest))
