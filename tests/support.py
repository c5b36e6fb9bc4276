"""What many tests need: a small exam on disk, tiny pictures, the command line as a process of its own."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from PIL import Image

from tests.fakes import ChatServer, verdict
from tests.loaded import Copy

SUBJECTS = ("Biology", "Mathematics", "Physics")
LEVELS = ("easy", "medium", "hard")
WEIGHTS = ((0.5, 0.3, 0.2), (0.4, 0.3, 0.2, 0.1), (0.25, 0.25, 0.2, 0.2, 0.1))
KEY_VARIABLE = "FAKE_API_KEY"
JUDGE = "fake/judge"
PRICES = (2.0, 8.0)
"""Dollars per million tokens in and out, as `write_settings` gives them to `JUDGE`."""
CLI = (sys.executable, "-c", "from limner.cli import main; main()")


def picture(number: int, kind: str = "PNG", size: tuple[int, int] = (8, 8)) -> bytes:
    """A small image; every number gives another one, as PNG and as JPEG."""
    image = Image.new("RGB", size, (number % 16 * 16, number // 16 % 16 * 16, number // 256 % 16 * 16))
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


def sent(data: bytes) -> bytes:
    """A small image as a judge gets it: RGB, JPEG."""
    buffer = io.BytesIO()
    Image.open(io.BytesIO(data)).convert("RGB").save(buffer, "JPEG")
    return buffer.getvalue()


@dataclass(frozen=True)
class SmallExam:
    """A generated exam in GenExam's release layout, and a folder of drawings for it.

    Attributes:
        data: What ``--data`` takes.
        drawings: What ``--painter folder/…`` takes: ``<id>.png``.
        rows: The annotations as written.
    """

    data: Path
    drawings: Path
    rows: tuple[dict[str, Any], ...]

    @property
    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows]

    def drawing(self, id: str) -> Path:
        return self.drawings / f"{id}.png"


def write_exam(root: Path, count: int, *, drawings: bool = True) -> SmallExam:
    """Write an exam of `count` questions under ``root/data`` and its drawings under ``root/drawings``."""
    data, folder = root / "data", root / "drawings"
    rows = tuple(_row(number) for number in range(count))
    (data / "annotations").mkdir(parents=True)
    (data / "annotations" / "All_Subjects.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (data / "mini_sample_ids.txt").write_text("".join(row["id"] + "\n" for row in rows[: (count + 3) // 4]), "utf-8")
    folder.mkdir()
    for number, row in enumerate(rows):
        reference = data / "images" / row["image_path"]
        reference.parent.mkdir(parents=True, exist_ok=True)
        reference.write_bytes(picture(number, size=(16, 8)))
        if drawings:
            (folder / f"{row['id']}.png").write_bytes(picture(number))
    return SmallExam(data, folder, rows)


def _row(number: int) -> dict[str, Any]:
    subject, weights = SUBJECTS[number % len(SUBJECTS)], WEIGHTS[number % len(WEIGHTS)]
    id = f"{subject}_{number}"
    return {
        "id": id,
        "prompt": f"Draw figure {number} of {subject} with its labels.",
        "image_path": f"{subject}/{id}.png",
        "scoring_points": [
            {"question": f"Does part {n} of figure {number} stand where it belongs?", "score": weight}
            for n, weight in enumerate(weights, 1)
        ],
        "taxonomy": f"{subject}/Figures",
        "img_type": "diagrams",
        "subject": subject,
        "difficulty": LEVELS[number % len(LEVELS)],
    }


def write_settings(
    folder: Path, base_url: str, *, key: bool = False, priced: bool = True, timeout_s: float = 30
) -> Path:
    """Write a limner.toml that knows the fake service as the provider ``fake``."""
    lines = ["[providers.fake]", f'base_url = "{base_url}"', f"timeout_s = {timeout_s}"]
    if key:
        lines.append(f'key_env = "{KEY_VARIABLE}"')
    if priced:
        lines += [f'[models."{JUDGE}"]', f"input_price = {PRICES[0]}", f"output_price = {PRICES[1]}"]
    path = folder / "limner.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment, without any service's key in it."""
    dropped = [name for name in os.environ if name.endswith("_API_KEY") or name == "LIMNER_STORE"]
    return {**{name: value for name, value in os.environ.items() if name not in dropped}, **(more or {})}


def start_limner(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start the command line as a process of its own."""
    return subprocess.Popen(
        [*CLI, *map(str, words)],
        cwd=cwd,
        env=environment(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_limner(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    return Copy(MAIN, [*map(str, words)], cwd, environment(env)).end(timeout)


MAIN = "from limner.cli import main; main()"


class Gated:
    """The command line as a process that has loaded everything and waits for a word before it begins.

    So its number is known, and a service can be told of it, before it sends its first request; and starting takes
    place beside whatever else goes on.

    Args:
        pauses: Whether it pauses between tries as it does for users.
    """

    _AT_ONCE = "import limner.calls.journal as journal; journal.back_off = lambda tries: 0.01 * tries; "

    def __init__(
        self, *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, pauses: bool = True
    ) -> None:
        code = ("" if pauses else self._AT_ONCE) + "input(); " + MAIN
        self._process = Copy(code, [*map(str, words)], cwd, environment(env))
        self.pid = self._process.pid

    def go(self) -> None:
        """Let it begin."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Wait for its end."""
        return self._process.end(timeout)

    def stop(self) -> None:
        """End it whatever it does; after its end this does nothing."""
        self._process.stop()


def expected_scores(exam: SmallExam, server: ChatServer, seed: int) -> dict[str, dict[str, float]]:
    """What every drawing of the exam must score, by question id.

    Worked out from the fake judge's truth and the published rules alone: none of the program under test takes part.
    A drawing's semantic score is the weight of the points answered 1; it is strictly right when every point is 1 and
    every rating 2; its relaxed score is 0.7 of the semantic one and 0.1 for each rating out of 2. In percent.
    """
    answered = [record["body"] for record in server.records(10**6) if record["outcome"] == "answered"]
    asked = [body["messages"][0]["content"] for body in answered]
    found = {}
    for row in exam.rows:
        drawing = sent(exam.drawing(row["id"]).read_bytes())
        sha256 = hashlib.sha256(drawing).hexdigest()
        texts = {
            parts[0]["text"]
            for parts in asked
            if row["prompt"] in parts[0]["text"] and parts[1]["image_url"]["url"]["sha256"] == sha256
        }
        (text,) = texts
        points = row["scoring_points"]
        reply = verdict(text, drawing, len(points), seed)
        met = [answer["answer"] == 1 for answer in reply["answers"]]
        ratings = [rating["score"] for rating in reply["global_evaluation"].values()]
        assert (len(met), len(ratings)) == (len(points), 3)
        semantic = sum(Fraction(str(p["score"])) for p, yes in zip(points, met, strict=True) if yes)
        relaxed = Fraction(7, 10) * semantic + Fraction(1, 20) * sum(ratings)
        found[row["id"]] = {
            "strict": 100.0 if all(met) and ratings == [2, 2, 2] else 0.0,
            "relaxed": round(float(relaxed * 100), 1),
            "semantic": float(semantic),
        }
    return found
