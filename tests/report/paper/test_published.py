"""Every published figure stands in its table as its paper prints it: each digit, in its place, once."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from limner.exams.paper import BOARD, rows
from limner.report.paper import TableChoice, build, find
from limner.report.paper.schema import Layout, specs
from limner.report.tables import text
from limner.report.tables.render import ABOUT, csv_text
from tests.needs import shared
from tests.report.tables.shipped import DECLARED
from tests.report.tables.shipped import LAYOUTS as OF_FIVE

LAYOUTS = OF_FIVE | DECLARED
KEYS = list(LAYOUTS)
LEFT_OUT = {
    ("mmmg", "Introduction"),  # counts in running text
}  # fmt: skip
"""What the papers print and no layout shows."""

FULL = TableChoice(full=True)
# By hand from the papers: the table, the start of a line, what the paper prints after it.
PRINTED = """
genexam:table1|Taxonomy nodes, level 3|132
genexam:table1|Subject knowledge difficulty: easy (%)|24
genexam:table1|Average number of scoring points|6.9
genexam:table1|Average prompt length (words)|74.8
genexam:table3a|GPT-5 low|0.10 0.11 0.28 0.20
genexam:table3b|VQA Score|0.1452 0.0009 0.2189 0.0005 0.1786 0.0046
genexam:table5|FLUX.2 dev|0.126 0.0258 0.132 0.0817 0.301 0.1085 0.225 0.0853 0.6461 0.7928 0.7986
fepbench:table4|RE|0.88 0.84 0.79 0.83
aibench:table2|Wan 2.6|5.151 19.866 7.60 51.50 59.09 4
genexam:table2|Nano Banana Pro|55.6 86.3 75.2 95.1 60.2 88.7 75.6 95.9 75.8 96.5 65.7 91.7 71.2 95.1 88.3 97.2 61.5 91.0 97.6 99.9 70.2 93.0
genexam:table2|GPT-Image-1|7.9 51.9 13.3 66.4 13.6 53.4 22.8 73.7 15.9 73.9 10.3 55.6 13.1 65.5 13.0 65.8 9.2 52.7 2.4 67.4 13.1 62.2
genexam:table4|GPT-5 + high reasoning effort|Img 87.6 0.20 0.6647 0.8190 0.8304 0.0654 186
genexam:table4|Gemini-3-Flash|Img 86.4 – 0.6608 0.8300 0.8261 0.063 27
genexam:table4|GPT-4.1|Img 71.2 0.39 0.4417 0.5745 0.5723 0.0142 29
genexam:table6|GPT-Image-1.5|41.2 82.2 50.8 85.6 41.4 79.1 38.3 81.3
genexam:table6|Seedream 4.0|8.8 55.0 – – – – – –
genexam:table7|Seedream 4.5|4.8 44.8 16.4 66.2 1.6 42.4 0.0 54.2 15.2 63.8 3.3 38.1 11.1 52.0 10.3 60.1
genexam:table8|Biology/Ecology|100.0 86.9 47.1 26.1 47.8 77.5 40.6 19.7 24.0 21.4 8.7
genexam:table8|Physics/Thermodynamics|96.6 93.5 68.8 61.9 53.4 51.6 38.9 22.9 8.2 5.1 7.5
genexam:table9|Spelling|1.9 1.95 1.53 1.72 1.05 1.21 0.7 0.28 0.25 0.17 0.04
genexam:table9|Readability|1.93 1.84 1.66 1.51 1.42 1.04 0.97 0.75 0.81 0.29 0.11
mmmg:table2|GPT-4o|1024 MM 64.78 51.94 53.04 51.29 41.52 38.60 50.20
mmmg:table2|LlamaGen|512 AR 8.24 3.77 2.44 1.44 1.08 1.14 3.02
mmmg:table3|Data ratio (%)|13.26 14.36 14.65 14.27 15.21 15.56
mmmg:table3|Avg. dependencies|4.09 5.26 6.20 6.64 7.97 7.88
mmmg:table4|Data ratio (%)|14.72 17.55 17.85 23.64 13.53 12.71
mmmg:table4|Avg. dependencies|4.56 5.27 5.67 6.16 6.57 7.80
mmmg:table5|JanusFlow-1.3B|384 AR 24.76 12.99 8.89 5.63 3.68 3.84 6.63
mmmg:by-discipline|LlamaGen|512 AR 6.72 4.19 3.12 0.91 0.47 0.95 2.73
mmmg:by-discipline|GPT-4o|1024 MM – 59.58 48.55 45.21 42.35 45.03 48.14
mmmg:table16|1 - GED|0.9373 0.9336 0.9318 0.9307 0.9287 0.9360
mmmg:table17|OpenAI-o1|52.81 37.25 29.52 21.73 20.86
worldgenbench:table1|GPT-4o|23.96 17.47 26.22 25.12 24.98 21.03 23.29 24.46
worldgenbench:table2|JanusPro-1B|1.81 0.00 0.48 0.70 1.23 1.28 0.91
fepbench:table2|GPT Image 2|0.809 0.389 0.573 0.886 0.417 0.141 0.443 0.774 0.479 0.856 0.664 0.334 0.703
fepbench:table3|GPT Image 2|0.656 0.338 0.738 0.643 0.333 0.736 0.679 0.328 0.682 0.663 0.334 0.716
fepbench:table3|Ovis-Image|0.337 0.124 0.606 0.353 0.150 0.625 0.304 0.108 0.579 0.327 0.122 0.599
genexam:table2|GPT-Image-2|50.3 85.2 79.6 95.6 69.5 92.0 89.1 97.5 84.8 97.6 73.5 93.3 79.3 96.5 83.1 97.7 64.6 89.1 82.9 97.1 74.6 93.8
fepbench:table6|Ovis-Image|Open-source 1920x1920 / 1920x1080 / 1080x1920 50 5.0 None
fepbench:table5|Physics & Materials / single|250 9.40 11.75 19.57 40.72 2.15 4.72 7.69 14.56
aibench:table3|Original Image|– 82.65 57.98 79.57 79.13 51.11 70.09
aibench:table3|Qwen-Image-2512|27 32.27 29.11 39.95 56.39 56.45 42.83
aibench:table4|Wan2.6 w/ Edit|75.70 61.80 72.81 82.02 54.21 69.31 –
wise:leaderboard|GPT-Image-1.5|0.8900 0.6917 0.8833 0.8000 0.7583 0.7750 0.8250
corebench:leaderboard|GPT-Image-1.5|87.0 83.4 76.9 94.7 85.5 62.2 67.0 72.2 90.8 83.9 84.5 77.5 59.0 74.6 78.2
risebench:leaderboard|BAGEL|3.5 4.4 14.0 0.0 5.8 36.4 58.7 72.0
risebench:before|BAGEL|2.4 5.6 14.0 1.2 6.1 36.5 53.5 73.0
grade:leaderboard|FLUX.2 dev|11.3 17.6 49.6 0.2
aibench:tableA1|SVG Based Qwen-Image-2512|4.24 2.69 4.53 6.54 43.02 12.20 –
"""  # noqa: E501


def figures(layout: Layout) -> Counter[tuple[str, str]]:
    """Row and value of everything the published file has for a table."""
    tables = {name for section in layout.sections or (None,) for name in layout.tables(section)}
    named = {"painters": "model", "judges": "judge", "rated": "model"}.get(layout.rows)
    boards = {board.table for board in layout.boards}
    there = [row for row in rows(layout.exam) if row["table"] in tables]
    there += [row for row in rows(layout.exam, BOARD) if row["table"] in boards]
    bounds = {"0.0001": "<0.0001"} if layout.key == "genexam:table3b" else {}
    return Counter(
        (row[named] if named else _called(layout, row), bounds.get(row["value"], row["value"])) for row in there
    )


def _called(layout: Layout, row: Mapping[str, Any]) -> str:
    if layout.rows == "evaluators":
        return f"{row['category']} by {row['judge']}" if row["judge"] else str(row["category"])
    if layout.rows == "pairs":
        of = {"human_human_icc": "Human-Human ICC", "judge_human_spearman_rho": f"{row['judge']}-Human ρ"}
        return of.get(row["metric"], f"{row['judge']} ρ")
    return layout.paper.cite


def words(line: str) -> list[str]:
    return line.replace("Img, Text", "Img,Text").split()


@pytest.mark.parametrize("key", KEYS)
def test_csv_contains_every_published_value_once(key: str) -> None:
    layout = find(key)
    found: Counter[tuple[str, str]] = Counter()
    printed = {spec.column.path for spec in specs(layout, (layout.sections or (None,))[0], []) if spec.figure.metric}
    plain = {column.path for sheet in build(layout).flat for column in sheet.columns if column.words} - printed
    head = ("table", "group", "row", "source", *ABOUT, "coverage", "differs")
    for line in csv.DictReader(io.StringIO(csv_text(build(layout)))):
        assert line["source"] == "published"
        found.update((line["row"], value) for name, value in line.items() if name not in {*head, *plain} and value)
    assert found == figures(layout)


@pytest.mark.parametrize("shown", [line.split("|") for line in PRINTED.strip().splitlines()], ids=lambda s: s[0])
def test_row_text_matches_paper(shown: list[str]) -> None:
    key, label, wanted = shown
    lines = [line.plain.strip() for line in text.lines(build(find(key), choice=FULL), 1000)]
    assert [*words(label), *words(wanted)] in [words(line) for line in lines]


def test_every_published_table_is_shown_or_listed_as_omitted() -> None:
    there = {(file, row["table"]) for file in {layout.exam for layout in LAYOUTS.values()} for row in rows(file)}
    shown = {
        (layout.exam, name)
        for layout in LAYOUTS.values()
        for section in layout.sections or (None,)
        for name in layout.tables(section)
    }
    assert shown | LEFT_OUT == there
    assert not shown & LEFT_OUT


def test_groups_match_paper() -> None:
    (sheet,) = build(find("genexam:table2")).sheets
    paper = [("Closed-source models", 7), ("Open-source T2I models", 4), ("Open-source unified MLLMs", 8)]
    assert [(group.title, len(group.rows)) for group in sheet.blocks] == paper
    (sheet,) = build(find("genexam:table2"), choice=FULL).sheets
    assert [(group.title, len(group.rows)) for group in sheet.blocks] == [
        *paper,
        ("Closed-source models, release board of 2026-05-27", 13),
        ("Open-source T2I models, release board of 2026-05-27", 8),
        ("Open-source unified MLLMs, release board of 2026-05-27", 8),
        ("Closed-source models, release board of 2026-09-26", 6),
        ("Open-source models, release board of 2026-09-26", 1),
    ]  # fmt: skip
    (sheet,) = build(find("aibench:table3")).sheets
    assert [(group.title, len(group.rows)) for group in sheet.blocks] == [
        ("", 1), ("Closed-source models", 5), ("Open-source T2I models", 4), ("Open-source unified models", 5),
    ]  # fmt: skip


BOLD = {
    "Nano Banana Pro": "Component Topology Phase Semantics Score",
    "GPT-Image-1.5": "Aesthetics",
    "Qwen-Image-2512": "Component Semantics Aesthetics Score",
    "Z-Image": "Topology Phase",
    "Emu3.5": "Component Topology Phase Semantics Aesthetics Score",
}
"""What AIBench prints bold in its Table 3."""


def test_best_values_match_bold_values_of_paper() -> None:
    (sheet,) = build(find("aibench:table3")).sheets
    best = {
        line.label: " ".join(c.head for c, cell in zip(sheet.columns, line.cells, strict=True) if cell.rank == 1)
        for line in sheet.rows()
    }
    assert {label: heads for label, heads in best.items() if heads} == BOLD
    assert all(cell.rank < 2 for line in sheet.rows() for cell in line.cells)


def test_release_boards_follow_paper_rows_and_are_not_ranked() -> None:
    table = build(find("genexam:table2"), choice=FULL)
    (sheet,) = table.sheets
    board = [block for block in sheet.blocks if "release board of 2026-" in block.title]
    assert [block.title for block in sheet.blocks[-5:]] == [block.title for block in board]
    assert all(cell.rank == 0 for block in board for line in block.rows for cell in line.cells)
    # The paper's own best stay marked as the paper has them.
    first = sheet.blocks[0].rows[0]
    assert (first.label, {cell.rank for cell in first.cells}) == ("Nano Banana Pro", {1})
    older, newer = [line for line in table.caption if line.startswith("Release board of ")]
    assert older.startswith("Release board of 2026-05-27: ")
    assert newer.startswith("Release board of 2026-09-26: ")
    assert "overall scores only" in newer
    for line in (older, newer):
        assert "names no judge" in line
        assert "not ranked with the paper's" in line
    assert "release board" not in text_of("genexam:table2", TableChoice(published=False))


def text_of(key: str, choice: TableChoice) -> str:
    return "\n".join(line.plain for line in text.lines(build(find(key), None, choice), 200))


@pytest.mark.parametrize(
    ("day", "transcript"),
    [("2026-05-27", "genexam_release_board.csv"), ("2026-09-26", "genexam_release_board_2026-09.csv")],
)
def test_release_board_matches_transcript(day: str, transcript: str) -> None:
    with shared("published", transcript).open(encoding="utf-8", newline="") as file:
        assert board_rows(day) == list(csv.DictReader(file))


def board_rows(day: str) -> list[dict[str, str]]:
    return [row for row in rows("genexam", BOARD) if row["table"] == f"release board {day}"]
