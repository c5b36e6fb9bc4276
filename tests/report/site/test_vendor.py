"""The files of others are those that are named."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import limner.report.site

STATIC = Path(limner.report.site.__file__).parent / "static"
VENDOR = STATIC / "vendor"
ROW = re.compile(r"^\| (\S+\.js) \| (\S+) \| ([\d.]+) \| (\S+) \| (\S+) \| ([0-9a-f]{64}) \|$", re.MULTILINE)


def test_vendored_files_are_unmodified_and_licensed() -> None:
    rows = ROW.findall((VENDOR / "README.md").read_text("utf-8"))
    assert {name: sha256 for name, *_, sha256 in rows} == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDOR.glob("*.js")
    }
    for _, package, *_ in rows:
        assert (VENDOR / f"LICENSE-{package.rpartition('/')[2]}.txt").is_file()


def test_static_files_stay_below_size_limit() -> None:
    assert sum(path.stat().st_size for path in STATIC.rglob("*") if path.suffix in (".js", ".css", ".svg")) < 270_000


def test_own_scripts_build_no_markup_from_strings() -> None:
    for path in STATIC.glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySet|eval\(|Function\(", text
        )
        assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\(|localStorage|document\.cookie", text)
