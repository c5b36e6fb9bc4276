"""Whole papers made anew on fakes: the checklist before, a run with a budget, the cells after, and the document.

A fake image service draws, a fake chat service answers as every exam's judge; both write bills.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from limner import exams
from limner.report.reproduce.document import find_browser
from limner.report.reproduce.request import paper_list
from tests.cli.invoke import Said, limner
from tests.end_to_end.shop import BilledImages, charged, write_toml
from tests.fakes.examiner import ExaminerServer
from tests.needs import need

pytestmark = pytest.mark.slow

PRICES, IMAGE_PRICE = (2.0, 8.0), 0.01
PRINTED = "worldgenbench"
JUDGES = ("judging/judge", "judging/second")


@dataclass(frozen=True)
class Paper:
    """What of a paper is made, with what in the place of what the paper used.

    Attributes:
        words: Stand-ins and choices.
        filled: Tables whose cells of the chosen rows are all filled in the end, as far as the sample has questions.
        drawn: Figures that are drawn in the end.
    """

    words: tuple[str, ...]
    filled: tuple[str, ...]
    drawn: tuple[str, ...]
    limit: int = 2


def judged(*names: str) -> tuple[str, ...]:
    """Every judge of the paper by the fake one."""
    return tuple(word for name in names for word in ("--judge", f"{name}={JUDGES[1]}"))


PAPERS = {
    "genexam": Paper(
        ("--painter", "GPT-Image-1.5=drawing/one", "--painter", "Nano Banana Pro=drawing/two"),
        ("Table 1", "Table 2", "Table 6", "Table 7", "Table 8", "Table 9"),
        ("Figure 1", "Figure 3", "Figure 5", "Figure 9"),
    ),
    "mmmg": Paper(
        ("--painter", "GPT-4o=drawing/one", "--painter", "FLUX.1-[pro]=drawing/two", "--regions", "classical",
         *judged("OpenAI-o1", "OpenAI-o3")),
        ("Table 2", "Table 3", "Table 5", "Table 6", "Table 17"),
        ("Figure 2", "Figure 3", "Figure 7", "Figure 9", "Figure 11"),
    ),
    "worldgenbench": Paper(
        ("--painter", "GPT-4o=drawing/one", "--painter", "HiDream-I1-Full=drawing/two"),
        ("Table 1", "Table 2"),
        ("Figure 2", "Figure 5"),
        8,
    ),
    "fepbench": Paper(
        ("--painter", "GPT Image 2=drawing/one", "--painter", "FLUX.2 [dev]=drawing/two", *judged("Qwen3.5-397B-A17B")),
        ("Table 2", "Table 3", "Table 5"),
        ("Figure 1", "Figure 3", "Figure 9", "Figure 10"),
    ),
    "aibench": Paper(
        ("--painter", "Original Image", "--painter", "Qwen-Image-2512=drawing/one", "-S", f"planner={JUDGES[0]}",
         "-S", f"coder={JUDGES[0]}", "--aesthetics", JUDGES[0],
         *judged("Qwen2.5-VL-72B", "Qwen3.5-397B", "GPT-5.1")),
        ("Table 3", "Table 4", "Table A1"),
        ("Figure 3", "Figure 6", "Figure A6"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def services() -> Iterator[tuple[BilledImages, ExaminerServer]]:
    with BilledImages(keep=20_000) as images, ExaminerServer(keep=20_000) as examiner:
        yield images, examiner


@pytest.fixture
def shop(
    services: tuple[BilledImages, ExaminerServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[BilledImages, ExaminerServer]:
    """Both services with all counts at nought, and a folder whose settings name them."""
    images, examiner = services
    # The fake service draws small pictures.
    monkeypatch.setitem(exams.kind("aibench").all_presets["paper"], "least_side", 0)
    images.reset()
    examiner.reset()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("limner.calls.journal.back_off", lambda _tries: 0.0)
    model = {"input_price": PRICES[0], "output_price": PRICES[1], "max_output_tokens": 4000}
    drawing = {"base_url": images.base_url, "image_shape": "openai-images", "seeds": True}
    write_toml(
        tmp_path,
        {
            "providers.drawing": drawing,
            "providers.judging": {"base_url": examiner.base_url},
            **{f"models.{judge}": model for judge in JUDGES},
            **{f"painters.drawing/{name}": {"image_price": IMAGE_PRICE} for name in ("one", "two")},
        },
    )
    return images, examiner


def reproduce(kind: str, *more: str, code: int = 0) -> Said:
    paper = PAPERS[kind]
    words = ("--judge", JUDGES[0], *(("--judge-arg", "max_tokens=3000") if kind != "genexam" else ()))
    return limner("reproduce", f"sample/{kind}", *paper.words, *words, "--limit", str(paper.limit), *more, code=code)


def items(body: Any) -> dict[str, Any]:
    return {item["name"]: item["cells"] for item in body["items"]}


@pytest.mark.parametrize("kind", PAPERS)
def test_paper_is_reproduced_end_to_end(kind: str, shop: tuple[BilledImages, ExaminerServer], tmp_path: Path) -> None:
    images, examiner = shop
    paper = PAPERS[kind]
    printed = ("--pdf",) if kind == PRINTED else ()
    if printed:
        need("chromium", find_browser() is not None, "there is no Chromium on this machine")

    before = reproduce(kind, "--format=json").json()
    assert not (tmp_path / "limner-store").exists()
    assert images.counts()["total"] == examiner.counts()["total"] == 0
    assert before["dollars"] > 0
    assert before["unknown_prices"] == []
    assert all(command["command"].startswith("limner ") for command in before["steps"] if not command["cannot"])
    at_first = items(before)
    assert any(at_first[name]["missing"] for name in paper.filled)

    run = reproduce(kind, "--run", "--budget", "5", "-o", "paper", *printed, "--format=json")
    after = run.json()
    paid = after["run"]
    assert (paid["failed"], paid["not_run"], paid["stopped"]) == (0, [], None), run.err
    billed = charged(examiner.counts()["bill"], PRICES) + IMAGE_PRICE * images.counts()["answered"]
    assert paid["spent"] == pytest.approx(billed)
    for name in paper.filled:
        cells = items(after)[name]
        assert cells["filled"] > 0, (name, cells)
        assert cells["missing"] == cells["partial"] == 0, (name, cells)
    assert (after["calls"], after["dollars"]) == (0, 0)

    made = images.counts()["total"], examiner.counts()["total"]
    again = reproduce(kind, "--run", "--budget", "5", "--format=json").json()
    assert (images.counts()["total"], examiner.counts()["total"]) == made
    assert again["run"]["spent"] == 0
    assert items(again) == items(after)

    folder = tmp_path / "paper"
    page = (folder / "index.html").read_text("utf-8")
    for item in paper_list(kind).items:
        assert f">{item.name}</a>" in page
        assert section(page, item.name)
    for name in paper.drawn:
        figure = re.search(r'src="(figures/[^"]+\.svg)"', section(page, name))
        assert figure, name
        assert b"<svg" in (folder / figure[1]).read_bytes()
    for name in paper.filled:
        table = (folder / "tables" / f"{slug(name)}.html").read_text("utf-8")
        assert re.search(r"<tr><th scope=\"row\">|<th scope=\"col\">", table), name
    named = re.findall(r"<dt>(.*?)</dt>|limner study new [^\n]*", section(page, "differences") + page)
    assert not [name for name in named if "?" in name]
    assert "judge judging/judge instead of" in section(page, "differences")
    assert "drawn by drawing/one instead of" in section(page, "differences")
    links = set(re.findall(r"(?:src|href)=\"([^\"#]+)\"", page))
    assert "site/index.html" in links
    assert all((folder / link).is_file() for link in links)
    if printed:
        assert (folder / "index.pdf").read_bytes().startswith(b"%PDF")


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")


def section(page: str, name: str) -> str:
    """A section of the index by its item's name."""
    return page.partition(f'<h2 id="{slug(name)}">')[2].partition("<h2 ")[0]


def test_budget_covers_all_rows_and_purse_continues_run(
    shop: tuple[BilledImages, ExaminerServer], tmp_path: Path
) -> None:
    images, examiner = shop
    # Enough for the first row, not for both.
    result = reproduce("worldgenbench", "--run", "--budget", "0.1", "--concurrency", "1", "--format=json", code=4)
    body = json.loads(result.out)
    assert body["run"]["stopped"].startswith("budget reached: $")
    billed = charged(examiner.counts()["bill"], PRICES) + IMAGE_PRICE * images.counts()["answered"]
    assert 0 < billed <= 0.1
    reproduce("worldgenbench", "--run", "--budget", "1", "--purse", "paper")
    assert items(reproduce("worldgenbench", "--format=json").json())["Table 1"]["missing"] == 0
    assert set(examiner.counts()["answered_by_key"].values()) == {1}


def test_table_of_judges_is_filled_for_each_judge(shop: tuple[BilledImages, ExaminerServer]) -> None:
    words = ("reproduce", "sample/genexam", "--item", "Table 4", "--painter", "GPT-Image-1=drawing/one", "--limit", "1")
    judges = ("--judge", JUDGES[0], "--judge", f"GPT-4o / Img={JUDGES[1]}")
    before = limner(*words, *judges, "--format=json").json()
    result = limner(*words, *judges, "--run", "--budget", "2", "--format=json", code=3)
    # The other judges of the table have no key here; each is told.
    assert "not run: GPT-Image-1: " in result.err
    cells = [items(body)["Table 4"] for body in (before, result.json())]
    assert (cells[0]["filled"], cells[0]["missing"] > 0) == (0, True)
    # Cost and seconds of eight ways to ask: the paper's judge in seven, and the other one.
    assert cells[1]["filled"] == 16


def test_rows_that_cannot_start_are_skipped_and_reported(shop: tuple[BilledImages, ExaminerServer]) -> None:
    images, _ = shop
    result = limner(
        "reproduce", "sample/worldgenbench", "--painter", "GPT-4o=drawing/one", "--painter", "SDXL=drawing/dear",
        "--judge", JUDGES[0], "--limit", "1", "--run", "--budget", "1", code=3,
    )  # fmt: skip
    assert "not run: SDXL: --budget cannot be enforced: drawing/dear has no price" in result.err
    assert images.counts()["answered"] == 1
