"""The page on cost: its sums are right, its numbers are those of the program, its estimates are those made."""

from __future__ import annotations

import ast
import csv
import json
import operator
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from limner.calls.budget import BudgetReached
from limner.core import prices
from limner.exams.genexam import GENEXAM
from limner.models import base
from limner.models.base import TURNS
from limner.painters import image_price
from limner.running import estimate
from limner.running.spending import GROUPS, PAID
from tests.docs.blocks import ROOT, Session, blocks, near
from tests.docs.tables import SETTINGS, code, number, table
from tests.needs import shared

PAGE = ROOT / "docs" / "cost.md"
EXAMS = ("GenExam", "MMMG", "WorldGenBench", "FEPBench", "AIBench")
SUM = re.compile(r"(?P<sum>.+?) = (?P<shown>\$?[\d,]+(?:\.\d+)?)(?: .*)?")
OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
SUMS = [
    pytest.param(line, id=f"{block.line + n}")
    for block in blocks(PAGE)
    if "arithmetic" in block.notes
    for n, line in enumerate(block.lines)
]


def text() -> str:
    return " ".join(PAGE.read_text("utf-8").split())


@pytest.mark.parametrize("line", SUMS)
def test_every_sum_is_right(line: str) -> None:
    found = SUM.fullmatch(line)
    assert found, line
    shown = found["shown"].replace(",", "").lstrip("$")
    digits = len(shown.partition(".")[2])
    assert f"{_worked_out(found['sum']):.{digits}f}" == shown
    # Dollars have two digits, and a share of a million is a price that is known.
    assert not found["shown"].startswith("$") or digits == 2
    known = {price for facts in SETTINGS.models.values() for price in (facts.input_price, facts.output_price)}
    for price in re.findall(r"\$([\d.]+) / 1,000,000", found["sum"]):
        assert float(price) in known


def _worked_out(words: str) -> float:
    """A sum with units and commas in it."""
    return _value(ast.parse(re.sub(r"[,$]|[A-Za-z]+", "", words).strip(), mode="eval").body)


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant):
        return float(str(node.value))
    assert isinstance(node, ast.BinOp), ast.dump(node)
    return OPERATORS[type(node.op)](_value(node.left), _value(node.right))


def _sections() -> dict[str, str]:
    """What stands below each heading of the fourth order."""
    parts = re.split(r"^#### ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    return {part.splitlines()[0]: part for part in parts}


def test_the_last_table_is_that_of_the_sums() -> None:
    sums = _sections()
    large, small = (SETTINGS.price(f"openai/{name}", 1_000_000, 0) for name in ("gpt-6-sol", "gpt-6-luna"))
    longer, shorter = (SETTINGS.price(f"openai/{name}", 0, 1_000_000) for name in ("gpt-6-sol", "gpt-6-luna"))
    share = (small or 0) / (large or 1)
    assert share == (shorter or 0) / (longer or 1) == 1 / 20
    rows = table(PAGE, "exam", "calls", "with `openai/gpt-6-sol`", "with `openai/gpt-6-luna`").rows
    assert tuple(row[0] for row in rows) == EXAMS
    for exam, calls, dollars, fewer in rows:
        assert re.search(rf"(= {calls} calls$|^{calls} calls )", sums[exam], re.MULTILINE), exam
        assert re.search(rf"\$[\d.]+ \+ \$[\d.]+ = \${dollars}$", sums[exam], re.MULTILINE), exam
        assert abs(float(dollars) * share - float(fewer)) <= 0.005 + 1e-9, exam


def test_questions_and_drawings() -> None:
    rows = table(PAGE, "exam", "questions", "drawings").rows
    assert tuple(row[0] for row in rows) == EXAMS
    drawn = PAGE.read_text("utf-8").partition("### Drawing")[2].partition("### Marking")[0]
    for exam, _, drawings in rows:
        assert re.search(rf"^{drawings.split(';')[0]} drawings \* .+ {exam}$", drawn, re.MULTILINE), exam


def test_tokens_assumed_are_those_reckoned_with() -> None:
    rows = {row[0]: row for row in table(PAGE, "exam", "calls", "the paper's judge").rows}
    assert tuple(rows) == EXAMS
    sums = _sections()
    for exam, (_, _, _, sent, _, reply) in rows.items():
        for tokens in re.findall(r"\d{3}|\d+,\d{3}", f"{sent} {reply}"):
            assert re.search(rf"(?<![\d,]){tokens}(?![\d,])", sums[exam]), f"{exam}: {tokens}"


MODULES = (estimate, prices, image_price)
"""Where the bases of estimates are named."""


@pytest.mark.parametrize(
    "told",
    [
        f"one token per {base.BYTES_PER_TOKEN} bytes of text, {base.PICTURE_TOKENS} per picture",
        f"One picture counts as {base.PICTURE_TOKENS} tokens",
        f"{GENEXAM.protocol.reply_tokens['mark']:,} tokens to mark",
        f"{GENEXAM.protocol.reply_tokens['caption']} to describe the reference",
        f"exit code {BudgetReached.exit_code}",
        f"{SETTINGS.models['openai/gpt-6-sol'].max_output_tokens:,} tokens * $10.00",
        f"{GENEXAM.preset('paper')['judge_args']['max_completion_tokens']:,} tokens * $10.00",
    ],
)
def test_numbers_are_those_of_the_program(told: str) -> None:
    assert told in text()


def test_a_marking_takes_so_many_turns() -> None:
    assert TURNS == 3
    assert "all its turns, at most three" in text()


def test_bases_are_those_of_the_program() -> None:
    source = "".join(Path(str(module.__file__)).read_text("utf-8") for module in MODULES)
    named = set(
        re.findall(r'"(stored calls|stored drawings|price list|upper bound|rule of thumb|free|no price)"', source)
    )
    assert {row[0] for row in table(PAGE, "basis", "meaning").rows} == named


def test_groups_of_spend() -> None:
    told = text().partition("## limner spend")[2].partition("| column |")[0]
    assert set(re.findall(r"`(\w+)`", told)) == {*GROUPS, *PAID}


@pytest.mark.slow
def test_the_estimate_of_all_of_genexam(tmp_path: Path) -> None:
    annotations = shared("data", "genexam", "annotations", "All_Subjects.jsonl")
    data = tmp_path / "all"
    (data / "annotations").mkdir(parents=True)
    (data / "annotations" / annotations.name).write_bytes(annotations.read_bytes())
    for line in annotations.read_text("utf-8").splitlines():
        # What a reference shows does not matter to an estimate, only that it is there.
        reference = data / "images" / json.loads(line)["image_path"]
        reference.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (1, 1)).save(reference, "PNG")
    _compare("needs the GenExam data", data, tmp_path)


@pytest.mark.slow
def test_the_estimate_where_references_are_absent(tmp_path: Path) -> None:
    data = shared("data", "genexam")
    there = sum(1 for _ in (data / "images").rglob("*.png"))
    _compare(f"needs the GenExam data, with {there} of its references", data, tmp_path)


def _compare(note: str, data: Path, folder: Path) -> None:
    """Run the one command that needs these data, and hold what it prints against what is shown."""
    (folder / "DIR").symlink_to(data)
    (command,) = [each for block in blocks(PAGE) if block.notes.get("not run") == note for each in block.commands()]
    status, printed = Session(folder, loaded=True).run(command.words)
    assert status == 0, printed
    missing = [line for line in command.shown if not any(near(line, real) for real in printed.splitlines())]
    assert not missing, "\n".join([*missing, "but:", printed])


def test_prompts_too_long_for_qwen_image() -> None:
    lines = shared("data", "genexam", "annotations", "All_Subjects.jsonl").read_text("utf-8").splitlines()
    limit = SETTINGS.painters["dashscope/qwen-image"].prompt_limit
    assert limit is not None
    longer = sum(len(json.loads(line)["prompt"]) > limit for line in lines)
    told = " ".join((ROOT / "docs" / "providers" / "dashscope.md").read_text("utf-8").split())
    assert f"`qwen-image` reads {limit} characters" in told
    assert f"Of GenExam's {len(lines):,} prompts, {longer} are longer than {limit} characters" in told


def _published(file: Path, table: str) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["table"] == table]


def test_what_marking_cost_in_the_paper() -> None:
    rows = _published(ROOT / "src" / "limner" / "exams" / "genexam" / "paper" / "published.csv", "Table 4")
    wanted = "GPT-5 + low reasoning effort", "Img", "api_cost"
    (cost,) = [row["value"] for row in rows if (row["judge"], row["category"], row["metric"]) == wanted]
    assert f"{cost} dollars an image for GPT-5 with low effort" in text()


def test_atoms_of_a_figure() -> None:
    groups: dict[str, dict[str, float]] = {}
    for row in _published(shared("published", "fepbench.csv"), "Table 5"):
        groups.setdefault(row["category"], {})[row["metric"]] = float(row["value"])
    figures = sum(group["N"] for group in groups.values())
    atoms = sum(
        group["N"] * (group["mean_instruction_atoms_total"] + group["mean_reasoning_atoms_total"])
        for group in groups.values()
    )
    assert f"{figures:,.0f} figures" in text()
    assert f"A figure has {atoms / figures:.0f} atoms" in text()


def test_painters_priced_in_the_sums_are_in_the_table() -> None:
    prices = {code(row[0]): number(row[1]) or number(row[2]) for row in table(PAGE, "painter", "per image").rows}
    assert prices["gemini/gemini-nano-banana-2.1"] == 0.0336
    for block in blocks(PAGE):
        for line in block.lines if "arithmetic" in block.notes else ():
            for price in re.findall(r"drawings \* \$([\d.]+)", line):
                assert float(price) in {*prices.values(), 0.0242}, line
