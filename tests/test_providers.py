"""The shipped providers: every entry is whole, every price has its day and source, every size fits its service."""

from __future__ import annotations

import math
import re
import tomllib
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from limner.core import catalogue, settings
from limner.core.exam import Exam
from limner.core.settings import PROVIDERS_FILE, ModelFacts, PainterFacts, Provider, Settings, load
from limner.evidence.probe import OcrProbe
from limner.painters import SERVICES, ApiPainter, PaintRequest, open_painter
from limner.painters.base import Aspect
from limner.painters.services.dashscope import endpoint_of
from limner.store import Store
from tests.cli.invoke import limner
from tests.fakes import gemini_checks, jobs_checks
from tests.fakes.images_checks import check_chat, check_images
from tests.fakes.images_plan import ImagePlan

RAW = tomllib.loads(PROVIDERS_FILE.read_text("utf-8") + catalogue.MODELS_FILE.read_text("utf-8"))
ASPECTS: tuple[Aspect, ...] = ("square", "landscape", "portrait")


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return load()


def test_every_table_and_field_is_known_to_settings() -> None:
    assert set(RAW) == {"providers", "models", "painters"}
    for table, kind in (("providers", Provider), ("models", ModelFacts), ("painters", PainterFacts)):
        assert RAW[table]
        for name, fields in RAW[table].items():
            assert set(fields) <= set(kind.model_fields), name
    # Every field can be found in the file's own explanation.
    explanation = "".join(
        file.read_text("utf-8").partition("\n[")[0] for file in (PROVIDERS_FILE, catalogue.MODELS_FILE)
    )
    for kind in (Provider, ModelFacts, PainterFacts):
        assert [field for field in kind.model_fields if field not in explanation] == []


def test_providers_have_valid_urls_keys_and_hosts(shipped: Settings) -> None:
    for name in RAW["providers"]:
        provider = shipped.provider(name)
        for url in filter(None, (provider.base_url, provider.image_url)):
            parts = urlsplit(url)
            local = parts.hostname in ("127.0.0.1", "localhost")
            assert parts.scheme == ("http" if local else "https"), name
            assert not url.endswith("/"), name
            assert not parts.query, name
            assert (provider.key_env is None) == local, name
        if provider.key_env is not None:
            assert re.fullmatch(r"[A-Z0-9]+_API_KEY", provider.key_env), name
        for host in (*provider.link_hosts, *provider.poll_hosts):
            # A key or an image goes to whole names, or to all below one that is the service's own.
            assert re.fullmatch(r"(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+|localhost", host), name
            assert host not in ("*.com", "*.net", "*.windows.net", "*.amazonaws.com", "*.blob.core.windows.net"), name


def test_no_two_providers_share_a_key(shipped: Settings) -> None:
    names = [provider.key_env for provider in shipped.providers.values() if provider.key_env]
    assert len(set(names)) == len(names) > 0


def test_every_shape_is_registered_and_can_be_loaded() -> None:
    known = set(SERVICES.own())
    for name in known:
        service = SERVICES.get(name)
        assert service.about
        assert issubclass(service.painter, ApiPainter)
        assert "size" in service.painter.takes()
    assert {provider["image_shape"] for provider in RAW["providers"].values() if "image_shape" in provider} <= known


NO_PROVIDERS = ("midjourney", "diffusers", "transformers", "weights")
"""What the names of models begin with that are known though no provider here has them."""
PRICES = ("input_price", "output_price", "image_price", "image_bound")


@pytest.mark.parametrize("table", ["models", "painters"])
def test_every_price_has_date_and_source(shipped: Settings, table: str) -> None:
    for name, fields in RAW[table].items():
        assert name.partition("/")[0] in {*shipped.providers, *NO_PROVIDERS}
        if not any(price in fields for price in PRICES):
            assert {"priced_on", "source"}.isdisjoint(fields), name
            continue
        assert date(2025, 1, 1) <= date.fromisoformat(fields["priced_on"]) <= date.today(), name
        assert len(fields["source"].split()) >= 3, name
        assert all(fields[price] > 0 or name.startswith("local/") for price in PRICES if price in fields), name
        assert table == "painters" or {"input_price", "output_price"} <= fields.keys(), name


BY_TOKENS = [name for name, facts in RAW["painters"].items() if "input_price" in RAW["models"][name]]


def test_no_image_can_cost_more_than_its_bound(shipped: Settings) -> None:
    """Recomputed from what the source says: so many output tokens, and the longest prompt at a token a character."""
    for name in BY_TOKENS:
        facts = shipped.painters[name]
        (tokens,) = re.findall(r"([\d,]+) output tokens", facts.source or "")
        most = shipped.price(name, facts.prompt_limit or 0, int(tokens.replace(",", "")))
        assert facts.image_bound is not None, name
        assert most is not None, name
        assert most <= facts.image_bound <= 1.1 * most, name


@pytest.mark.parametrize("name", [name for name in RAW["painters"] if name.startswith("bfl/flux-2")])
def test_no_edit_can_cost_more_than_its_bound(shipped: Settings, name: str) -> None:
    """Recomputed from what the source says, for the largest size that the bound holds for and a picture of 4 MP."""
    facts = shipped.painters[name]
    first, *further = map(float, re.findall(r"(0\.\d+) (?:for|a)", facts.source or ""))
    (more,) = further or (first,)
    largest = max(math.ceil(math.prod(map(int, size.split("x"))) / 1e6) for size in facts.bound_for["size"])
    drawing = first + more * (largest - 1)
    assert facts.image_bound == pytest.approx(drawing)
    assert facts.edit_price == pytest.approx(drawing + 4 * more)


def test_painter_with_price_supports_budget(shipped: Settings, store: Store) -> None:
    """For drawings, and for edits where it starts from pictures."""
    for name, fields in RAW["painters"].items():
        if any(price in fields for price in PRICES):
            painter, _ = body_of(name, "square", shipped, store)
            assert painter.unpriced() is None, name
            assert not painter.most_pictures or painter.edit_price(1)[0] is not None, name


def body_of(name: str, aspect: Aspect, shipped: Settings, store: Store) -> tuple[ApiPainter, dict[str, Any]]:
    painter = open_painter(name, Exam("none", "genexam", ()), store.blobs, OcrProbe(), shipped, {})
    assert isinstance(painter, ApiPainter)
    return painter, painter.request_body(PaintRequest("q1", "A cell with its parts.", 7, aspect))


@pytest.mark.parametrize("aspect", ASPECTS)
def test_sizes_are_accepted_by_service(shipped: Settings, store: Store, aspect: Aspect) -> None:
    """Each body is read by the fake of its service, which is as strict as the documentation."""
    for name in RAW["painters"]:
        painter, body = body_of(name, aspect, shipped, store)
        wide, high = (int(side) for side in re.split("[x:]", size_in(body, painter, aspect)))
        assert (wide > high, wide < high) == (aspect == "landscape", aspect == "portrait"), name
        assert set(painter.facts.sizes) == set(ASPECTS), name


def size_in(body: dict[str, Any], painter: ApiPainter, aspect: Aspect) -> str:
    shape = painter.provider.image_shape
    if shape == "openai-images":
        return check_images(body, ImagePlan()).size
    if shape == "chat-images":
        return check_chat(body, ImagePlan()).size
    if shape == "gemini":
        return gemini_checks.check(body, painter.model, None, []).ratio
    if shape == "dashscope":
        endpoint = endpoint_of(painter.model)
        wish = {} if endpoint.startswith("multimodal") else {"X-DashScope-Async": "enable"}
        return jobs_checks.check_dashscope(body, endpoint, wish).size
    if shape == "bfl":
        return jobs_checks.check_bfl(body, painter.model).size
    return painter.facts.sizes[aspect]


def test_user_file_changes_single_fields_and_adds_entries(tmp_path: Path) -> None:
    before = load()
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        [providers.openai]
        requests_per_minute = 500
        [models."openai/gpt-5"]
        output_price = 12.5
        priced_on = "2026-02-03"
        [painters."openai/gpt-image-1"]
        image_bound = 0.2
        sizes.landscape = "1792x1024"
        [painters."bfl/flux-2-max"]
        image_price = 0.07
        [painters."openai/gpt-image-9"]
        image_price = 1
        """,
        "utf-8",
    )
    after = load(path)
    assert after.providers["openai"] == before.providers["openai"].model_copy(update={"requests_per_minute": 500.0})
    changed = {"output_price": 12.5, "priced_on": "2026-02-03"}
    assert after.models["openai/gpt-5"] == before.models["openai/gpt-5"].model_copy(update=changed)
    old, new = before.painters["openai/gpt-image-1"], after.painters["openai/gpt-image-1"]
    assert new == old.model_copy(update={"image_bound": 0.2, "sizes": {**old.sizes, "landscape": "1792x1024"}})
    assert after.painters["bfl/flux-2-max"].kind == before.painters["bfl/flux-2-max"].kind
    assert after.painters["bfl/flux-2-max"].image_price == 0.07
    assert after.painters["openai/gpt-image-9"] == PainterFacts(image_price=1)
    for table in ("providers", "models", "painters"):
        was, is_now = getattr(before, table), getattr(after, table)
        same = {name for name in was if was[name] == is_now[name]}
        assert len(was) - len(same) == {"providers": 1, "models": 1, "painters": 2}[table]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[providers.openai]\nkey = "sk-canary"',
            "providers.openai.key: no such field; choose from: base_url, shape, ",
        ),
        ('[models."a/b"]\nprice = 1', "models.a/b.price: no such field; choose from: maker, released, "),
        ('[painters."a/b"]\nsize = "1x1"', "painters.a/b.size: no such field; choose from: access, kind, "),
        ("[provider.x]\nbase_url = 1", "provider: no such field; choose from: providers, models, painters"),
        (
            "[providers.openai]\nrequests_per_minute = 0",
            "providers.openai.requests_per_minute: Input should be greater",
        ),
        ("[providers.openai]\ntimeout_s = -1", "providers.openai.timeout_s: Input should be greater than 0"),
        (
            "[providers.openai]\nimage_shape = 'odd'",
            "providers.openai.image_shape: no image service 'odd'; choose",
        ),
        ('[models."a/b"]\ninput_price = -1', "models.a/b.input_price: Input should be greater than or equal to 0"),
        ('[models."a/b"]\ninput_price = nan', "models.a/b.input_price: Input should be greater than or equal to 0"),
        ('[painters."a/b"]\nimage_price = "free"', "painters.a/b.image_price: Input should be a valid number"),
        ('[painters."a/b"]\nsizes.round = "1x1"', "painters.a/b.sizes.round.[key]: Input should be 'square'"),
    ],
)
def test_wrong_field_is_reported_by_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / settings.OWN
    path.write_text(text, "utf-8")
    result = limner("draw", "sample/genexam", "--painter", "control/blank", code=1)
    assert result.err.startswith(f"limner: {path}: {message}")
    assert result.err.count("\n") == 1
    assert "sk-canary" not in result.err
