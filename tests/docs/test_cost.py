"""The page on cost: its sums are right, its numbers are those of the program, its estimates are those made."""

from __future__ import annotations

import ast
import json
import operator
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from tests.docs.blocks import ROOT, Session, blocks, near
from tests.docs.services import SETTINGS
from tests.needs import shared

PAGE = ROOT / "docs" / "cost.md"
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


@pytest.mark.parametrize("line", SUMS)
def test_every_sum_is_correct(line: str) -> None:
    match = SUM.fullmatch(line)
    assert match, line
    shown = match["shown"].replace(",", "").lstrip("$")
    digits = len(shown.partition(".")[2])
    assert f"{_worked_out(match['sum']):.{digits}f}" == shown
    # Dollars have two digits, and a share of a million is a price that is known.
    assert not match["shown"].startswith("$") or digits == 2
    known = {price for facts in SETTINGS.models.values() for price in (facts.input_price, facts.output_price)}
    for price in re.findall(r"\$([\d.]+) / 1,000,000", match["sum"]):
        assert float(price) in known


def _worked_out(words: str) -> float:
    """A sum with units and commas in it."""
    return _value(ast.parse(re.sub(r"[,$]|[A-Za-z]+", "", words).strip(), mode="eval").body)


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant):
        return float(str(node.value))
    assert isinstance(node, ast.BinOp), ast.dump(node)
    return OPERATORS[type(node.op)](_value(node.left), _value(node.right))


@pytest.mark.slow
def test_estimate_for_full_genexam_prints_output_shown(tmp_path: Path) -> None:
    annotations = shared("data", "genexam", "annotations", "All_Subjects.jsonl")
    data = tmp_path / "all"
    (data / "annotations").mkdir(parents=True)
    (data / "annotations" / annotations.name).write_bytes(annotations.read_bytes())
    for line in annotations.read_text("utf-8").splitlines():
        # What a reference shows does not matter to an estimate, only that it is there.
        reference = data / "images" / json.loads(line)["image_path"]
        reference.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (1, 1)).save(reference, "PNG")
    (tmp_path / "DIR").symlink_to(data)
    (command,) = [
        each
        for block in blocks(PAGE)
        if block.notes.get("not run") == "needs the GenExam data"
        for each in block.commands()
    ]
    status, printed = Session(tmp_path, loaded=True).run(command.words)
    assert status == 0, printed
    missing = [line for line in command.shown if not any(near(line, real) for real in printed.splitlines())]
    assert not missing, "\n".join([*missing, "but:", printed])


@pytest.mark.slow
def test_questions_without_reference_need_no_judge_call(tmp_path: Path) -> None:
    data = shared("data", "genexam")
    present = sum(1 for _ in (data / "images").rglob("*.png"))
    (tmp_path / "DIR").symlink_to(data)
    words = "limner estimate genexam --data DIR --painter openai/gpt-image-2 --judge openai/gpt-6.1-sol --format json"
    status, printed = Session(tmp_path, loaded=True).run(words)
    assert status == 0, printed
    steps = json.loads(printed[printed.index("{") :])["steps"]
    assert [step["calls"] for step in steps] == [1000, present]
