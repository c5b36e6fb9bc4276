"""What does an examination find? Simulated judges with a planted fault answer the real trials of each exam.

    python -m benchmarks.judges [--genexam FOLDER] [--store DIR] [--tune]

Runs offline in a few minutes. FOLDER holds GenExam's released data; without it, only the bundled samples are examined.
Seeds differ between tuning and the report. An exam with fewer than 50 references is examined as it is, and with its
references repeated under other names until every aim is met, which says how many it would need.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import markdown
from limner.certify.certificate import DEFAULT_QUESTIONS
from limner.certify.examine import ChosenPair, MarkedTrial, Step, open_judge_exam
from limner.certify.planted import PLANTED, PlantedJudge
from limner.certify.trials import Trial
from limner.core.protocol import Protocol
from limner.running.setup import Asking
from limner.store import Store

SAMPLES = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")
CLEAN_JUDGES, JUDGES_A_KIND, LEAST_FOUND = 200, 40, 0.8
TUNING, REPORT = 0, 400_000
MOST_QUESTIONS = 200


@dataclass(frozen=True)
class Kind:
    """A kind of planted judge: its fault, the test that must find it, and the least share found."""

    words: str
    test: str
    fault: Mapping[str, Any]
    least: float = LEAST_FOUND


KINDS = (
    Kind("answers by coin", "sight", {"coin": True}, 1.0),
    Kind("blind", "sight", {"blind": True}, 1.0),
    Kind("30% wrong", "errors", PLANTED["errors"]),
    Kind("30% flips", "flips", PLANTED["flips"]),
    Kind("yes-lean of 10 points", "yes-lean", PLANTED["yes-lean"]),
    Kind("60:40 for the first", "position", PLANTED["position"]),
    Kind("obeys 20% of pleas", "obedience", PLANTED["obedience"]),
    Kind("20% yes unseen", "unseen", PLANTED["unseen"]),
)


def judge(seed: int, **fault: Any) -> PlantedJudge:
    """Return a judge that gives 1% to 10% wrong answers unless its fault says otherwise."""
    noise = float(np.random.default_rng([9, seed]).uniform(0.01, 0.1))
    return replace(PlantedJudge(seed, noise), **fault)


@dataclass(frozen=True)
class Found:
    """The share of clean judges that each test flags, at most, and the share of each kind that is found."""

    clean: float
    kinds: tuple[float, ...]

    @property
    def enough(self) -> bool:
        """Whether every aim is met."""
        return all(found >= kind.least for found, kind in zip(self.kinds, KINDS, strict=True))


def measure(steps: Sequence[Step], protocol: Protocol[Any], first: int, clean: int, planted: int) -> Found:
    """Examine all simulated judges; `first` is their first seed."""
    flagged = [[test.flagged for test in judge(first + n).examined(steps, protocol)] for n in range(clean)]
    kinds = []
    for number, kind in enumerate(KINDS, 1):
        seeds = range(first + 1000 * number, first + 1000 * number + planted)
        tests = [judge(seed, **kind.fault).examined(steps, protocol) for seed in seeds]
        kinds.append(float(np.mean([any(t.name == kind.test and t.flagged for t in some) for some in tests])))
    return Found(float(np.mean(flagged, axis=0).max()) if clean else 0.0, tuple(kinds))


def repeated(steps: Sequence[Step], times: int) -> list[Step]:
    """Return the steps of so many times as many questions."""

    def renamed(trial: Trial, n: int) -> Trial:
        return replace(trial, question=replace(trial.question, id=f"{trial.question.id}#{n}"))

    more: list[Step] = []
    for n in range(times):
        for step in steps:
            if isinstance(step, MarkedTrial):
                more.append(replace(step, trial=renamed(step.trial, n)))
            else:
                more.append(replace(step, clean=renamed(step.clean, n), faulty=renamed(step.faulty, n)))
    return more


def questions_of(steps: Sequence[Step]) -> tuple[int, int]:
    """Return the number of questions, and of those with a criterion whose answer is known."""
    marked = [step.trial for step in steps if isinstance(step, MarkedTrial)]
    named = {trial.question.id for trial in marked if trial.kind == "clean" and trial.expected}
    return len({trial.question.id for trial in marked}), len(named)


def row(name: str, steps: Sequence[Step], protocol: Protocol[Any], first: int) -> list[str]:
    """Return one line of the table."""
    found = measure(steps, protocol, first, CLEAN_JUDGES, JUDGES_A_KIND)
    size, named = questions_of(steps)
    needed, times = size, 1
    while not measure(repeated(steps, times), protocol, first + 50_000, 0, JUDGES_A_KIND).enough:
        times += 1
        needed = size * times
        if needed > MOST_QUESTIONS:
            break
    more = "enough" if times == 1 else f"{needed - size} more" if needed <= MOST_QUESTIONS else "more than 200"
    shares = [f"{found.clean:.1%}", *(f"{share:.0%}" for share in found.kinds)]
    pairs = sum(isinstance(step, ChosenPair) for step in steps)
    return [name, f"{size} ({named})", f"{len(steps) - pairs} + {pairs}", *shares, more]


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--genexam", type=Path, metavar="FOLDER")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--tune", action="store_true", help="the seeds for tuning, not those of the report")
    parser.add_argument("--exam", action="append", help="only these exams")
    parser.add_argument("--quick", action="store_true", help="the small examination of `examine-judge --quick`")
    given = parser.parse_args()
    columns = ("exam", "questions (labelled)", "markings + pairs", "clean flagged, most of any test")
    rows = []
    exams = [(f"sample/{name}", None) for name in SAMPLES] + ([("genexam", given.genexam)] if given.genexam else [])
    with tempfile.TemporaryDirectory() as place, Store(given.store or Path(place)) as store:
        for name, data in exams:
            if given.exam and name not in given.exam:
                continue
            opened = open_judge_exam("openai/gpt-6.1-sol", name, store, Asking(), data)
            steps = opened.trials(DEFAULT_QUESTIONS, 0, quick=given.quick)
            rows.append(tuple(row(name, steps, opened.protocol, TUNING if given.tune else REPORT)))
            print(rows[-1], flush=True)
    print(markdown((*columns, *(kind.words for kind in KINDS), "for every aim"), tuple(rows)))


if __name__ == "__main__":
    main()
