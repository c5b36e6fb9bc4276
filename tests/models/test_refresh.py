"""Refreshing the catalogue: from a file, an address, a service's own list; laid over what is shipped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core import catalogue, settings
from limner.core.errors import DataError, UsageError
from limner.core.settings import Provider, Settings
from limner.models import refresh
from tests.fakes.json_server import json_server

NEWS = """
[models."openai/o3"]
shutdown = 2027-05-01
input_price = 3.0
output_price = 8.0

[models."lab/new"]
maker = "Lab"
successor = "lab/newer"

[painters."lab/new"]
image_price = 0.5
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIMNER_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


def said(source: str | Path, known: Settings | None = None) -> list[str]:
    update = refresh.read_update(str(source), known or settings.load())
    update.keep()
    return [str(change) for change in update.changes]


@pytest.mark.parametrize("form", ["toml", "json"])
def test_file_is_merged_field_by_field(form: str, tmp_path: Path, folder: Path) -> None:
    import tomllib

    file = tmp_path / f"news.{form}"
    file.write_text(NEWS if form == "toml" else json.dumps(tomllib.loads(NEWS), default=str))
    assert said(file) == [
        "openai/o3: shutdown is 2027-05-01 (was 2026-12-11)",
        "openai/o3: input_price is 3.0 (was 2.0)",
        "lab/new: maker is Lab",
        "lab/new: successor is lab/newer",
        "lab/new: image_price is 0.5",
    ]
    now = settings.load()
    assert (now.models["openai/o3"].input_price, now.models["openai/o3"].max_output_tokens) == (3.0, 100000)
    assert now.painters["lab/new"].image_price == 0.5
    assert said(file) == []
    (file2 := tmp_path / "more.toml").write_text('[models."lab/new"]\nreleased = 2026-01-01\n')
    said(file2)
    kept = settings.load().models["lab/new"]
    assert (kept.maker, str(kept.released)) == ("Lab", "2026-01-01")
    assert [path.name for path in folder.iterdir()] == ["models.json"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("= 3", "neither TOML nor JSON"),
        ('{"a":' * 100_000, "neither TOML nor JSON"),
        ("x = 1", "names no model"),
        ('[models."a/b"]\ninput_price = -1', r'models."a/b".input_price: .*greater than or equal to 0'),
        ('[models."a/b"]\nprice = 1', r'models."a/b".price: '),
    ],
)
def test_invalid_catalogue_leaves_stored_one_unchanged(body: str, message: str, tmp_path: Path, folder: Path) -> None:
    (file := tmp_path / "news.toml").write_text(body)
    with pytest.raises(DataError, match=message):
        said(file)
    assert not folder.exists()


COST_MAP: dict[str, dict[str, Any]] = {
    "sample_spec": {"litellm_provider": "one of many", "mode": "one of: chat", "max_output_tokens": "a number"},
    "gpt-6-luna": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 9e-06,
                   "output_cost_per_token": 9e-06, "deprecation_date": "2027-01-01"},
    "gpt-5.6-terra": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1.5e-06,
                      "output_cost_per_token": 1e-05, "input_cost_per_token_batches": 1},
    "gpt-9": {"litellm_provider": "openai", "mode": "responses", "input_cost_per_token": 1e-06,
              "output_cost_per_token": 2e-06, "max_output_tokens": 9000, "supports_vision": True},
    "1024-x-1024/gpt-image-9": {"litellm_provider": "openai", "mode": "image_generation", "output_cost_per_image": 1},
    "elsewhere/m": {"litellm_provider": "elsewhere", "mode": "chat", "input_cost_per_token": 1e-06},
}  # fmt: skip


@pytest.mark.parametrize("trust", [False, True])
def test_cost_map_fills_facts_and_overrides_confirmed_ones_only_if_trusted(
    trust: bool, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("LIMNER_TODAY", "2026-11-18")
    with json_server(lambda path, _: COST_MAP) as (root, seen):
        update = refresh.read_update(f"{root}/map.json", settings.load(), trust=trust)
    assert seen == [("/map.json", {}, None)]
    assert (update.gathered, update.left_out) == (True, 0 if trust else 3)
    changes = [str(change) for change in update.changes]
    assert [line for line in changes if line.startswith("openai/gpt-5.6-terra: ") and "_price" in line] == [
        "openai/gpt-5.6-terra: input_price is 1.5 (was 2.0)",
        "openai/gpt-5.6-terra: output_price is 10.0 (was 12.0)",
    ]
    assert any(line.startswith("openai/gpt-6-luna: ") for line in changes) == trust
    assert not any("elsewhere" in line or "gpt-image-9" in line for line in changes)
    assert not folder.exists()
    update.keep()
    models = settings.load().models
    new = models["openai/gpt-9"]
    assert (new.input_price, new.output_price, new.max_output_tokens, new.image_input) == (1.0, 2.0, 9000, True)
    assert (new.confirmed, new.priced_on) == (False, "2026-11-18")
    assert models["openai/gpt-6-luna"].input_price == (9.0 if trust else 0.1)


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("gpt-9", "input_cost_per_token", "free", r'"gpt-9"\.input_cost_per_token: '),
        ("gpt-9", "input_cost_per_token", float("nan"), r'"gpt-9"\.input_cost_per_token: '),
        ("gpt-9", "deprecation_date", "soon", r'"gpt-9"\.deprecation_date: '),
        ("gpt-9\ud800", "mode", "chat", r"'gpt-9\\ud800' is not the name of a model"),
        ("gpt-9\x1b[31m\n0 new facts", "mode", "chat", r"is not the name of a model"),
        ("", "mode", "chat", r"'' is not the name of a model"),
        ("a" * 5000, "mode", "chat", r"is not the name of a model"),
    ],
)
def test_invalid_cost_map_is_refused(name: str, field: str, value: object, message: str, tmp_path: Path) -> None:
    (file := tmp_path / "map.json").write_text(json.dumps({name: COST_MAP["gpt-9"] | {field: value}}))
    with pytest.raises(DataError, match=message):
        said(file)


def test_rows_without_known_service_are_ignored(tmp_path: Path) -> None:
    wrong = {"litellm_provider": ["openai"], "mode": "chat", "input_cost_per_token": "free"}
    (file := tmp_path / "map.json").write_text(json.dumps({"gpt-9": wrong, "gpt-8": wrong | {"litellm_provider": 8}}))
    assert said(file) == []


def test_age_of_old_catalogue_is_reported_when_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIMNER_TODAY", "2027-02-01")
    with pytest.raises(UsageError, match=r"cannot be fetched: .*; the prices are of 2026-11-\d\d, 7\d days ago"):
        said("http://127.0.0.1:9/map.json")


def test_unknown_source_is_refused() -> None:
    with pytest.raises(UsageError, match=r"is not a file, an address or a service; the services are: .*openai"):
        said("nowhere.toml")


def service(root: str) -> Settings:
    shipped = settings.load()
    here = Provider(base_url=f"{root}/v1", key_env="LAB_API_KEY")
    return shipped.model_copy(update={"providers": {**shipped.providers, "openai": here}})


@pytest.mark.slow
def test_model_list_of_service_gives_shutdown_dates(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [
        {"id": "gpt-5", "object": "model", "shutdown_date": "2026-12-20"},
        {"id": "gpt-6-sol", "object": "model", "shutdown_date": None},
        {"id": "o9", "object": "model", "shutdown_date": "2030-01-02"},
        {"id": "plain"},
        "odd",
    ]
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-for-the-list")
    with json_server(lambda path, body: {"object": "list", "data": listed}) as (root, seen):
        assert said("openai", service(root)) == [
            "openai/gpt-5: shutdown is 2026-12-20 (was 2026-12-11)",
            "openai/o9: shutdown is 2030-01-02",
        ]
    assert [(path, key) for path, _, key in seen] == [("/v1/models", "Bearer sk-canary-for-the-list")]
    assert str(settings.load().models["openai/gpt-5"].shutdown) == "2026-12-20"
    assert "canary" not in catalogue.refreshed_file().read_text()


@pytest.mark.slow
@pytest.mark.parametrize("body", [{}, {"data": 3}, []])
def test_service_without_model_list_is_refused(body: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_API_KEY", "sk-canary-for-the-list")
    with json_server(lambda path, _: body) as (root, _), pytest.raises(UsageError, match="does not list its models"):
        said("openai", service(root))


@pytest.mark.slow
def test_url_is_fetched_without_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-for-the-list")
    rows = {"models": {"lab/new": {"maker": "Lab"}}}
    with json_server(lambda path, _: rows) as (root, seen):
        assert said(f"{root}/models.json") == ["lab/new: maker is Lab"]
        assert seen == [("/models.json", {}, None)]
        monkeypatch.setattr(refresh, "MOST_BYTES", 10)
        with pytest.raises(UsageError, match="over 10 bytes"):
            said(f"{root}/models.json")
    with pytest.raises(UsageError, match="cannot be fetched"):
        said("http://127.0.0.1:9/models.toml")
