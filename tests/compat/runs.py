"""The runs the kept store holds, in order, and how any of them is taken up again on a copy of it.

Every command is run in a folder that holds a copy of ``v1/inputs`` and the store as ``store``; paths in commands are
relative, so that no folder of one machine gets into what is kept.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.invoke import limner
from tests.end_to_end.shop import write_toml
from tests.fakes.client import Server

V1 = Path(__file__).parent / "v1"
INPUTS = V1 / "inputs"
STORE = "store"
SEED = 5
WORDING = "1"
"""The prompts that version 0.1 asked in; newer ones ask anew, and are told apart."""
JUDGE, SECOND = "studio/eye", "studio/mind"


@dataclass(frozen=True)
class Run:
    """One command of `limner`.

    Attributes:
        command: What is said, without the store.
        code: How it ends when it is first made.
        studio: The chat service's plan at that time; see `tests.fakes.studio`.
        easel: The image service's plan at that time; see `tests.fakes.images_plan`.
        kill_at: The chat request at which it is killed.
    """

    name: str
    command: str
    code: int = 0
    studio: Mapping[str, Any] = field(default_factory=dict)
    easel: Mapping[str, Any] = field(default_factory=dict)
    kill_at: int | None = None

    @property
    def words(self) -> list[str]:
        return self.command.split()

    @property
    def older(self) -> list[str]:
        """What goes on with the OCR examiner's rules of that time."""
        return ["--wording", "labels-2"] if "--judge ocr" in self.command else []


def _painters(controls: str) -> str:
    return " ".join(f"--painter control/{name}" for name in controls.split())


def _answers(yes: int) -> str:
    """A reply that fits every question of MMMG: of `yes + 1` items in turn all but one are shown."""
    items = [{"item": n, "reason": f"{n}", "answer": "yes" if n % (yes + 1) else "no"} for n in range(1, 25)]
    return json.dumps({"description": "a diagram", "entities": items, "dependencies": items})


_ALL, _THREE, _TWO = map(
    _painters, ("reference text blank erased shuffled swapped", "reference text blank", "reference blank")
)
_EFFORT = f"run sample/genexam {_painters('reference text')} --limit 4 --judge {JUDGE} --judge-arg reasoning_effort="
_GRAPHS = f"run sample/mmmg {_THREE} --limit 4 --judge"
_SMALL = "genexam --data data"
_BEST = f"--strategy direct --strategy best-of-2 -S chooser={JUDGE}"
_LOW = f"--judge {JUDGE} --judge-arg reasoning_effort=low"

RUNS = (
    # What `limner demo` runs, on fewer questions.
    Run("demo-genexam", f"run sample/genexam {_ALL} --judge ocr --judge ocr/mentions --limit 4"),
    Run("demo-mmmg", f"run sample/mmmg {_THREE} --judge ocr --limit 4"),
    Run("demo-worldgenbench", f"run sample/worldgenbench {_TWO} --judge ocr --limit 2"),
    Run("demo-fepbench", f"run sample/fepbench {_TWO} --judge ocr --limit 2"),
    Run("demo-aibench", f"run sample/aibench {_TWO} --judge ocr --limit 2"),
    # The same judge, asked with two efforts; the second time twice each.
    Run("effort-low", f"{_EFFORT}low"),
    Run("effort-high", f"{_EFFORT}high --repeats 2", studio={"seed": 6}),
    Run("graphs-one", f"{_GRAPHS} {JUDGE}", studio={"reply": _answers(3)}),
    Run("graphs-two", f"{_GRAPHS} {SECOND}", studio={"reply": _answers(6)}),
    Run("best-of-2", f"run {_SMALL} --limit 6 --painter easel/brush {_BEST} {_LOW}"),
    Run("second-judge", f"mark genexam --painter easel/brush --judge {SECOND}", studio={"seed": 9}),
    Run(
        "import",
        f"import {_SMALL} --results results --images drawings --painter model-a --judge gpt-5",
        code=3,
    ),
    # No drawing of this painter's succeeds: the service refuses them all.
    Run(
        "refused",
        f"run {_SMALL} --painter easel/stubborn {_LOW} --limit 6",
        code=3,
        easel={"faults": {"moderation_blocked": 1.0}},
    ),
    # A painter without all its files; a judge that refuses, talks nonsense and fails now and then.
    Run(
        "faulted",
        f"run {_SMALL} --painter gaps=folder/gaps --judge studio/wry",
        code=3,
        studio={"faults": {"refusal": 0.15, "length": 0.05, "prose": 0.4, "http_500": 0.1}},
    ),
    # Ended when the last of three requests came in: the three claims stand in the store.
    Run(
        "killed",
        f"run {_SMALL} --painter late=folder/drawings --judge studio/late --concurrency 3",
        studio={"latency_s": 0.5},
        kill_at=6,
    ),
)


def settle(folder: Path, studio: Server, easel: Server) -> None:
    """Write the limner.toml that leads to the services."""
    priced = {"input_price": 2.0, "output_price": 8.0, "max_output_tokens": 4000}
    provider = {"base_url": easel.base_url, "image_shape": "openai-images", "seeds": True, "timeout_s": 30}
    models = {f"models.{name}": priced for name in (JUDGE, SECOND, "studio/wry", "studio/late")}
    painters = {f"painters.easel/{name}": {"image_price": 0.04} for name in ("brush", "stubborn")}
    services = {"providers.studio": {"base_url": studio.base_url, "timeout_s": 30}, "providers.easel": provider}
    write_toml(folder, {**services, **models, **painters})


def lay_out(folder: Path) -> Path:
    """Copy inputs and store into a folder; returns the store's place there."""
    shutil.copytree(INPUTS, folder, dirs_exist_ok=True)
    return Path(shutil.copytree(V1 / STORE, folder / STORE))


def count_rows(store: Path) -> dict[str, int]:
    """How many calls and attempts the store's journal has."""
    with closing(sqlite3.connect(store / "limner.db")) as database:
        names = ("calls", "attempts")
        return {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names}


def take_up(run: Run, studio: Server, easel: Server, store: str = STORE, *more: str) -> dict[str, Any]:
    """Run the command again in the working folder; what it said, and how many requests it made of each service.

    It goes on with the prompts that it was begun with.
    """
    servers = {"studio": studio, "easel": easel}
    plans = {"studio": run.studio, "easel": run.easel}
    before = {}
    for name, server in servers.items():
        # Neither failing nor slow any more.
        kept = {key: value for key, value in plans[name].items() if key not in ("faults", "latency_s")}
        server.configure(**{"seed": SEED, **kept})
        before[name] = server.counts()["total"]
    wording = [*run.older, *(["--wording", WORDING] if run.words[0] in ("run", "mark") else [])]
    said = limner(*run.words, *wording, "--store", store, "--json", *more, code=None)
    made = {name: server.counts()["total"] - before[name] for name, server in servers.items()}
    return {"code": said.code, "said": said.json(), "requests": made}
