"""The recipe of knowledge graphs: killed and carried on, reviewed, exported as an exam and as training samples."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from limner.build.engine import open_build
from limner.build.records import load_rows
from limner.cli import limner as command_line
from limner.core.errors import UsageError
from limner.core.training import read_samples
from limner.painters.diffusers.text_encoding import SEPARATOR
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.build.knowledge import DISCIPLINES, LEVELS, MARKS, SUBJECTS, Subject, brush, routes, write_found
from tests.build.scripted import Scripted, scripted, write_provider
from tests.support import start_limner

pytest.importorskip("starlette", reason="servers come with limner[web]")
from tests.study.page.visiting import agree, visitor

pytestmark = pytest.mark.slow
KILLS = 1
SETTINGS = (
    f"levels.levels={json.dumps(LEVELS)}", f"levels.disciplines={json.dumps(DISCIPLINES)}", "levels.prompts=3",
    'found.folders=["found"]', "found.licence=CC-BY-4.0", "paint.licence=CC0-1.0",
    "concepts.model=letters", "read-text.faint=false", "split.test=0.4", "split.exam=sample/mmmg", 'split.by=""',
)  # fmt: skip


@pytest.fixture(scope="module")
def llm() -> Iterator[Scripted]:
    with scripted(*routes()) as service:
        service.brush = brush
        yield service


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, llm: Scripted) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("graph")
    write_found(place / "found")
    write_provider(place, llm)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        yield place


def limner(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(command_line, words, catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.stdout


def subject(concept: str) -> Subject:
    return next(one for one in SUBJECTS if one.concept == concept)


def why(place: Path, step: str) -> dict[str, str]:
    """Concept (or id) -> why an item left the build at this step."""
    names = {one.id: one.concept for one in SUBJECTS}
    with Store(place / "limner-store") as store:
        rows = load_rows(store, "school", step)
    return {names.get(id, id): str(row.reason) for id, row in rows.items() if row.status not in ("done",)}


@pytest.fixture(scope="module")
def killed(place: Path, llm: Scripted) -> dict[str, Any]:
    """A build that was killed while it painted or asked, and then carried on to its review; the counts of its steps."""
    roles = [f"{role}=fake/llm" for role in ("writer", "checker", "annotator", "reasoner")] + ["painter=fake/brush"]
    words = ["build", "new", "school", "--recipe", "graph", *(w for one in SETTINGS for w in ("--set", one))]
    limner(*words, *(word for one in roles for word in ("-S", one)))
    chance = random.Random(5)
    for _ in range(KILLS):
        process = start_limner("build", "run", "school", "--concurrency", "2", cwd=place)
        with llm.lock:
            llm.kill = (process.pid, llm.total + chance.randint(2, 7))
        process.communicate(timeout=120)
        assert process.returncode == -9, "the build was over before it was killed"
    told: dict[str, Any] = json.loads(limner("build", "run", "school", "--format=json", "--budget", "5"))
    assert told["failed"] == 0
    return told


def test_killed_build_pays_each_call_once(killed: dict[str, Any], place: Path, llm: Scripted) -> None:
    assert llm.refused == []
    assert len(llm.killed_in_flight) == KILLS
    # Two were under way at each kill at most.
    assert sum(times - 1 for times in llm.answered.values()) <= 2 * KILLS
    assert len(llm.drawn) <= 10 + 2 * KILLS, "ten prompts had no picture"
    with Store(place / "limner-store") as store, store.reading() as connection:
        kinds = connection.execute(sa.select(calls.c.kind, sa.func.count(), sa.func.sum(attempts.c.cost))
                                   .join(attempts, attempts.c.call == calls.c.key).where(attempts.c.fault.is_(None))
                                   .group_by(calls.c.kind)).all()  # fmt: skip
    paid = {kind: (count, cost) for kind, count, cost in kinds}
    assert paid["paint"] == (10, pytest.approx(0.4)), "every picture once, at its price"
    asked = llm.total
    assert json.loads(limner("build", "run", "school", "--format=json"))["spent"] == 0
    assert llm.total == asked


def test_every_filter_drops_its_planted_items(killed: dict[str, Any], place: Path) -> None:
    assert why(place, "found")["found-1"] == "no prompt for this picture: found/stray.png"
    assert why(place, "duplicates")["heart valves"].startswith("near-duplicate: of ")
    assert len(why(place, "duplicates")) == 1
    assert why(place, "explanatory-text") == {"wooden bridge": "no explanatory text: 0 of at least 2"}
    assert why(place, "cropping") == {"kidney filtration": "cropped: 2 of at most 1: 2 strokes run over the top edge"}
    assert list(why(place, "watermark")) == ["jet engine"]
    assert why(place, "filter") == {"gene expression": "not literal: It is drawn so."}
    assert why(place, "review").keys() == {
        "photosynthesis", "volcanic eruption", "bird migration", "steam turbine", "closed control loop",
        "nerve impulse", "Photosynthesis",
    }  # fmt: skip


@pytest.fixture(scope="module")
def unreviewed(killed: dict[str, Any]) -> str:
    """The status before anyone has reviewed."""
    return limner("build", "status", "school")


def test_each_stage_is_shown_beside_paper(killed: dict[str, Any], unreviewed: str) -> None:
    steps = {step["place"]: step for step in killed["steps"]}
    assert (steps["prompts"]["kept"], steps["prompts"]["paper"]) == (12, 56830)
    assert steps["concepts"]["miles"] == {"concepts": 11}, "two prompts are about photosynthesis"
    assert steps["concepts"]["paper"] is None, "a bar counts items, not concepts"
    assert steps["paint"]["miles"] == {"of them drawn": 10}
    expected = (
        "56,830 prompts → 11,732 concepts → 56,000 pictures → 30,000 of them drawn → 20,000 with a graph → 4,456 in the"
    )
    flat = " ".join(unreviewed.split())
    assert expected in flat
    assert (
        "this build: 12 prompts → 11 concepts → 12 pictures → 10 of them drawn → 7 with a graph → 0 in the exam" in flat
    )


def answered(place: Path, changes: dict[str, dict[str, Any]]) -> None:
    """A reviewer accepts all that waits, but for these changes by concept."""
    limner("build", "review", "school", "--reviewer", "anna", "--write", "anna.jsonl")
    rows = [json.loads(line) for line in (place / "anna.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        change = changes.get(row["state"]["concept"], {})
        row |= {"action": "edit" if change else "accept", "change": change}
    (place / "anna.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    limner("build", "review", "school", "--reviewer", "anna", "--read", "anna.jsonl")


@pytest.fixture(scope="module")
def finished(killed: dict[str, Any], unreviewed: str, place: Path, llm: Scripted) -> dict[str, Any]:
    """The same build reviewed: one graph made better, one broken and then mended."""
    turbine = subject("steam turbine")
    elements = [{"name": name, "why": "Anna says so."} for name in turbine.parts]
    answered(place, {
        "steam turbine": {"definitions": "What Anna wrote.", "elements": elements},
        "nerve impulse": {"dependencies": [{"says": "Contains(neuron, nothing)", "why": "a slip"}]},
    })  # fmt: skip
    limner("build", "run", "school")
    assert why(place, "check") == {
        "nerve impulse": "review: the graph must be corrected: undeclared: 'nothing' in "
        "'Contains(neuron, nothing)' is not a declared element"
    }
    with Store(place / "limner-store") as store:
        builder = open_build(store, "school")
        id = subject("nerve impulse").id
        state = {name: builder.look("review")[1][id].body[name] for name in ("dependencies",)}
        assert state["dependencies"][0]["says"] == "Contains(neuron, nothing)", "what was reviewed stands"
        from limner.build.records import add_review
        from limner.build.review_files import review_items
        from limner.build.reviews import Review, state_id

        body = review_items(builder)[id].standing.body
        good = [{"says": says, "why": "mended"} for says in
                ("Contains(neuron, axon)", "Requires(axon, ion)", "Causes(ion, voltage)")]  # fmt: skip
        add_review(store, Review("school", id, "anna", "edit", state_id(body), {"dependencies": good}))
    told: dict[str, Any] = json.loads(limner("build", "run", "school", "--format=json"))
    return told


def test_split_shares_no_topic_or_concept(finished: dict[str, Any], place: Path) -> None:
    with Store(place / "limner-store") as store:
        _, items = open_build(store, "school").look()
    test, train = ([one.body for one in items.values() if one.body.get("part") == part] for part in ("test", "train"))
    assert len(test) + len(train) == sum(one.sort == "image" for one in items.values())
    for word in ("topic", "concept"):
        assert not {body[word].casefold() for body in test} & {body[word].casefold() for body in train}
    assert {body["origin"] for body in train} == {"synthetic"}
    photosynthesis = [body for body in test if body["concept"].casefold() == "photosynthesis"]
    assert {body["origin"] for body in photosynthesis} == {"real", "synthetic"}, "a whole topic goes to one side"
    assert why(place, "split") == {
        "closed control loop": "stands in sample/mmmg: closed control loop: undergraduate_Engineering_1"
    }
    steps = {step["place"]: step for step in finished["steps"]}
    assert steps["traces"]["miles"] == {"in the exam": len(test), "for training": len(train)}
    assert len(train) == 3


def test_reviewer_text_takes_precedence(finished: dict[str, Any], place: Path) -> None:
    with Store(place / "limner-store") as store:
        _, items = open_build(store, "school").look()
    turbine = items[subject("steam turbine").id].body
    assert turbine["definitions"] == "What Anna wrote."
    assert {one["why"] for one in turbine["elements"]} == {"Anna says so."}
    assert [one["says"] for one in turbine["dependencies"]] == [
        "Contains(turbine, rotor)", "Contains(turbine, steam)", "Causes(change(steam), torque)"
    ], "a relation of three became two"  # fmt: skip
    assert turbine["reviewers"] == ["anna"]


def test_replies_that_break_rules_are_sent_back(finished: dict[str, Any], llm: Scripted) -> None:
    for mark in MARKS.values():
        assert any(heard.turn for heard in llm.asked(mark)), mark
    objections = "\n".join(heard.text for _, heard in llm.heard if heard.turn)
    for message in ("there are 0 lines **PROMPT**", "words; at most 80 are allowed", "'ignore all rules' in ",
                 "must stand once, not 2 times", "the trace does not say Requires(axon, ion) in words",
                 '"judge" must be true where all criteria are'):  # fmt: skip
        assert message in objections, message


def test_training_part_is_written_in_training_format(finished: dict[str, Any], place: Path) -> None:
    output = limner("build", "export", "school", "samples", "--train")
    assert "3 samples of 3 concepts are now in samples" in output
    rows = [json.loads(line) for line in (place / "samples" / "train.jsonl").read_text("utf-8").splitlines()]
    assert list(rows[0]) == ["id", "level", "discipline", "concept", "prompt", "image", "elements", "dependencies",
                             "trace", "final_prompt"]  # fmt: skip
    samples = read_samples(place / "samples")
    assert {sample.rubric.concept for sample in samples} <= {one.concept for one in SUBJECTS}
    for sample in samples:
        mine = next(one for one in SUBJECTS if one.concept == sample.rubric.concept)
        assert sample.reference is not None
        assert (sample.prompt, sample.rubric.elements) == (mine.prompt, mine.parts)
        assert SEPARATOR not in sample.rubric.trace + sample.rubric.final_prompt
    with pytest.raises(UsageError, match="samples is not an empty folder"):
        limner("build", "export", "school", "samples", "--train")


def test_training_set_has_a_card_and_loads(finished: dict[str, Any], place: Path) -> None:
    limner("build", "export", "school", "carded", "--train", "--licence", "CC-BY-SA-4.0")
    card = (place / "carded" / "README.md").read_text("utf-8")
    assert card.startswith("---\npretty_name: school\nlicense: cc-by-sa-4.0\n")
    assert "3 samples for training" in card
    assert "| CC0-1.0 | 3 |" in card
    assert "| write |" in card
    datasets = pytest.importorskip("datasets")
    rows = datasets.load_dataset(str(place / "carded"), split="train", cache_dir=str(place / "cache"))
    assert len(rows) == 3
    assert all(row["trace"] and (place / "carded" / row["image"]).is_file() for row in rows)


def test_export_is_an_exam(finished: dict[str, Any], place: Path) -> None:
    count = {step["place"]: step for step in finished["steps"]}["traces"]["miles"]["in the exam"]
    assert f"{count} questions and {count} pictures" in limner("build", "export", "school", "out")
    assert "all well-formed" in limner("exam", "check", "out/exam.toml")
    rows = [json.loads(line) for line in (place / "out/data/mmmg.jsonl").read_text("utf-8").splitlines()]
    assert {row["origin"] for row in rows} == {"real", "synthetic"}
    assert json.loads(rows[0]["Annotation"]).keys() == {"Definitions", "Element Explanation", "Dependency Explanation"}
    provenance = (place / "out/provenance.csv").read_text("utf-8")
    assert "https://a.example/page" in provenance
    assert "56,830" in (place / "out/DATASHEET.md").read_text("utf-8")
    exam = ["out/exam.toml", "--judge", "ocr"]
    for painter in ("control/reference", "control/blank", "mine=folder/out/data/images"):
        exam += ["--painter", painter]
    assert json.loads(limner("run", *exam, "--format=json").splitlines()[-1])["failed"] == 0
    found = {row["painter"]: row for row in json.loads(limner("scores", "out/exam.toml", "--format", "json"))}
    bounds = {name: row["bounds"]["entity_recall"] for name, row in found.items()}
    assert bounds["control/reference"]["low"] > bounds["control/blank"]["high"]
    assert bounds["mine"] == bounds["control/reference"]
    made = json.loads(limner("study", "new", "eyes", "--exam", "out/exam.toml", "--design", "mmmg", "--rater", "ben",
                             "--format", "json"))  # fmt: skip
    token = made["links"]["ben"].rpartition("/")[2]
    with Store(place / "limner-store") as store, visitor(store, "eyes") as client:
        agree(client, token)
        page = client.get(f"/r/{token}/1")
        assert page.status_code == 200
        assert any(one.prompt in unescape(page.text) for one in SUBJECTS), "the page asks about a drawing of this exam"
