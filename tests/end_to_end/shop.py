"""What whole runs need: services, settings that point at them, the command line, and what must come out.

What must come out is worked out from the services' truths and the published rules alone: none of the program under
test takes part in it.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.fakes import ChatServer, verdict
from tests.fakes.images_client import ImageServer
from tests.support import environment, sent

Json = dict[str, Any]
JUDGE = "judging/judge"
PRICES = (2.0, 8.0)
"""Dollars per million tokens in and out that the judge takes."""
QUICK = """
import random
import limner.calls.journal as journal
journal.back_off = lambda tries: random.uniform(0, 0.02)
from limner.cli import main
main()
"""
"""The command line, with pauses between tries that are too short to slow a test down."""


class BilledChat(ChatServer):
    """The fake chat service with bills; see `tests.end_to_end.bills`."""

    module = "tests.end_to_end.billed_chat"


class BilledImages(ImageServer):
    """The fake image service with bills; see `tests.end_to_end.bills`."""

    module = "tests.end_to_end.billed_images"


def charged(bill: Mapping[str, int], prices: tuple[float, float] = PRICES) -> float:
    """What a service charges by its own bill, in dollars."""
    return (bill["tokens_in"] * prices[0] + bill["tokens_out"] * prices[1]) / 1e6


def write_toml(folder: Path, sections: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write a limner.toml; a section is called such as ``providers.mine`` or ``models.mine/judge``."""
    lines = []
    for section, fields in sections.items():
        kind, _, name = section.partition(".")
        lines.append(f'[{kind}."{name}"]')
        lines += [f"{key} = {json.dumps(value)}" for key, value in fields.items()]
    path = folder / "limner.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def judging(chat: ChatServer, **provider: Any) -> dict[str, dict[str, Any]]:
    """The settings' sections for the judge."""
    facts = {"input_price": PRICES[0], "output_price": PRICES[1]}
    return {"providers.judging": {"base_url": chat.base_url, "timeout_s": 30, **provider}, f"models.{JUDGE}": facts}


def settle(
    here: Path, judge: BilledChat, painting: BilledImages, both: Mapping[str, Any] | None = None, **drawing: Any
) -> None:
    """Write settings that point at both services; `drawing` replaces fields of the painter's, `both` of each."""
    service = {"base_url": painting.base_url, "image_shape": "openai-images", **(both or {}), **drawing}
    write_toml(here, {"providers.drawing": service, **judging(judge, **(both or {}))})


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def lines(self) -> list[Json]:
        return [json.loads(line) for line in self.out.splitlines()]


def limner(
    *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, code: int | None = 0, timeout: float = 120
) -> Ended:
    """Run the command line as a process of its own; its exit code must be `code` unless that is None."""
    command = [sys.executable, "-c", QUICK, *map(str, words)]
    process = subprocess.run(
        command, cwd=cwd, env=environment(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout
    )
    ended = Ended(process.returncode, process.stdout.decode(), process.stderr.decode())
    assert "Traceback" not in ended.err, ended.err
    assert code is None or ended.code == code, f"{words}: exit code {ended.code}\n{ended.out}\n{ended.err}"
    return ended


def points_of(row: Json) -> list[Fraction]:
    return [Fraction(str(point["score"])) for point in row["scoring_points"]]


def expected_score(row: Json, text: str, drawing: bytes, seed: int) -> dict[str, float]:
    """What a drawing must score, by the judge's truth about it.

    Points answered 1 give their weight; strictly right is a drawing with every point at 1 and every rating at 2; the
    relaxed score is 0.7 of the points' weight and 0.1 for each rating's share of 2, to three decimals, in percent.
    """
    weights = points_of(row)
    reply = verdict(text, sent(drawing), len(weights), seed)
    met = [answer["answer"] for answer in reply["answers"]]
    ratings = [rating["score"] for rating in reply["global_evaluation"].values()]
    assert (len(met), len(ratings)) == (len(weights), 3)
    semantic = sum((weight for weight, yes in zip(weights, met, strict=True) if yes), Fraction(0))
    relaxed = Fraction(7, 10) * semantic + Fraction(1, 10) * sum(ratings) / 2
    spelling, readability, logic = map(float, ratings)
    return {
        "strict": 100.0 if all(met) and ratings == [2, 2, 2] else 0.0,
        "relaxed": round(float(relaxed), 3) * 100,
        "semantic": round(float(semantic), 4),
        "spelling": spelling,
        "readability": readability,
        "logic": logic,
    }


def expected_scores(rows: Sequence[Json], drawings: Mapping[str, bytes], chat: ChatServer, seed: int) -> dict[str, Any]:
    """What every drawing must score, by question id."""
    asked: dict[tuple[str, str], set[str]] = {}
    for record in chat.records(10**6):
        if record["outcome"] == "answered":
            text, image = record["body"]["messages"][0]["content"][:2]
            shown = image["image_url"]["url"]["sha256"]
            (prompt,) = [row["prompt"] for row in rows if row["prompt"] in text["text"]]
            asked.setdefault((prompt, shown), set()).add(text["text"])
    expected = {}
    for row in rows:
        drawing = drawings[row["id"]]
        (text,) = asked.pop((row["prompt"], hashlib.sha256(sent(drawing)).hexdigest()))
        expected[row["id"]] = expected_score(row, text, drawing, seed)
    # No other picture was ever marked.
    assert not asked
    return expected


def all_bytes(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, with its name."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()
