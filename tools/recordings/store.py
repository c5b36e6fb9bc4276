"""Makes the store that one exam's recording is taken from: every command is one that users have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.invoke import limner
from tests.end_to_end.shop import write_toml
from tests.fakes.images_client import ImageServer

from tools.recordings.judge import RecordingsServer
from tools.recordings.people import PEOPLE, STUDY, answer_study
from tools.recordings.results import RESULTS, WRITERS

EXAMS = ("genexam", "mmmg", "worldgenbench", "fepbench", "aibench")
BY_OCR = "mmmg"
"""The exam that the built-in examiner marks as well; it is slow."""
JUDGE, SECOND, CHOOSER = "fake/ada", "fake/bob", "fake/chooser"
QUILL, BRUSH = "quill=python/tools.recordings.painter:quill", "brush=easel/brush"
CONTROLS = ("control/reference", "control/shuffled")
IMPORTED, IMPORTED_JUDGE = "atelier", "gpt-5"
NAMES = ("quill", "brush", "best-of-2", *CONTROLS, IMPORTED, "ada", "bob", IMPORTED_JUDGE, *PEOPLE, STUDY)
"""Names that outputs have numbers of, judges without their provider."""


@contextmanager
def services(folder: Path) -> Iterator[None]:
    """Run the fake judge and the fake image service, with a limner.toml in the folder that leads to them."""
    priced = {"input_price": 2.0, "output_price": 8.0, "max_output_tokens": 4000}
    with RecordingsServer() as chat, ImageServer() as easel:
        drawing = {"base_url": easel.base_url, "image_shape": "openai-images", "seeds": True, "timeout_s": 30}
        write_toml(
            folder,
            {
                "providers.fake": {"base_url": chat.base_url, "timeout_s": 30},
                "providers.easel": drawing,
                **{f"models.{name}": priced for name in (JUDGE, SECOND, CHOOSER)},
                "painters.easel/brush": {"image_price": 0.04},
            },
        )
        yield


def make_store(exam: str) -> dict[str, Any]:
    """Draw, mark, import and let people mark in the working folder; return what each command said as JSON."""
    sample = f"sample/{exam}"
    said: dict[str, Any] = {}

    def run(name: str, *words: str) -> None:
        told = limner(*words, "--format=json", code=None)
        # Interrupted or refused, a store would lack what the recording is about.
        if told.code not in (0, 3):
            raise RuntimeError(f"limner {' '.join(words)} ended with {told.code}: {told.err}")
        said[name] = {"code": told.code, "said": told.json()}

    judges = [*_each("--judge", (JUDGE, SECOND)), *(("--aesthetics", JUDGE) if exam == "aibench" else ())]
    run("run-direct", "run", sample, *_each("--painter", (QUILL, *CONTROLS)), *judges)
    run("run-best", "run", sample, "--painter", BRUSH, *best_of_2(), *judges)
    # What is asked a second time comes second at the service, so that its replies differ in the same places.
    run("mark-again", "mark", sample, "--painter", "quill", "--judge", JUDGE, "--repeats", "2")
    if exam == BY_OCR:
        run("mark-ocr", "mark", sample, *_each("--painter", CONTROLS), "--judge", "ocr")
    if exam in WRITERS:
        WRITERS[exam](sample, limner("export", sample, "--painter", "quill", "--judge", SECOND).lines())
        whose = ("--painter", IMPORTED, "--judge", IMPORTED_JUDGE)
        run("import", "import", sample, "--results", RESULTS, *whose)
    said["study"] = answer_study(sample, JUDGE)
    return said


def best_of_2() -> list[str]:
    """The options that draw directly and by best-of-2."""
    return ["--strategy", "direct", "--strategy", "best-of-2", "-S", f"chooser={CHOOSER}"]


def _each(option: str, values: Sequence[str]) -> Iterator[str]:
    for value in values:
        yield from (option, value)
