"""Random replies get the scores that the releases' own scorers give them: of every question, group and exam."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from limner.core.asks import Prompts, Reply, Variant
from limner.core.exam import Question
from limner.core.protocol import Reading, Row
from limner.exams import ExamSource, kind, read
from tests.conformance import releases

CLOSE = 1e-9
SEEDS = range(3)
DRAWING = "1" * 64
SPOILT = "I cannot tell."
"""A reply that neither side can read."""
Answer = Callable[[str, str], str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def marked(
    exam: str, data: Path, answer: Callable[[Question[Any], str, str], str], reading: Reading = "release"
) -> list[Row]:
    """Our rows: every question of the data, with the marks and scores of replies in the release's form.

    `answer` returns the reply about a question, by the ask's name and the criterion's text.
    """
    it = kind(exam)
    protocol = it.protocol.read_as(reading)
    options = {name: values[0] for name, values in protocol.options.items()}
    way = Variant(protocol.variants[0], Prompts(it.prompts), options)
    rows = []
    for question in read(ExamSource(exam, exam, data)).questions:
        asks = protocol.asks(question, DRAWING, {}, way)
        replies = [Reply(ask.name, answer(question, ask.name, ask.criteria[0].text)) for ask in asks]
        marks = protocol.marks(question, replies, reading)
        spoilt = sum(reply.text == SPOILT for reply in replies)
        assert all(mark.verdict == "answer" for mark in marks) or spoilt, [mark.reason for mark in marks]
        rows.append(Row(question, tuple(marks), protocol.scores(question, marks, {})))
    return rows


def check_import(exam: str, results: Path, rows: Sequence[Row], reading: Reading = "release") -> None:
    """The files that the release's scorer wrote give the same scores as the replies."""
    it, by_id = kind(exam), {row.question.id: row for row in rows}
    protocol = it.protocol.read_as(reading)
    assert it.read_results is not None
    found = {result.question: result for result in it.read_results(results)}
    assert found.keys() == by_id.keys()
    for id, row in by_id.items():
        result = found[id]
        assert result.fault is None
        assert result.misfit is not None
        assert result.misfit(row.question) is None
        marks = protocol.marks(row.question, [Reply(*reply) for reply in result.replies], reading)
        assert protocol.scores(row.question, marks, {}) == row.scores, id


def numbers(exam: str, rows: Iterable[Row], reading: Reading = "release") -> dict[str, float]:
    """Our summary of some rows."""
    return kind(exam).protocol.read_as(reading).summary(list(rows))


def tagged(rows: Iterable[Row], tag: str, value: str) -> list[Row]:
    return [row for row in rows if row.question.tags.get(tag) == value]


class Worst:
    """The largest difference seen."""

    def __init__(self) -> None:
        self.seen, self.compared = 0.0, 0

    def compare(self, ours: float | None, theirs: float, what: object) -> None:
        assert ours is not None, what
        difference = abs(ours - theirs)
        assert difference <= CLOSE, (what, ours, theirs)
        self.seen, self.compared = max(self.seen, difference), self.compared + 1


@pytest.fixture
def worst(request: pytest.FixtureRequest) -> Iterable[Worst]:
    found = Worst()
    yield found
    print(f"{request.node.name}: {found.compared} numbers compared, largest difference {found.seen:.1e}")


each_seed = pytest.mark.parametrize("seed", SEEDS)
WISE = {
    "CULTURE": ("Cultural knowledge", 1, 400), "TIME": ("time", 401, 520), "SPACE": ("Space", 521, 640),
    "BIOLOGY": ("Biology", 641, 760), "PHYSICS": ("Physical Knowledge", 761, 880),
    "CHEMISTRY": ("Chemistry", 881, 1000),
}  # fmt: skip
"""The release's name of a category -> its name in the data, and its first and last id."""


@pytest.mark.slow
@each_seed
def test_wise(seed: int, tmp_path: Path, worst: Worst, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(seed)
    rows = [
        {"prompt_id": id, "Prompt": f"Thing {id}", "Explanation": "So.", "Category": name, "Subcategory": "x"}
        for name, first, last in WISE.values()
        for id in range(first, last + 1)
    ]
    (tmp_path / "merge.json").write_text(json.dumps(rows), "utf-8")
    forms = ("Score: {}", "**Score**: {}", "Score:{}", "score: {}", "Well.\nScore: {}", "{}")
    replies = {int(str(row["prompt_id"])): draw.choice(forms).format(draw.randrange(2)) for row in rows}
    ours = marked("wise", tmp_path, lambda question, *_: replies[int(question.id)])
    theirs = releases.wise(replies, capsys, tmp_path)
    written = [{"prompt_id": id, "prompt": "x", "key": "x", "evaluation": text} for id, text in replies.items()]
    (tmp_path / "cultural_full_results.json").write_text(json.dumps(written), "utf-8")
    check_import("wise", tmp_path / "cultural_full_results.json", ours)
    with capsys.disabled():
        worst.compare(numbers("wise", ours)["overall"], theirs["Overall"], "overall")
        for printed, (_, (name, _, _)) in zip(theirs, WISE.items(), strict=False):
            worst.compare(numbers("wise", tagged(ours, "category", name))["correct"], theirs[printed], name)


DIMENSIONS = {"C-MI": "Multi-Instance", "C-TR": "Text Rendering", "R-LR": "Logical Reasoning"}
SUBTASKS = {
    "temporal": ("Life Progression", "Environmental Cycles"), "causal": ("State Transition", "Structural Deformation"),
    "spatial": ("Component Assembly", "Layout Reasoning"), "logical": ("Puzzle Solving", "Pattern Prediction"),
}  # fmt: skip
"""Some of RISEBench's subtasks."""


@pytest.mark.slow
@each_seed
def test_corebench(seed: int, tmp_path: Path, worst: Worst) -> None:
    draw, data = random.Random(seed), tmp_path / "data"
    for task, dimension in DIMENSIONS.items():
        body = {
            f"{task}-{n:03}": {
                "Main Class": "Composition" if task < "D" else "Reasoning",
                "Sub Class": dimension,
                "Prompt": f"Picture {task} {n}",
                "Checklist": [{"question": f"Is {k} there?", "tags": []} for k in range(draw.randint(3, 30))],
                "Remark": "",
            }
            for n in range(1, 21)
        }
        data.mkdir(exist_ok=True)
        (data / f"{task}.json").write_text(json.dumps(body), "utf-8")
        releases.write_pictures(tmp_path / "logs" / "m" / task, [f"{id}-0.png" for id in body])
    said: dict[tuple[str, str], str] = {}

    def answer(prompt: str, question: str) -> str:
        forms = ("yes", "no", '"Yes"', "No.", "The answer is no", "Yes, it is")
        return said.setdefault((prompt, question), SPOILT if draw.random() < 0.05 else draw.choice(forms))

    theirs = releases.corebench(tmp_path, list(DIMENSIONS), answer)
    ours = marked("corebench", data, lambda question, _, text: answer(question.prompt, text))
    check_import("corebench", tmp_path / "logs" / "m", ours)
    for task, dimension in DIMENSIONS.items():
        part = tagged(ours, "dimension", dimension)
        worst.compare(numbers("corebench", part)["met"], 100 * theirs[task]["mean_score"], dimension)
        for row in part:
            worst.compare(row.scores["met"], 100 * theirs[task][f"{row.question.id}-0"]["image_score"], row.question.id)


KRIS = [
    "count_change",
    "color_change",
    "anomaly_correction",
    "position_movement",
    "size_adjustment",
    "part_completion",
    "multi-instruction_execution",
    "abstract_reasoning",
    "mathematics",
    "practical_knowledge",
    "medicine",
    "rule-based_reasoning",
    "biology",
    "geography",
    "chemistry",
    "humanities",
    "physics",
    "viewpoint_change",
    "multi-element_composition",
    "temporal_prediction",
]


@pytest.mark.slow
@each_seed
def test_krisbench(seed: int, tmp_path: Path, worst: Worst) -> None:
    draw, data = random.Random(seed), tmp_path / "KRIS_Bench"
    for category in KRIS:
        rows = {}
        for n in map(str, range(1, 4)):
            inputs: Any = f"{n}.png"
            if category == "multi-element_composition":
                inputs = [f"{n}-1.png", f"{n}-2.png"]
            elif category == "temporal_prediction":
                inputs = [f"{n}-{frame}.png" for frame in (1, 2, 3)]
            right = f"{n}-gt.png" if category == "viewpoint_change" else ""
            rows[n] = {"ori_img": inputs, "gt_img": right, "ins_en": f"Change {category} {n}", "explain_en": "Because."}
            names = [*([inputs] if isinstance(inputs, str) else inputs), *([right] if right else [])]
            releases.write_pictures(data / category, names)
        (data / category / "annotation.json").write_text(json.dumps(rows), "utf-8")
        releases.write_pictures(tmp_path / "results" / "m" / category, [f"{n}.jpg" for n in rows])
    ratings: dict[tuple[str, str], int] = {}
    spoilt = {(f"{category}/2", name) for category in KRIS for name in ("instruction", "knowledge", "quality")[::2]}

    def answer(id: str, name: str) -> str:
        if (id, name) in spoilt:
            return SPOILT
        names = ["instruction", "knowledge"] if name == "knowledge" else [name]
        body = {f"{each}_score": ratings.setdefault((id, each), draw.randint(1, 5)) for each in names}
        return draw.choice(("{}", "First I looked.\n{}", "```json\n{}\n```")).format(
            json.dumps({"reasoning": "It is so.", **body})
        )

    releases.krisbench(answer)
    ours = marked("krisbench", data, lambda question, ask, _: answer(question.id, ask.partition("-")[0]))
    check_import("krisbench", tmp_path / "results" / "m", ours)
    for row in ours:
        category, _, n = row.question.id.partition("/")
        stored = json.loads((tmp_path / "results" / "m" / category / "metrics.json").read_text("utf-8"))[n]
        for name in ("consistency", "quality", "instruction", "knowledge"):
            if (rating := stored.get(f"{name}_score")) is not None:
                worst.compare(row.scores[name], 25 * (rating - 1), (row.question.id, name))
            else:
                assert row.scores[name] is None
    by_dimension, _, by_knowledge, overall = releases.kris_summary(tmp_path / "results" / "m")
    worst.compare(numbers("krisbench", ours)["overall"], overall["AVG"], "overall")
    for tag, table in (("dimension", by_dimension), ("knowledge", by_knowledge)):
        for value, means in table.items():
            found = numbers("krisbench", tagged(ours, tag, value))
            for short, name in KRIS_NAMES.items():
                if short in means:
                    worst.compare(found[name], means[short], (value, short))


KRIS_NAMES = {"VC": "consistency", "VQ": "quality", "IF": "instruction", "KP": "knowledge", "AVG": "overall"}
BEFORE = "ce8cba3^"
"""The revision of RISEBench's scorer before 2026-04-13."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("revision", "free", "reading"),
    [
        (None, True, "release"),
        (None, False, "careful"),
        (BEFORE, True, "paper"),
        (BEFORE, False, "careful"),
    ],
)
@each_seed
def test_risebench(seed: int, revision: str | None, free: bool, reading: Reading, tmp_path: Path, worst: Worst) -> None:
    """Once a row needs no consistency, the released code weights all rows as if they needed none: NaN is true there."""
    draw, data = random.Random(seed), tmp_path / "data"
    rows = [
        _rise_row(category, n, draw, free)
        for category in ("temporal", "causal", "spatial", "logical")
        for n in range(1, 41)
    ]
    data.mkdir()
    (data / "data_total.json").write_text(json.dumps(rows), "utf-8")
    names = [row[name] for row in rows for name in ("image", "reference_img") if name in row]
    releases.write_pictures(data, names)
    said: dict[tuple[str, str], str] = {}

    def answer(id: str, part: str) -> str:
        logical = id.startswith("logical")
        value = draw.randrange(2) if logical else draw.choice((1, 2, 3, 4, 5, 5, 5, 5))
        form = draw.choice(
            ("**Final Score:** **{}**", "So.\n\n**Final Score**: **{}**", "Final Score: {}", "Final Scores: {}")
        )
        return said.setdefault((id, part), form.format(value))

    # Of two drawings, one reply cannot be read: the release's code has no ratings of them then.
    spoilt = (
        {("temporal_reasoning_3", "appearance"), ("logical_reasoning_4", "outcome")} if reading != "careful" else ()
    )
    said |= dict.fromkeys(spoilt, SPOILT)
    theirs = releases.risebench(tmp_path, data / "data_total.json", answer, revision)
    parts = {"consistency": "appearance", "kept": "appearance", "plausibility": "plausibility"}

    def reply(question: Question[Any], ask: str, _: str) -> str:
        return answer(question.id, parts.get(ask.partition("-")[0], "outcome"))

    ours = marked("risebench", data, reply, reading)
    check_import("risebench", tmp_path / "outputs" / f"m-{revision}", ours, reading)
    for name in ("Overall", "Temporal", "Causal", "Spatial", "Logical"):
        part = ours if name == "Overall" else tagged(ours, "category", f"{name.lower()}_reasoning")
        found = numbers("risebench", part, reading)
        worst.compare(found["accuracy"] / 100, theirs[name]["Accuracy"], (name, "accuracy"))
        worst.compare(found["weighted"], theirs[name]["Score-Percentage"], (name, "score"))
        for ending, score in RISE_NAMES[name == "Overall"].items():
            if (known := theirs.get(f"{name}_{ending}")) is not None:
                worst.compare(found[score], known["Score-Percentage"], (name, score))
    for category, start in RISE_STARTS.items():
        for subtask in SUBTASKS[category]:
            found, known = numbers("risebench", tagged(ours, "subtask", subtask), reading), theirs[f"{start}-{subtask}"]
            worst.compare(found["accuracy"] / 100, known["Accuracy"], (subtask, "accuracy"))
            worst.compare(found["weighted"], known["Score-Percentage"], (subtask, "score"))
            worst.compare(found["weighted"] / 25 + 1, known["Score-Origin"], (subtask, "from 1 to 5"))


RISE_STARTS = {"temporal": "Temp", "causal": "Causal", "spatial": "Spa", "logical": "Logic"}
RISE_NAMES = (
    {"Reasoning": "reasoning", "Consistency": "consistency", "Quality": "plausibility"},
    {"Reasoning": "reasoning", "ApprConsistency": "consistency", "VisualPlausibility_total": "plausibility"},
)


def _rise_row(category: str, n: int, draw: random.Random, free: bool) -> dict[str, Any]:
    index = f"{category}_reasoning_{n}"
    row: dict[str, Any] = {"index": index, "category": f"{category}_reasoning", "subtask": SUBTASKS[category][n % 2]}
    row |= {"instruction": f"Do {n}", "image": f"{category}_reasoning_images/{n}.png"}
    reference = {"reference_img": f"{category}_reasoning_images/{n}_ref.png"}
    if category == "logical":
        return row | (reference if n % 2 else {"reference_txt": "The answer."})
    row |= {"reference": "The outcome."} | ({"reasoning_img": 1} if n == 1 or draw.random() < 0.3 else {})
    row |= reference if category == "spatial" and n % 4 == 0 else {}
    return row | ({"consistency_free": True} if free and (n == 2 or draw.random() < 0.2) else {})


GRADE_DOMAINS = {
    "physics": "physics", "engineering": "physics", "sports": "sports", "board": "sports", "chemistry": "chemistry",
    "math": "math", "music": "music", "eco": "economics", "his": "history", "geography": "geography",
    "biology": "biology", "ComputerScience": "computer science",
}  # fmt: skip
"""The beginning of an id -> our name of its domain."""


@pytest.mark.slow
@each_seed
def test_grade(seed: int, tmp_path: Path, worst: Worst) -> None:
    draw = random.Random(seed)
    rows = [_grade_row(domain, n, draw, tmp_path) for domain in GRADE_DOMAINS for n in range(1, 7)]
    (tmp_path / "result.json").write_text(json.dumps(rows), "utf-8")
    questions = {row["task_id"]: row["questions"] for row in rows}
    said: dict[tuple[str, str], str] = {}

    def answer(id: str, part: str) -> str:
        if part == "reasoning":
            share = draw.choice((0.5, 0.9, 1.0))
            answers = [
                {"question": each["question"], "answer": "Yes" if draw.random() < share else "No", "reason": "Seen."}
                for each in questions[id]
            ]
            text = json.dumps(answers)
        else:
            rating = draw.choice((0, 1, 2, 2, 2))
            text = json.dumps({"Instruction": "That.", "Final Score": rating, "Reason": "Seen."})
        return said.setdefault((id, part), text)

    full, domains = releases.grade(tmp_path, answer)
    parts = {"consistency": "consis", "consistency-style": "consis", "reasoning": "reasoning", "readability": "read"}
    (tmp_path / "ours" / "data.json").write_text(json.dumps(rows), "utf-8")
    ours = marked("grade", tmp_path / "ours", lambda question, ask, _: answer(question.id, parts[ask]))
    check_import("grade", tmp_path / "full_result_gemini_flash.json", ours)
    theirs = {row["task_id"]: row for row in full}
    for row in ours:
        result = theirs[row.question.id]
        worst.compare(row.scores["relaxed"], result["relax_score"], (row.question.id, "relaxed"))
        worst.compare(row.scores["accuracy"], 100 * result["acc_score"], (row.question.id, "accuracy"))
    whole, *groups = domains
    found = numbers("grade", ours)
    for name, printed in GRADE_NAMES.items():
        worst.compare(found[name], whole[printed], ("full set", name))
    for group in groups:
        found = numbers("grade", tagged(ours, "domain", GRADE_DOMAINS[group["domain"]]))
        for name, printed in zip(GRADE_NAMES, GRADE_COLUMNS, strict=True):
            worst.compare(found[name], group[printed], (group["domain"], name))


GRADE_NAMES = {
    "reasoning": "reasoning score", "consistency": "consist score", "readability": "readability score",
    "relaxed_release": "relax_score", "accuracy": "acc_score",
}  # fmt: skip
GRADE_COLUMNS = ("reasoning_score", "consis_score", "read_score", "relax_score", "acc_score")


def _grade_row(domain: str, n: int, draw: random.Random, folder: Path) -> dict[str, Any]:
    id = f"{domain}_{n}"
    releases.write_pictures(folder, [f"{id}.png", f"{id}_gt.png", f"{id}_edit.png"])
    releases.write_pictures(folder / "ours", [f"{id}.png", f"{id}_gt.png"])
    weights: Sequence[float] = draw.choice(((0.5, 0.5), (0.2, 0.3, 0.5), (1.0,), (0.25, 0.25, 0.25, 0.25), (0.7, 0.3)))
    questions: list[Mapping[str, Any]] = [
        {"id": f"Q{k}", "question": f"Is part {k} of {id} right?", "score": weight}
        for k, weight in enumerate(weights, 1)
    ]
    kept = "overall" if n == 1 else draw.choice(("overall", "style", "none"))
    return {
        "image_path": f"{id}.png", "editing_path": f"{id}_edit.png", "gt": f"{id}_gt.png", "text": f"Change {id}",
        "task_id": id, "consistency": kept, "sub_task": "x", "questions": questions,
    }  # fmt: skip
