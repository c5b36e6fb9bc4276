"""Keys: sent to their service and written nowhere else, whatever a careless service says."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from limner import doctor
from limner.core import settings
from tests.cli.invoke import limner
from tests.end_to_end.echo import MODES, STOPPING, Echo
from tests.end_to_end.shop import all_bytes, write_toml
from tests.end_to_end.shop import limner as limner_apart
from tests.support import SmallExam, write_exam

pytestmark = pytest.mark.slow

KEYS = {
    "openai": "QzXvKwJyGhTnRbLmPqWsDfUj", "openrouter": "HvYtZqJkXwMnBrGpLsTdFcQy",
    "gemini": "WkRjVzNxQtYmHbGsPlDfTcJq", "dashscope": "TgBnYhUjMkIzLpQxWvErRtFs",
    "bfl": "JxZqPwVkYnTrLmHsGdBfQcWt", "anthropic": "YqLxWzVnKtJrHbPmDsGfQcTj",
    "ark": "ZpXkQvWyJmTnLbRsHdGfCqYt", "byteplus": "XvKzQjWyTmHnRbLpGsDfYcZq",
    "xai": "JwVzKxQyPnRmGbTlHsDfZcXt", "tencent": "KqZvXjWyLnTmRbHpGsFdYcVt",
    "luma": "VyQzJkXwGnTmHbRpLsDfKcZq", "recraft": "QvXkZjYwRnHmTbGpLsFdWcKt",
    "reve": "ZkQyVxJwTnGmLbHpRsDfXcVq", "krea": "YjKzXvQwHnRmTbLpGsFdZcJt", "ideogram": "VjQzKxYwPnTmGrLbSsDfHcJq",
    "replicate": "XwZkVqJyHnRmTbPlGsDfYcQt", "fal": "KzYxQvJwTnHmRbLpGsVdFcXq",
    "together": "QjXzVwKyMnTrHbGpLsYdFcZt", "azure": "YvZqXkWjGnTmRbHpLsQdFcKy",
    "foundry": "WzQxKvJyLnTmGbRpHsDfVcXq",
    "vertex": "ZxKvQyJwRnGmTbLpHsXdFcVq",
}  # fmt: skip
"""Letters that stand in nothing else; their slash and plus, as some keys have them, come from `canary`."""
PAINTERS = {
    "openai": "gpt-image-1", "openrouter": "maker/draws", "gemini": "gemini-2.5-flash-image", "dashscope": "wan2.5-t2i",
    "bfl": "flux-2-pro", "ark": "doubao-seedream-4-5-251128", "ideogram": "v4",
    "byteplus": "seedream-5-5-261028", "xai": "grok-imagine-image-2.0", "tencent": "hy-image-v3.5-preview",
    "luma": "uni-1", "recraft": "recraftv4_1", "reve": "2.1", "krea": "krea-2/large", "foundry": "MAI-Image-2.6",
    "replicate": "maker/draws",
    "fal": "maker/draws", "together": "maker/draws", "azure": "my-deployment", "vertex": "gemini-3-pro-image",
}  # fmt: skip
JUDGES = ("openai/gpt-5", "anthropic/claude-opus-5")
"""One of a service that draws too, and one of the service that does not."""
PART = 8
"""So many letters in a row of a key are too many."""


def canary(provider: str) -> str:
    key = KEYS[provider]
    return f"{key[:12]}/+{key[12:]}"


@pytest.fixture
def echo(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    """The careless service in the place of every provider that needs a key, and each one's key in the environment."""
    shipped = settings.load().providers
    assert [name for name, provider in shipped.items() if provider.key_env] == list(KEYS)
    assert {name for name in KEYS if shipped[name].image_shape} == PAINTERS.keys()
    with Echo() as server:
        sections = {}
        for name in KEYS:
            image_url = {"image_url": server.url(name)} if shipped[name].image_url else {}
            sections[f"providers.{name}"] = {"base_url": server.url(name), **image_url}
            monkeypatch.setenv(str(shipped[name].key_env), canary(name))
        write_toml(here, sections)
        yield server


def environment() -> dict[str, str]:
    shipped = settings.load().providers
    return {str(shipped[name].key_env): canary(name) for name in KEYS}


def traces(place: str, data: bytes) -> list[str]:
    """Where anything of a key stands: a part of it, or all of it in another spelling."""
    matches = []
    for name in KEYS:
        key = canary(name)
        parts = {key[n : n + PART] for n in range(len(key) - PART + 1)}
        spelt = {quote(key, safe=""), base64.b64encode(key.encode()).decode()[:-4], key[::-1]}
        matches += [f"{name} in {place}: {part}" for part in sorted(parts | spelt) if part.encode() in data]
    return matches


def leaks(folder: Path, *texts: str) -> list[str]:
    matches = [trace for place, data in all_bytes(folder) for trace in traces(place, data)]
    return matches + [trace for text in texts for trace in traces("what was said", text.encode())]


def run_words(exam: SmallExam) -> list[str]:
    painters = [word for name, model in PAINTERS.items() for word in ("--painter", f"{name}={name}/{model}")]
    judges = [word for judge in JUDGES for word in ("--judge", judge)]
    return ["run", "genexam", "--data", str(exam.data), *painters, *judges]


def words_for(provider: str, exam: SmallExam) -> list[str]:
    """A command that asks this service and no other: to draw, or to mark what a control has drawn."""
    if provider in PAINTERS:
        return ["draw", "genexam", "--data", str(exam.data), "--painter", f"{provider}/{PAINTERS[provider]}"]
    (judge,) = [judge for judge in JUDGES if judge.startswith(f"{provider}/")]
    return ["run", "genexam", "--data", str(exam.data), "--painter", "control/reference", "--judge", judge]


READ = (
    ("scores", "genexam", "--format", "json"), ("show", "genexam", "Biology_0", "--format=json"),
    ("export", "genexam", "-o", "rows.jsonl", "--images", "pictures"), ("spend", "--format=json"),
)  # fmt: skip
READ_MORE = (
    ("scores", "genexam"), ("scores", "genexam", "--format", "csv"), ("show", "genexam", "Biology_0"),
    ("export", "genexam"), ("export", "genexam", "--format", "csv"),
    ("export", "genexam", "--format", "parquet", "-o", "rows.parquet"), ("spend",), ("exams",),
)  # fmt: skip


def test_leak_search_finds_keys(tmp_path: Path) -> None:
    key = canary("gemini")
    (tmp_path / "database").write_bytes(b"\0\1" + key[5:14].encode() + b"\2")
    assert len(leaks(tmp_path)) == 2
    assert leaks(tmp_path / "none", f"It is {quote(key, safe='')}.")
    assert leaks(tmp_path / "none", "It is no key.") == []


@pytest.mark.parametrize("mode", MODES)
def test_no_key_is_written_anywhere(here: Path, echo: Echo, mode: str) -> None:
    exam = write_exam(here, 1)
    echo.mode = mode
    good = mode == "good"
    words = run_words(exam)
    results = [
        limner(*words, code=0 if good else 3),
        limner(*words, "--retry-failed", "--format=json", code=0 if good else 3),
    ]
    # Each service was asked, and each has repeated its key; where nothing was drawn, no judge was asked.
    asked = {provider for provider, way in echo.echoed if way == mode}
    assert asked == (KEYS.keys() if good else PAINTERS.keys())
    if not good:
        # Now the drawings are there, and the judge's service is the careless one.
        echo.mode = "good"
        results.append(limner(*words, "--retry-failed", "--judge-arg", "seed=1"))
        echo.mode = mode
        results.append(limner(*words, "--judge-arg", "seed=2", code=3))
        assert {provider for provider, way in echo.echoed if way == mode} == KEYS.keys()
    results += [limner(*command) for command in (*READ, *(READ_MORE if mode in ("good", "refusal_400") else ()))]
    results += [limner("estimate", *words[1:]), limner(*words, "--dry-run")]
    assert leaks(here, *(one.out for one in results), *(one.err for one in results)) == []
    # It is not that nothing of it was kept.
    assert any(b"***" in data for place, data in all_bytes(here / "limner-store") if place.startswith("limner.db"))


@pytest.mark.parametrize("mode", STOPPING)
def test_message_that_ends_run_contains_no_key(here: Path, echo: Echo, mode: str) -> None:
    exam = write_exam(here, 1)
    echo.mode = mode
    for provider in KEYS:
        result = limner(*words_for(provider, exam), code=1)
        assert result.err.count("\n") == 1
        assert echo.echoed[provider, mode] == 1
        assert leaks(here, result.out, result.err) == []


def test_separate_process_leaks_no_key(here: Path, echo: Echo) -> None:
    """The keys are only in the environment of that process."""
    exam = write_exam(here, 1)
    words = run_words(exam)
    results = [limner_apart(*words, cwd=here, env=environment())]
    echo.mode = "long_400"
    results.append(limner_apart(*words, "--judge-arg", "seed=3", cwd=here, env=environment(), code=3))
    assert leaks(here, *(text for one in results for text in (one.out, one.err))) == []


def test_doctor_shows_no_key(here: Path, echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_ocr", lambda: doctor.Check("OCR", "ok", "not looked at"))
    result = limner("doctor", "--all", code=None)
    assert f"keys set for: {', '.join(KEYS)}" in result.out
    assert leaks(here, result.out, result.err) == []


@pytest.mark.parametrize("key", ["smart”quote-QzXvKwJyGhTn", "two words-QzXvKwJyGhTn", "bell\aring-QzXvKwJyGhTn"])
def test_key_invalid_in_header_is_refused_without_showing_it(
    here: Path, echo: Echo, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    exam = write_exam(here, 1)
    for name, provider in settings.load().providers.items():
        if provider.key_env is not None:
            monkeypatch.setenv(provider.key_env, key)
            result = limner(*words_for(name, exam), code=2)
            assert result.err == (
                f"limner: the environment variable {provider.key_env} does not hold a key: "
                "it has characters that keys never have\n"
            )
    assert not echo.echoed
    assert leaks(here) == []
