"""What the judge is told: every fact of the protocol in its place, in both forms and with both templates."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from limner.core.asks import Ask, Picture, Text
from limner.exams.mmmg import MMMG
from limner.exams.mmmg.replies import SCHEMA
from limner.judges import make_variant
from tests.cli.invoke import limner
from tests.exams.mmmg.cases import body, question
from tests.fakes import ChatServer
from tests.support import JUDGE, write_settings

DRAWING = "1" * 64
VARIANTS = ("structured", "free-text")
TEMPLATES = ("corrected", "as-published")
each = pytest.mark.parametrize(("variant", "template"), [(v, t) for v in VARIANTS for t in TEMPLATES])


def ask(variant: str, template: str) -> Ask:
    (found,) = MMMG.protocol.asks(question(), DRAWING, {}, make_variant(MMMG, variant, {"template": template}))
    return found


def sections(found: Ask) -> dict[str, str]:
    first = found.shown[0]
    assert isinstance(first, Text)
    assert "{{" not in first.text
    parts = re.split(r"^## (.+)$", "## Opening\n" + first.text, flags=re.M)[1:]
    return {name: " ".join(text.split()) for name, text in zip(parts[::2], parts[1::2], strict=True)}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_two_templates_differ_in_contains_and_defines_alone(variant: str) -> None:
    corrected, published = (sections(ask(variant, template)) for template in TEMPLATES)
    place = "What the relations look like"
    assert "Contains: the first visibly holds the second" in corrected[place]
    assert "Contains: the first visibly is a part of the second or lies within it" in published[place]
    assert "Defines: the second visibly gives the meaning of the first" in corrected[place]
    assert "Defines: the first visibly defines or illustrates the second" in published[place]
    assert {name for name in corrected if corrected[name] != published[name]} == {place}


@each
def test_text_then_the_drawing_as_it_is(variant: str, template: str) -> None:
    found = ask(variant, template)
    assert isinstance(found.shown[0], Text)
    assert found.shown[1:] == (Picture(DRAWING, max_side=None, detail=None),)
    assert [criterion.id for criterion in found.criteria] == [c.id for c in MMMG.protocol.criteria(question())]


def test_the_two_forms() -> None:
    structured, free = ask("structured", "corrected"), ask("free-text", "corrected")
    assert (structured.name, structured.contract.schema) == ("mark", SCHEMA)
    assert (free.name, free.contract.schema) == ("checklist", None)
    assert sections(structured)["Entities"] == "1. boiler 2. Steam 3. turbine"
    assert sections(free)["Entities"] == "- boiler - Steam - turbine"
    assert "one JSON object and nothing else" in sections(structured)["Reply"]
    assert "exactly as it stands above, a colon, then yes or no" in sections(free)["Reply"]
    assert re.search(r'\{ "description": .* "entities": .* "dependencies": ', sections(structured)["Reply"])
    assert sections(free)["Reply"].startswith("First write the description. Then write one line for each entity")


def test_what_a_graph_lacks() -> None:
    bare = question(["a"], [], annotation="")
    (found,) = MMMG.protocol.asks(bare, DRAWING, {}, make_variant(MMMG, None, {}))
    assert sections(found)["Dependencies"] == "(There is none.)"
    assert sections(found)["What the items mean"].endswith("(There is no explanation.)")


@pytest.mark.slow
def test_a_service_is_asked_and_read(tmp_path: Path, chat: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = write_settings(tmp_path, chat.base_url)
    settings.write_text(
        settings.read_text("utf-8").replace("timeout_s", 'structured = "json_schema"\ntimeout_s'), "utf-8"
    )
    chat.configure(reply=json.dumps(body([1, 1, 1, 1, 1], [1, 1, 1, 0])))
    how = ("--ids", "secondaryschool_Literature_1", "--judge", JUDGE, "--painter", "control/reference")
    limner("run", "sample/mmmg", *how, "--json")
    (sent,) = [record["body"] for record in chat.records(10)]
    assert sent["response_format"]["json_schema"] == {"name": "reply", "schema": SCHEMA, "strict": True}
    (row,) = limner("export", "sample/mmmg").lines()
    assert row["scores"]["fidelity_exact"] == pytest.approx(2 * 8 / (8 + 9))
    assert row["scores"]["mmmg_exact"] == row["scores"]["fidelity_exact"], "few regions: all of it is readable"
    assert row["evidence"]["regions_backend"].startswith("classical/")
    out = limner("scores", "sample/mmmg", "--by", "level", "--by", "discipline", "--by", "level_discipline").out
    assert "options template=corrected" in out
    assert "regions counted by classical: not the paper's readability" in out
    shown = limner("show", "sample/mmmg", "secondaryschool_Literature_1").out
    assert "TemporalOrder(falling action, resolution)" in shown
