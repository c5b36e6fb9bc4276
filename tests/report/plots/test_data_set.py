"""What an exam's data set looks like: counted once more by other means, and beside what the papers tell."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from limner import exams
from limner.core.errors import DataError, UsageError
from limner.core.plot_data import BarPanel, DataSheet, HistogramPanel, MapPanel, QuartilePanel, WordsPanel
from limner.exams import SHIPPED, paper
from limner.exams import paper as data_set
from limner.exams.paper import data_panels
from limner.report.plots import PlotChoice, load_plots, plot
from tests.needs import shared

NOWHERE = "/nonexistent/store"


def sheet(exam: str, data: Path | None = None) -> DataSheet:
    found = load_plots()["data"].frame(exam, PlotChoice(store=NOWHERE, data=data))
    assert isinstance(found, DataSheet)
    return found


def titled(found: DataSheet, title: str) -> BarPanel:
    (panel,) = [panel for panel in found.panels if panel.title.startswith(title)]
    assert isinstance(panel, BarPanel)
    return panel


@pytest.mark.slow
def test_released_genexam_matches_paper_figures() -> None:
    found = sheet("genexam", shared("data", "genexam"))
    rows = [json.loads(line) for line in shared("data", "genexam", "annotations", "All_Subjects.jsonl").open()]
    for title, field in (("Image types", "img_type"), ("Difficulty", "difficulty"), ("Subjects, as", "subject")):
        panel = titled(found, title)
        counted = Counter(row[field].replace("_", " ") for row in rows)
        assert {name: value for name, (value,) in zip(panel.rows, panel.values, strict=True)} == counted
        # The paper's counts are those of the release.
        assert panel.printed == pytest.approx([value for (value,) in panel.values])
    taxonomy = titled(found, "Second level of the taxonomy")
    with shared("published", "genexam_taxonomy.csv").open(encoding="utf-8", newline="") as file:
        heads = csv.DictReader(file)
        second = [row for row in heads if row["level2"] and not row["level3"]]
    assert len(taxonomy.rows) == len(second)
    assert sorted(value for (value,) in taxonomy.values) == sorted(float(row["count"]) for row in second)
    mini = {line.strip() for line in shared("data", "genexam", "mini_sample_ids.txt").open()}
    assert sum(value for (value,) in titled(found, "Subjects of the subset mini").values) == len(mini)
    (words,) = [panel for panel in found.panels if isinstance(panel, WordsPanel)]
    chemistry = dict(words.groups)["Chemistry"]
    for word, count in chemistry:
        having = [row for row in rows if row["subject"] == "Chemistry" and word in tokens(row["prompt"])]
        assert count == len(having)
    assert "should" not in dict(chemistry)


def tokens(text: str) -> set[str]:
    return set("".join(letter if letter.isalpha() else " " for letter in text.casefold()).split())


def test_mmmg_shows_levels_disciplines_and_graph_sizes() -> None:
    found, questions = sheet("sample/mmmg"), exams.read(exams.resolve("sample/mmmg")).questions
    (table,) = [panel for panel in found.panels if isinstance(panel, MapPanel)]
    counted = Counter((one.tags["discipline"], one.tags["level"]) for one in questions)
    for row, counts in zip(table.rows, table.counts, strict=True):
        assert counts == tuple(counted[row, column] for column in table.columns)
    assert table.columns[0] == "preschool"
    histogram = next(panel for panel in found.panels if isinstance(panel, HistogramPanel))
    assert sum(histogram.counts) == len(questions)
    by_level = next(panel for panel in found.panels if isinstance(panel, QuartilePanel))
    sizes = [len(one.rubric.elements) for one in questions if one.tags["level"] == by_level.rows[2]]
    assert by_level.means[2] == pytest.approx(sum(sizes) / len(sizes))
    rows = [row for row in paper.rows("mmmg") if (row["table"], row["metric"]) == ("Table 3", "Avg Entities")]
    assert by_level.printed == tuple(float(row["value"]) for row in rows)


def test_training_part_is_the_papers_or_a_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    levels = ["Preschool", "Primary", "Secondary", "High School", "Undergraduate", "PhD"]
    numbers = {
        (row["metric"], row["category"]): float(row["value"]) for row in paper.rows("mmmg") if row["table"] == "Table 4"
    }
    found = sheet("sample/mmmg")
    counts, graphs = titled(found, "Training samples by level"), titled(found, "Graphs of training samples")
    assert counts.title.endswith("the paper's numbers")
    assert [value for (value,) in counts.values] == [round(160 * numbers["Data Ratio", each]) for each in levels]
    assert counts.printed == (None,) * 6
    wanted = [tuple(numbers[metric, each] for metric in ("Avg Entities", "Avg Dependencies")) for each in levels]
    assert graphs.values == tuple(wanted)

    whole = exams.read(exams.resolve("sample/mmmg"))
    build = replace(whole, name="school", questions=whole.questions[:4])
    monkeypatch.setattr("limner.report.plots.data_set._training", lambda *_: build)
    found = sheet("sample/mmmg")
    counts, graphs = titled(found, "Training samples by level"), titled(found, "Graphs of training samples")
    assert counts.title == "Training samples by level in build school, as Figure 3"
    assert sum(value for (value,) in counts.values) == 4
    first = [one for one in build.questions if one.tags["level"] == graphs.rows[0]]
    assert graphs.values[0] == pytest.approx((
        mean(len(one.rubric.elements) for one in first), mean(len(one.rubric.dependencies) for one in first)
    ))  # fmt: skip
    assert graphs.printed[0] == pytest.approx(sum(wanted[0]))


def test_all_panels_of_ten_disciplines_fit_on_a_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    source = exams.resolve("sample/mmmg")
    whole = exams.read(source)
    names = [f"discipline {n}" for n in range(10)]
    questions = tuple(
        replace(one, tags={**one.tags, "discipline": names[n % 10]}) for n, one in enumerate(whole.questions)
    )
    ten = replace(whole, questions=questions)
    monkeypatch.setattr("limner.report.plots.data_set.load_exam_or_data", lambda *_: (source, ten))
    plot("data", ["sample/mmmg"], tmp_path / "data.svg", PlotChoice(store=NOWHERE))


def test_fepbench_shows_figure_1c_and_table_5() -> None:
    found = sheet("sample/fepbench")
    panel = titled(found, "Figures by discipline and panels")
    with shared("published", "fepbench.csv").open(encoding="utf-8", newline="") as file:
        table = [row for row in csv.DictReader(file) if row["table"] == "Table 5"]
    sizes = {row["category"]: float(row["value"]) for row in table if row["metric"] == "N"}
    # Twelve figures of the sample where the paper has 1,300: its shares.
    for group, row, printed in zip(panel.groups, panel.rows, panel.printed, strict=True):
        assert printed == pytest.approx(12 * sizes[f"{group} / {row}"] / 1300)
    assert sum(value for (value,) in panel.values) == 12
    for role in ("instruction", "reasoning"):
        atoms = titled(found, f"{role.capitalize()} atoms")
        totals = {row["category"]: float(row["value"]) for row in table if row["metric"] == f"mean_{role}_atoms_total"}
        wanted = [totals[f"{group} / {row}"] for group, row in zip(atoms.groups, atoms.rows, strict=True)]
        assert atoms.printed == pytest.approx(wanted)
        assert atoms.parts == ("visual", "text", "relation")


def test_aibench_counts_questions_by_level_and_marks_topics_as_ours() -> None:
    found, questions = sheet("sample/aibench"), exams.read(exams.resolve("sample/aibench")).questions
    levels = titled(found, "Questions by level")
    counted = Counter(item.dimension for one in questions for item in one.rubric.checklist)
    assert {name: value for name, (value,) in zip(levels.rows, levels.values, strict=True)} == counted
    whole = counted.total()
    assert levels.printed == pytest.approx([0.32 * whole, 0.30 * whole, 0.21 * whole, 0.17 * whole])
    assert "a list of ours" in found.caption
    (words,) = [panel for panel in found.panels if isinstance(panel, WordsPanel)]
    assert not {"mathrm", "textsc", "emph"} & {word for _, group in words.groups for word, _ in group}


def test_worldgenbench_shows_both_domains_with_breakdowns() -> None:
    found = sheet("sample/worldgenbench")
    assert [panel.title.partition(",")[0] for panel in found.panels][:4] == [
        "Domains", "Items of a checklist", "Humanities: continents", "Nature: disciplines",
    ]  # fmt: skip
    domains = titled(found, "Domains")
    assert domains.printed == pytest.approx((12 * 732 / 1072, 12 * 340 / 1072))


@pytest.mark.slow
@pytest.mark.parametrize("kind", SHIPPED)
def test_every_sample_can_be_drawn(kind: str, tmp_path: Path, matplotlib: None) -> None:
    plot("data", [f"sample/{kind}"], tmp_path / "a.pdf", PlotChoice(store=NOWHERE), "double")
    assert (tmp_path / "a.pdf").stat().st_size > 5_000


def test_missing_or_invalid_data_set_description_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "paper_file", lambda exam, file: None)
    with pytest.raises(UsageError, match="genexam does not describe its data set"):
        sheet("sample/genexam")
    path = tmp_path / "data.toml"
    monkeypatch.setattr(paper, "paper_file", lambda exam, file: path)
    for body, message in (
        ("[[panels]]\ntitle='x'\nshow='map'\ntag='a'\n", "map needs by"),
        ("[[panels]]\ntitle='x'\nshow='cake'\n", "panels.*show"),
        ("", "panels"),
    ):
        path.write_text(body, "utf-8")
        data_set._read_once.cache_clear()
        with pytest.raises(DataError, match=message):
            data_panels("genexam")
