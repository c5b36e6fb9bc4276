"""Settings: the shipped services, the user's file on top, and errors that say where to look."""

from __future__ import annotations

from pathlib import Path

import pytest

from limner.core import settings
from limner.core.errors import DataError, UsageError
from limner.core.settings import OWN, Provider, load
from tests.cli.invoke import limner


def write(folder: Path, text: str) -> Path:
    path = folder / OWN
    path.write_text(text, "utf-8")
    return path


def test_shipped_settings_are_valid_and_contain_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    known = load()
    assert {"openai", "local"} <= set(known.providers)
    assert known.provider("openai").key_env == "OPENAI_API_KEY"
    assert known.provider("local").key() is None
    assert all("sk-" not in file.read_text("utf-8") for file in (settings.PROVIDERS_FILE, settings.SERVICES_FILE))
    for name, facts in known.models.items():
        assert (facts.priced_on is None) == (facts.input_price is None), name


def test_settings_reload_when_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = load()
    assert load() is before
    write(tmp_path, '[models."openai/gpt-5"]\noutput_price = 98\n')
    assert load().models["openai/gpt-5"].output_price == 98
    assert load() == load(tmp_path / OWN)
    write(tmp_path, '[models."openai/gpt-5"]\noutput_price = 99\n')
    assert load().models["openai/gpt-5"].output_price == 99
    (tmp_path / OWN).unlink()
    assert load() == before
    with pytest.raises(DataError):
        load(tmp_path / OWN)


def test_user_file_overrides_field_by_field(tmp_path: Path) -> None:
    shipped = load()
    path = write(
        tmp_path,
        """
        [providers.openai]
        base_url = "http://127.0.0.1:1/v1"
        [providers.mine]
        base_url = "http://127.0.0.1:2/v1"
        timeout_s = 5
        [models."openai/gpt-5"]
        output_price = 99
        """,
    )
    known = load(path)
    assert known.provider("openai").base_url == "http://127.0.0.1:1/v1"
    assert known.provider("openai").key_env == shipped.provider("openai").key_env
    assert (known.provider("mine").timeout_s, known.provider("mine").key()) == (5.0, None)
    assert known.models["openai/gpt-5"].output_price == 99
    assert known.models["openai/gpt-5"].input_price == shipped.models["openai/gpt-5"].input_price
    assert known.provider("gemini") == shipped.provider("gemini")


def test_painter_prompt_group_is_configurable(tmp_path: Path) -> None:
    painter = "openai/gpt-image-1"
    assert load().painters[painter].prompt_group == "closed"
    text = f'[painters."{painter}"]\nprompt_group = "open"\n[painters.mine]\nprompt_group = "closed"\n'
    known = load(write(tmp_path, text)).painters
    assert (known[painter].prompt_group, known["mine"].prompt_group) == ("open", "closed")
    for text in ("painters = 3", "painters = { mine = 3 }"):
        with pytest.raises(DataError, match="painters"):
            load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[providers.mine]\nbase_url = "http://x/v1"\napi_key = "sk-canary"', "providers.mine.api_key"),
        ('[providers.mine]\nbase_url = "http://x/v1"\nshape = "strange"', "providers.mine.shape"),
        ('[providers.mine]\nbase_url = "127.0.0.1:8000/v1"', "providers.mine.base_url"),
        ("[providers.mine]\ntimeout_s = 3", "providers.mine.base_url"),
        ('[providers.openai]\ntimeout_s = "long"', "providers.openai.timeout_s"),
        ('[models."a/b"]\nprice = 3', "models.a/b.price"),
        ("[model]\nx = 1", "model"),
        ("providers = 3", "providers"),
    ],
)
def test_invalid_field_is_reported_with_file(tmp_path: Path, text: str, place: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {place}: ")
    assert "sk-canary" not in str(caught.value)


@pytest.mark.parametrize("text", ["[providers", "x = \xff", "a = 1\na = 2"])
def test_invalid_toml_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / OWN
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match="cannot be read") as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_unknown_provider_error_lists_known_providers() -> None:
    with pytest.raises(UsageError, match=r"no provider 'nobody'; known: .*openai.* Add \[providers.nobody\] to"):
        load().provider("nobody")


@pytest.mark.parametrize("value", [None, "", "  \n"])
def test_missing_key_error_names_service_and_variable(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(UsageError, match=r"https://api.openai.com/v1 needs a key: .* variable OPENAI_API_KEY"):
        load().provider("openai").key()


def test_key_from_environment_is_stripped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-canary\n")
    provider = load().provider("openai")
    assert provider.key() == "sk-canary"
    assert "sk-canary" not in repr(provider)


def test_prices_are_per_million_tokens(tmp_path: Path) -> None:
    known = load(write(tmp_path, '[models."a/b"]\ninput_price = 2\noutput_price = 8\n[models."a/c"]\ninput_price = 2'))
    assert known.price("a/b", 1_000_000, 500_000) == 6.0
    assert known.price("a/b", 3, 1) == 14e-6
    assert known.price("a/c", 1, 1) is None
    assert known.price("a/d", 1, 1) is None


def test_folder_that_sends_known_key_elsewhere_is_not_followed_until_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIMNER_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-1234567890")
    own = Path("limner.toml")
    own.write_text('[providers.mine]\nbase_url = "https://evil.example/v1"\nkey_env = "OPENAI_API_KEY"\n')
    with pytest.raises(UsageError, match=r"OPENAI_API_KEY to evil\.example.*`limner trust`"):
        load().provider("mine").key()
    assert load().provider("openai").key() == "sk-canary-1234567890"
    assert "OPENAI_API_KEY to evil.example" in limner("trust").out
    assert load().provider("mine").key() == "sk-canary-1234567890"
    own.write_text(own.read_text().replace("evil", "worse"))
    with pytest.raises(UsageError, match=r"worse\.example"):
        load().provider("mine").key()
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_canary1234567890")
    for name in ("openai", "mine"):
        own.write_text(f'[providers.{name}]\nbase_url = "https://evil.example/v1"\nkey_env = "GITHUB_TOKEN"\n')
        with pytest.raises(UsageError, match=r"GITHUB_TOKEN to evil\.example"):
            load().provider(name).key()
    own.write_text('[providers.openai]\nbase_url = "http://127.0.0.1:9/v1"\n')
    assert load().provider("openai").key()


def test_key_is_not_sent_over_plain_http_to_another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_API_KEY", "sk-canary-1234567890")
    provider = Provider(base_url="http://service.example/v1", key_env="MINE_API_KEY")
    with pytest.raises(UsageError, match="is not encrypted, and would receive the key in MINE_API_KEY: use https"):
        provider.key()
    assert Provider(base_url="http://service.example/v1").key() is None
