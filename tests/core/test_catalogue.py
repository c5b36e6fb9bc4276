"""The catalogue of models: complete, dated, and said aloud before a model is gone."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from limner import exams
from limner.core import catalogue, settings
from limner.core.catalogue import ModelFacts, lifetime_warnings, successor_of
from limner.core.errors import DataError, UsageError
from limner.exams import paper
from limner.models.chat import ChatModel
from tests.docs.blocks import PAGES

DAY = date(2026, 11, 16)
KNOWN = settings.load()
PRESETS = [
    (kind.name, name, preset) for kind in exams.each() for name, preset in kind.all_presets.items() if "judge" in preset
]
PLACEHOLDERS = {"lab/reader-2", "lab/sketcher-2", "azure/my-image-deployment", "comfyui/sd_xl_base_1.0.safetensors"}
"""Models of the reader's own that the pages make up."""


@pytest.mark.parametrize(("exam", "name", "preset"), PRESETS, ids=[f"{exam}-{name}" for exam, name, _ in PRESETS])
def test_judge_of_every_preset_is_in_catalogue_and_priced(exam: str, name: str, preset: dict[str, str]) -> None:
    provider, _, model = preset["judge"].partition("/")
    assert preset["judge"] in KNOWN.models, f"{exam} --preset {name}"
    nowhere = None
    judge = ChatModel(provider, model, dict(preset.get("judge_args", {})), KNOWN, nowhere)  # type: ignore[arg-type]
    assert judge.unpriced() is None


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "", name.casefold())


NAMES = {_plain(name) for facts in KNOWN.models.values() for name in facts.paper_names}


@pytest.mark.parametrize("kind", exams.SHIPPED)
def test_every_model_in_paper_tables_is_in_catalogue(kind: str) -> None:
    """A row of a paper may add to a model's name how it was used, or that it was rewritten for."""
    for row in paper.rows(kind):
        if row["model"] and row["model_group"] not in ("human reference", "ground truth"):
            assert any(name in _plain(row["model"]) for name in NAMES), row["model"]


METRICS = {"human experts", "PickScore", "AesR1", "UniPercept", "improved aesthetic predictor"}


@pytest.mark.parametrize("kind", exams.SHIPPED)
def test_every_judge_model_in_papers_is_in_catalogue(kind: str) -> None:
    for judge in {row["judge"] for row in paper.rows(kind)} - METRICS - {""}:
        assert any(name in _plain(judge) for name in NAMES), judge


def test_models_named_in_docs_are_in_catalogue() -> None:
    mentioned = set[str]()
    for page in PAGES:
        for word in re.findall(r"[\w.-]+(?:/[\w.-]+)+", page.read_text("utf-8")):
            service, _, model = word.partition("/")
            own = service == "local" or model.startswith(".")
            if service in (*KNOWN.providers, "transformers") and not own and model and not model.endswith(".md"):
                mentioned.add(word.rstrip("."))
    named = {name for name in mentioned if not re.search(r"\.(toml|py|md|png|sh)$|/(v1|MODEL|REPO_OR_PATH)$", name)}
    assert named - PLACEHOLDERS <= KNOWN.models.keys()


def test_catalogue_entries_are_consistent() -> None:
    for name, facts in KNOWN.models.items():
        if facts.successor is not None:
            assert facts.successor in KNOWN.models, name
            assert successor_of(name, KNOWN.models, DAY) is not None
        if facts.shutdown is not None:
            assert facts.successor, f"{name} ends, and nobody comes after it"
            assert facts.released is None or facts.released < facts.shutdown
        assert (facts.input_price is None) == (facts.output_price is None)
        assert facts.input_price is None or (facts.priced_on and facts.source), name
    for name, painter in KNOWN.painters.items():
        assert name in KNOWN.models, f"{name} draws, and has no row of its own"
        if painter.image_price is not None or painter.image_bound is not None:
            assert painter.priced_on, name
            assert painter.source, name


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("openai/gpt-image-1", "2026-10-23"), ("openai/o1", "2026-10-23"), ("openai/gpt-image-1.5", "2026-12-01"),
        ("openai/gpt-image-1-mini", "2026-12-01"), ("openai/gpt-5", "2026-12-11"), ("openai/o3", "2026-12-11"),
        ("openai/gpt-4o", "2027-01-14"), ("gemini/gemini-3-pro-image-preview", "2026-06-25"),
    ],
)  # fmt: skip
def test_announced_shutdown_dates_are_recorded(name: str, ends: str) -> None:
    assert str(KNOWN.models[name].shutdown) == ends


def test_successors_are_followed_without_cycles() -> None:
    gone = date(2026, 1, 1)
    models = {
        "a": ModelFacts(shutdown=gone, successor="b"),
        "b": ModelFacts(shutdown=gone, successor="c"),
        "c": ModelFacts(shutdown=gone, successor="a"),
    }
    assert successor_of("a", models, DAY) is None
    assert successor_of("a", {**models, "c": ModelFacts()}, DAY) == "c"
    assert successor_of("nobody", models, DAY) is None


def test_lifetime_warnings_name_shutdown_date_and_successor() -> None:
    warnings = lifetime_warnings(
        ["openai/gpt-5", "openai/gpt-image-1", "openai/gpt-6.1-sol", "lab/unknown"], KNOWN.models, DAY
    )
    assert warnings == {
        "openai/gpt-5": "openai/gpt-5 will be gone on 2026-12-11; its successor is openai/gpt-5.6-sol",
        "openai/gpt-image-1": "openai/gpt-image-1 has been gone since 2026-10-23; its successor is "
        "openai/gpt-image-2.5-sunburst",
    }
    (unsure,) = lifetime_warnings(["gemini/gemini-2.5-pro"], KNOWN.models, DAY).values()
    assert "not confirmed" in unsure


def test_user_settings_override_refreshed_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_CONFIG", str(tmp_path))
    (tmp_path / "models.json").write_text('{"models": {"openai/o3": {"input_price": 7.0, "output_price": 9.0}}}')
    own = tmp_path / "limner.toml"
    own.write_text('[models."openai/o3"]\noutput_price = 1.0\n')
    facts = settings.load(own).models["openai/o3"]
    assert (facts.input_price, facts.output_price, str(facts.shutdown)) == (7.0, 1.0, "2026-12-11")


@pytest.mark.parametrize("body", ["{", "[]", '{"models": 3}', "\x00", "[" * 100_000])
def test_corrupt_refreshed_catalogue_file_is_named(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_CONFIG", str(tmp_path))
    (tmp_path / "models.json").write_text(body)
    with pytest.raises(DataError, match=r"models\.json.*models update"):
        settings.load()


def test_environment_variable_overrides_today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_TODAY", "2027-02-03")
    assert catalogue.today() == date(2027, 2, 3)
    monkeypatch.setenv("LIMNER_TODAY", "tomorrow")
    with pytest.raises(UsageError, match="2026-11-16"):
        catalogue.today()
    monkeypatch.delenv("LIMNER_TODAY")
    assert catalogue.today() >= DAY
