"""Records the numbers of every exam, or checks a recording: ``python -m tools.recordings record|check [FOLDER]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.recordings.files import DATA, check_exam, record_exam
from tools.recordings.store import EXAMS


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; return 0 where nothing differs in numbers, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tools.recordings", description=__doc__)
    parser.add_argument("command", choices=["record", "check"])
    parser.add_argument(
        "folder", nargs="?", type=Path, default=DATA, help="where recordings are; tools/recordings/data"
    )
    parser.add_argument("--exam", action="append", choices=EXAMS, help="only this exam; repeatable")
    asked = parser.parse_args(words)
    exams = asked.exam or EXAMS
    if asked.command == "record":
        for exam in exams:
            print(record_exam(exam, asked.folder), flush=True)
        return 0
    failed = 0
    for exam in exams:
        differences = check_exam(exam, asked.folder)
        counts = {verdict: sum(one.verdict == verdict for one in differences) for verdict in VERDICTS}
        print(f"{exam}: " + ", ".join(f"{counts[verdict]} {words}" for verdict, words in VERDICTS.items()), flush=True)
        for one in differences:
            if one.lines:
                print(f"  {one.output}: {VERDICTS[one.verdict]}", *one.lines, sep="\n    ")
            failed += not one.passed
    print(f"{failed} outputs have other numbers than recorded" if failed else "the numbers are those recorded")
    return 1 if failed else 0


VERDICTS = {
    "same": "the same",
    "fields": "with the same numbers, fields changed",
    "names": "with the same numbers at other names",
    "numbers": "with other numbers",
}

if __name__ == "__main__":
    sys.exit(main())
