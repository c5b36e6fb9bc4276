"""Services that settings describe: the shipped ones in the shape of their documentation, and one's own."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Budget, BudgetReached, Calls, Fault
from limner.core.errors import DataError, UsageError
from limner.core.exam import Exam
from limner.core.settings import Settings, load, load_shipped
from limner.core.wire import RewriteSwitch
from limner.evidence.probe import OcrProbe
from limner.painters import open_painter
from limner.painters.base import Painting, PaintRequest
from limner.store import Store
from tests.fakes import described
from tests.fakes.described import B64, BAD, KEY, PICTURE, replicate
from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server
from tests.needs import sdk
from tests.support import picture

QUICK = {"poll_pause_s": 0.001, "poll_limit_s": 10}
_LOOP = asyncio.Runner()


def known(service: WireServer, **rows: Any) -> Settings:
    """The shipped settings with every service at the fake's address."""
    data = load_shipped()
    for name in (*(name for name in data["painters"] if "/" not in name), "azure", "vertex"):
        whole = data["providers"][name]["base_url"]
        data["providers"][name]["base_url"] = (
            service.root + "/" + whole.split("/", 3)[-1] if whole.count("/") > 2 else service.root
        )
    data["painters"] |= rows
    return Settings.model_validate(data)


def made(word: str, settings: Settings, store: Store, options: dict[str, Any] | None = None) -> Any:
    exam: Exam[Any] = Exam("none", "genexam", ())
    jobs = settings.provider(word.partition("/")[0]).image_shape == "declared-jobs"
    return open_painter(word, exam, store.blobs, OcrProbe(), settings, {**(QUICK if jobs else {}), **(options or {})})


def paint(painter: Any, store: Store, prompt: str = "A leaf.", *, budget: float | None = None, **more: Any) -> Painting:
    async def run() -> Painting:
        async with Calls(store, budget=None if budget is None else Budget(budget), tries=2) as calls:
            calls._wait = lambda _tries: 0.0
            found: Painting = await painter.paint(PaintRequest("q", prompt, **more), calls)
            return found

    return _LOOP.run(run())


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (
        "ARK", "BYTEPLUS", "XAI", "TOKENHUB", "LUMA_AGENTS", "RECRAFT", "REVE", "KREA", "IDEOGRAM", "TOGETHER",
        "AZURE_OPENAI", "AZURE_FOUNDRY", "VERTEX",
    )  # fmt: skip
    for name in (*(f"{name}_API_KEY" for name in names), "REPLICATE_API_TOKEN", "REVE_API_TOKEN", "FAL_KEY", "OWN_KEY"):
        monkeypatch.setenv(name, KEY)


def always(*replies: Answer) -> Callable[[WireServer, Asked], Answer]:
    """The replies one after another, the last again and again."""
    return lambda service, _asked: replies[min(len(service.asked), len(replies)) - 1]


def test_seedream_draws_and_edits(store: Store) -> None:
    shown = store.blobs.put(picture(1))[0]
    with wire_server(described.ark) as service:
        painter = made("ark/doubao-seedream-4-5-251128", known(service), store, {"output_format": "png"})
        assert paint(painter, store).image == PICTURE
        paint(painter, store, images=(shown,), inputs=(shown,))
        (drawn, edited) = service.asked
        newest = made("ark/doubao-seedream-5-5-261028", known(service), store)
        assert (painter.most_pictures, newest.most_pictures) == (14, 10)
    assert (drawn.path, drawn.headers["authorization"]) == ("/api/v3/images/generations", f"Bearer {KEY}")
    assert drawn.body == {
        "model": "doubao-seedream-4-5-251128",
        "prompt": "A leaf.",
        "size": "2048x2048",
        "response_format": "b64_json",
        "watermark": False,
        "output_format": "png",
        "optimize_prompt_options": {"thinking": "disabled"},
    }
    url = "data:image/png;base64," + base64.b64encode(picture(1)).decode()
    del drawn.body["optimize_prompt_options"]
    assert edited.body == drawn.body | {"image": [url, url]}


AT_ONCE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "byteplus/seedream-5-5-261028": (
        "/api/v3/images/generations",
        {
            "size": "2048x2048", "response_format": "b64_json", "watermark": False,
            "optimize_prompt_options": {"thinking": "disabled"},
        },
        {"data": [{"b64_json": B64}]},
    ),
    "xai/grok-imagine-image-2.0": (
        "/v1/images/generations",
        {"n": 1, "aspect_ratio": "1:1", "resolution": "1k", "response_format": "b64_json"},
        {"data": [{"b64_json": B64, "revised_prompt": "A leaf.", "respect_moderation": True}]},
    ),
    "recraft/recraftv4_1": (
        "/v1/images/generations",
        {"n": 1, "size": "1024x1024", "response_format": "b64_json"},
        {"data": [{"b64_json": B64}]},
    ),
    "foundry/MAI-Image-2.6": (
        "/mai/v1/images/generations",
        {"width": 1024, "height": 1024},
        {"data": [{"b64_json": B64}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("spec", AT_ONCE)
def test_service_that_answers_at_once(store: Store, spec: str) -> None:
    path, fields, reply = AT_ONCE[spec]
    with wire_server(always((200, reply))) as service:
        assert paint(made(spec, known(service), store), store).image == PICTURE
        (asked,) = service.asked
    assert asked.path == path
    assert asked.headers["api-key" if spec.startswith("foundry") else "authorization"].endswith(KEY)
    assert asked.body == {"model": spec.partition("/")[2], "prompt": "A leaf.", **fields}


@pytest.mark.parametrize(
    ("spec", "reply"),
    [
        ("reve/2.1", {"image": "", "content_violation": True}),
        ("xai/grok-imagine-image-2.0", {"data": [{"b64_json": B64, "respect_moderation": False}]}),
    ],
)
def test_reply_that_says_the_image_was_blocked_is_a_refusal(store: Store, spec: str, reply: dict[str, Any]) -> None:
    with wire_server(always((200, reply))) as service, pytest.raises(Fault) as raised:
        paint(made(spec, known(service), store), store)
    assert raised.value.kind == "refusal"


def test_reve_sends_its_version(store: Store) -> None:
    with wire_server(always((200, {"image": B64, "content_violation": False}))) as service:
        assert paint(made("reve/2.1", known(service), store), store).image == PICTURE
        (asked,) = service.asked
    assert (asked.path, asked.headers["accept"]) == ("/v2/image/create", "application/json")
    assert asked.body == {"prompt": "A leaf.", "aspect_ratio": "1:1", "version": "latest"}


def test_tencent_takes_a_message(store: Store) -> None:
    def answer(service: WireServer, asked: Asked) -> Answer:
        if asked.path == "/i.png":
            return 200, PICTURE
        return 200, {"choices": [{"delta": {"image": {"url": f"{service.root}/i.png", "width": 1024}}}]}

    with wire_server(answer) as service:
        assert paint(made("tencent/hy-image-v3.5-preview", known(service), store), store, seed=4).image == PICTURE
        asked = service.asked[0]
    assert asked.path == "/v1/wand/hunyuan-image/v35-generation"
    message = {"role": "user", "content": [{"type": "text", "text": "A leaf."}]}
    assert asked.body == {"model": "hy-image-v3.5-preview", "messages": [message], "size": "1024x1024", "seed": 4}


@pytest.mark.parametrize(
    ("spec", "paths", "started", "ended"),
    [
        (
            "luma/uni-1",
            ["/v1/generations", "/v1/generations/j1"],
            {"id": "j1", "state": "queued"},
            {"id": "j1", "state": "completed", "output": [{"type": "image", "url": "ROOT/i.png"}]},
        ),
        (
            "krea/krea-2/large",
            ["/generate/image/krea/krea-2/large", "/jobs/j1"],
            {"job_id": "j1", "status": "queued"},
            {"job_id": "j1", "status": "completed", "result": {"urls": ["ROOT/i.png"]}},
        ),
    ],
)
def test_luma_and_krea_draw_as_jobs(
    store: Store, spec: str, paths: list[str], started: dict[str, Any], ended: dict[str, Any]
) -> None:
    def answer(service: WireServer, asked: Asked) -> Answer:
        if asked.path == "/i.png":
            return 200, PICTURE
        if asked.method == "POST":
            return 200, started
        return 200, json.loads(json.dumps(ended).replace("ROOT", service.root))

    with wire_server(answer) as service:
        assert paint(made(spec, known(service), store), store).image == PICTURE
        assert [one.path for one in service.asked] == [*paths, "/i.png"]
        assert service.sent()[0]["prompt"] == "A leaf."


def test_ideogram_takes_forms(store: Store) -> None:
    with wire_server(described.ideogram) as service:
        settings = known(service)
        painter = made("ideogram/v4", settings, store, {"rendering_speed": "TURBO"})
        drawn = paint(painter, store, aspect="landscape")
        assert (drawn.image, drawn.prompt_sent) == (PICTURE, "A green leaf.")
        assert drawn.notes["prompt_rewritten"] is True
        for prompt, message in ((BAD, "failed safety check"), ("Unsafe.", "false")):
            with pytest.raises(Fault, match=message) as raised:
                paint(painter, store, prompt)
            assert raised.value.kind == "refusal"
        paint(made("ideogram/v3", settings, store), store, aspect="portrait")
        first, link = service.asked[:2]
    assert first.path == "/v1/ideogram-v4/generate"
    assert first.headers["api-key"] == KEY
    assert first.headers["content-type"].startswith("multipart/form-data")
    assert first.body == {"text_prompt": "A leaf.", "resolution": "2496x1664", "rendering_speed": "TURBO"}
    assert service.sent()[-1] == {"prompt": "A leaf.", "aspect_ratio": "2x3", "num_images": "1", "magic_prompt": "OFF"}
    assert "api-key" not in link.headers


def test_ideograms_newest_model_edits(store: Store) -> None:
    shown = store.blobs.put(picture(1))[0]
    with wire_server(described.ideogram) as service:
        painter = made("ideogram/4-5", known(service), store, {"quality": "low"})
        assert paint(painter, store, images=(shown, shown)).image == PICTURE
        asked = service.asked[0]
    assert asked.path == "/v2/image/generate/ideogram-4-5"
    assert asked.body.pop("images") == [picture(1), picture(1)]
    asked.body.pop("quality")
    assert asked.body == {"prompt": "A leaf.", "size": "2048x2048", "num_images": "1", "magic_prompt": "off"}


def test_replicate_predictions_are_polled(store: Store) -> None:
    with wire_server(replicate) as service:
        options = {"output_format": "png", "go_fast": True}
        painter = made("replicate/black-forest-labs/flux-dev", known(service), store, options)
        assert paint(painter, store).image == PICTURE
        assert [one.path for one in service.asked] == [
            "/v1/models/black-forest-labs/flux-dev/predictions",
            "/v1/predictions/abc",
            "/v1/predictions/abc",
            "/out.png",
        ]
        (body,) = service.sent()
        assert body == {"input": {"prompt": "A leaf.", "aspect_ratio": "1:1", "output_format": "png", "go_fast": True}}
        assert ["authorization" in one.headers for one in service.asked] == [True, True, True, False]


def test_failed_prediction_reports_its_error(store: Store) -> None:
    with wire_server(replicate) as service, pytest.raises(Fault) as raised:
        paint(made("replicate/a/b", known(service), store), store, BAD)
    assert raised.value.kind == "refusal"
    assert "flagged" in raised.value.detail


@pytest.mark.parametrize("state", ["failed", "canceled", "aborted"])
def test_prediction_without_image_is_a_fault(store: Store, state: str) -> None:
    """As an address below the service's own too."""

    def answer(service: WireServer, asked: Asked) -> Answer:
        done = asked.method == "GET"
        return 200, {"id": "abc", "status": state if done else "starting", "error": None, "urls": {"get": "/"}}

    with wire_server(answer) as service:
        settings = known(service)
        wire = settings.wires["replicate"].model_copy(update={"poll": "/predictions/{id}"})
        settings = settings.model_copy(update={"wires": {**settings.wires, "replicate": wire}})
        with pytest.raises(Fault, match=f"{state}: no reason given") as raised:
            paint(made("replicate/a/b", settings, store), store)
    assert raised.value.kind == "server"


def test_fal_result_is_fetched_from_response_url(store: Store) -> None:
    with wire_server(described.fal) as service:
        assert paint(made("fal/fal-ai/flux/dev", known(service), store), store, seed=3).image == PICTURE
        (body,) = service.sent()
        assert body == {"prompt": "A leaf.", "image_size": {"width": 1024, "height": 1024}, "seed": 3}
        assert service.asked[0].headers["authorization"] == f"Key {KEY}"
        assert service.asked[-2].path == "/fal-ai/flux/requests/r1"
    with wire_server(described.fal) as service, pytest.raises(Fault) as raised:
        paint(made("fal/fal-ai/flux/dev", known(service), store), store, BAD)
    assert raised.value.kind == "refusal"


def test_fal_bagel_is_sent_no_size_and_thinks_on_demand(store: Store) -> None:
    with wire_server(described.fal) as service:
        paint(made("fal/fal-ai/bagel", known(service), store), store, seed=3)
        paint(made("fal/fal-ai/bagel", known(service), store, {"use_thought": True}), store, seed=3)
        plain, thinking = service.sent()
    assert plain == {"prompt": "A leaf.", "seed": 3}
    assert thinking == {**plain, "use_thought": True}


def test_unreported_rewriting_by_service_is_noted_on_drawing(store: Store) -> None:
    with wire_server(described.fal) as service:
        settings = known(service).model_copy(update={"rewrites": {"fal": {"*": RewriteSwitch(always=True)}}})
        drawn = paint(made("fal/fal-ai/flux/dev", settings, store), store)
    assert (drawn.prompt_sent, drawn.notes["prompt_rewritten"]) == ("A leaf.", True)


def test_together_draws_and_reports_refusal(store: Store) -> None:
    with wire_server(described.together) as service:
        painter = made("together/black-forest-labs/FLUX.2-pro", known(service), store, {"steps": 4})
        assert paint(painter, store, seed=5, aspect="portrait").image == PICTURE
        (asked,) = service.asked
        with pytest.raises(Fault, match="safety checker") as raised:
            paint(painter, store, BAD)
    assert raised.value.kind == "refusal"
    assert asked.path == "/v1/images/generations"
    assert asked.body == {
        "model": "black-forest-labs/FLUX.2-pro",
        "prompt": "A leaf.",
        "n": 1,
        "width": 1024,
        "height": 1536,
        "seed": 5,
        "response_format": "base64",
        "steps": 4,
    }


def test_azure_gets_key_header_and_api_version(store: Store) -> None:
    with wire_server(always((200, {"created": 1, "data": [{"b64_json": B64}]}))) as service:
        assert paint(made("azure/my-deployment", known(service), store), store).image == PICTURE
        (asked,) = service.asked
    assert asked.path == "/openai/v1/images/generations?api-version=preview"
    assert asked.headers["api-key"] == KEY
    assert "authorization" not in asked.headers
    assert asked.body["model"] == "my-deployment"


def test_vertex_uses_gemini_format(store: Store) -> None:
    with wire_server(described.vertex) as service:
        assert paint(made("vertex/gemini-3-pro-image", known(service), store), store).image == PICTURE
        (asked,) = service.asked
    assert asked.path == "/v1/publishers/google/models/gemini-3-pro-image:generateContent"
    assert asked.headers["x-goog-api-key"] == KEY


def test_comfyui_runs_a_graph(store: Store) -> None:
    with wire_server(described.comfyui) as service:
        painter = made("comfyui/sd_xl_base_1.0.safetensors", known(service), store, {"steps": 12})
        drawn = paint(painter, store, seed=9)
        assert (drawn.image, drawn.cost) == (PICTURE, 0.0)
        paths = [one.path for one in service.asked]
        (body,) = service.sent()
    assert paths == ["/prompt", "/history/p-1", "/history/p-1", "/view?filename=limner%201.png&subfolder=&type=output"]
    graph = body["prompt"]
    assert graph["4"]["inputs"]["ckpt_name"] == "sd_xl_base_1.0.safetensors"
    assert (graph["3"]["inputs"]["seed"], graph["3"]["inputs"]["steps"]) == (9, 12)
    assert graph["6"]["inputs"]["text"] == "A leaf."
    with wire_server(described.comfyui) as service, pytest.raises(Fault, match="out of memory") as raised:
        paint(made("comfyui/m.safetensors", known(service), store), store, "Crash.")
    assert raised.value.kind == "server"


OWN = """
[painters.own]
base_url = "ROOT"
key_env = "OWN_KEY"
key_header = "X-Own-Key: {key}"
submit = "/draw/{model}"
headers = { X-Version = "2" }
body = { text = "{prompt}", shape = "{size}" }
options = ["style"]
image = "picture"
sizes = { square = "S" }
image_price = 0.02
prompt_limit = 20
over_limit = "refused"
"""


def own(service: WireServer, tmp_path: Path, text: str = OWN) -> Settings:
    file = tmp_path / "limner.toml"
    file.write_text(text.replace("ROOT", service.root), "utf-8")
    return load(file)


def test_user_defined_service(store: Store, tmp_path: Path) -> None:
    with wire_server(always((200, {"picture": B64}))) as service:
        painter = made("own/m-1", own(service, tmp_path), store, {"style": "ink"})
        first, again = paint(painter, store), paint(painter, store)
        assert (first.image, first.cost, first.calls) == (PICTURE, 0.02, again.calls)
        (asked,) = service.asked
        with pytest.raises(Fault, match="takes at most 20"):
            paint(painter, store, "A leaf with very many words.")
        with pytest.raises(BudgetReached):
            paint(painter, store, "Another.", budget=0.01)
        with pytest.raises(UsageError, match="has no option 'stile'; it has: size, style"):
            made("own/m-1", own(service, tmp_path), store, {"stile": "ink"})
    assert (asked.path, asked.headers["x-own-key"], asked.headers["x-version"]) == ("/draw/m-1", KEY, "2")
    assert asked.body == {"text": "A leaf.", "shape": "S", "style": "ink"}


def test_model_facts_override_service_facts(store: Store, tmp_path: Path) -> None:
    with wire_server(always((200, {"picture": B64}))) as service:
        settings = own(service, tmp_path, OWN + '\n[painters."own/dear"]\nimage_price = 0.5\n')
    assert (settings.painter("own/dear").image_price, settings.painter("own/dear").prompt_limit) == (0.5, 20)
    assert settings.painter("own/other").image_price == 0.02


def test_job_is_polled_and_paid_once(store: Store) -> None:
    def answer(service: WireServer, asked: Asked) -> Answer:
        gets = sum(one.method == "GET" for one in service.asked)
        return (503, {"error": "busy"}) if gets <= 2 and asked.method == "GET" else replicate(service, asked)

    with wire_server(answer) as service:
        painter = made("replicate/a/b", known(service), store, {"poll_limit_s": 0.0})
        # Each try gives up at once; the next goes on with the same job.
        with pytest.raises(Fault, match="polls the same job"):
            paint(painter, store)
        assert paint(made("replicate/a/b", known(service), store), store).image == PICTURE
        assert len(service.sent()) == 1


def test_key_is_not_sent_to_other_hosts(store: Store) -> None:
    urls = {"get": "http://localhost:9/v1/predictions/abc"}
    with wire_server(always((201, {"id": "abc", "status": "starting", "urls": urls}))) as service:
        with pytest.raises(Fault, match=r"which is not an allowed host: 127\.0\.0\.1"):
            paint(made("replicate/a/b", known(service), store), store)
        assert len(service.asked) == 1


def test_key_repeated_in_error_is_not_stored(store: Store, tmp_path: Path) -> None:
    with (
        wire_server(always((400, {"error": {"message": f"bad key {KEY}"}}))) as service,
        pytest.raises(Fault) as raised,
    ):
        paint(made("own/m", own(service, tmp_path), store), store)
    assert KEY not in raised.value.detail


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('submit = "/draw/{model}"', ""), "painters.own.submit: Field required"),
        (("{prompt}", "{promt}"), "painters.own.body: {promt} cannot be filled; choose from: height, model"),
        (('text = "{prompt}", ', ""), "body: it has no {prompt}: write that where the prompt goes"),
        (('X-Version = "2"', 'Authorization = "Bearer abc"'), "painters.own.headers: Authorization is a key: name its"),
        (('"X-Own-Key: {key}"', '"X-Own-Key: abc"'), "providers.own.key_header"),
        (("image_price = 0.02", 'done = ["ok"]'), "state: done and failed need the path"),
        (("image_price = 0.02", 'edit = { field = "a" }'), "painters.own.edit"),
        (("image_price = 0.02", "models = { x = { submit = 3 } }"), "models.x.submit: Input should be a valid string"),
    ],
)
def test_wrong_description_is_reported_with_file_and_field(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    file = tmp_path / "limner.toml"
    file.write_text(OWN.replace("ROOT", "http://127.0.0.1:9").replace(*change), "utf-8")
    with pytest.raises(DataError) as raised:
        load(file)
    assert message in str(raised.value)
    assert "limner.toml" in str(raised.value)
    assert "abc" not in str(raised.value)


def sent_alike(service: WireServer) -> None:
    """The SDK's request and ours are the same, field by field; what is null says nothing."""
    theirs, ours = (one for one in service.asked if one.method == "POST")
    said = {name: value for name, value in theirs.body.items() if value is not None}
    assert (ours.path, ours.body) == (theirs.path, said)
    for header in ("authorization", "api-key", "x-goog-api-key"):
        assert ours.headers.get(header) == theirs.headers.get(header)


def test_request_matches_replicate_client(store: Store) -> None:
    package = sdk("replicate", "replicate")
    with wire_server(described.replicate) as service:
        client = package.Client(api_token=KEY, base_url=service.root)
        client.poll_interval = 0.01
        asking = {"prompt": "A leaf.", "aspect_ratio": "1:1", "go_fast": True}
        (output,) = client.run("black-forest-labs/flux-dev", input=asking, wait=False)
        assert output == f"{service.root}/out.png"
        drawn = paint(made("replicate/black-forest-labs/flux-dev", known(service), store, {"go_fast": True}), store)
        assert drawn.image == PICTURE
        sent_alike(service)
        with pytest.raises(package.exceptions.ModelError, match="flagged as sensitive"):
            client.run("a/b", input={"prompt": BAD}, wait=False)


def test_request_matches_fal_client(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    package = sdk("fal_client.client", "fal-client")
    asking = {"prompt": "A leaf.", "image_size": {"width": 1024, "height": 1024}, "seed": 3}
    with wire_server(described.fal) as service:
        monkeypatch.setattr(package, "QUEUE_URL_FORMAT", f"{service.root}/")
        client = package.SyncClient(key=KEY)
        handle = client.submit("fal-ai/flux/dev", arguments=asking)
        reply = handle.get()
        assert (reply["images"][0]["url"], reply["seed"]) == (f"{service.root}/i.png", 3)
        assert paint(made("fal/fal-ai/flux/dev", known(service), store), store, seed=3).image == PICTURE
        sent_alike(service)
        refused = client.submit("fal-ai/flux/dev", arguments={"prompt": BAD})
        with pytest.raises(package.FalClientHTTPError, match="flagged by a content checker"):
            refused.get()


@pytest.mark.slow
def test_request_matches_together_client(store: Store) -> None:
    package = sdk("together", "together")
    asking: dict[str, Any] = {"model": "black-forest-labs/FLUX.1-schnell", "n": 1, "width": 1024, "height": 1536}
    with wire_server(described.together) as service:
        client = package.Together(api_key=KEY, base_url=service.root, max_retries=0)
        reply = client.images.generate(prompt="A leaf.", **asking, seed=5, steps=4, response_format="base64")
        assert (reply.data[0].type, reply.data[0].b64_json) == ("b64_json", B64)
        painter = made("together/black-forest-labs/FLUX.1-schnell", known(service), store, {"steps": 4})
        assert paint(painter, store, seed=5, aspect="portrait").image == PICTURE
        sent_alike(service)
        with pytest.raises(package.UnprocessableEntityError, match="safety checker"):
            client.images.generate(prompt=BAD, **asking)


@pytest.mark.slow
def test_request_matches_ark_client(store: Store) -> None:
    package = sdk("volcenginesdkarkruntime", "volcengine-ark-runtime")
    url = "data:image/png;base64," + base64.b64encode(picture(1)).decode()
    with wire_server(described.ark) as service:
        client = package.Ark(api_key=KEY, base_url=f"{service.root}/api/v3", max_retries=0)
        how = {"model": "doubao-seedream-4-5-251128", "size": "2048x2048", "watermark": False}
        reply = client.images.generate(prompt="A leaf.", image=[url, url], response_format="b64_json", **how)
        assert (reply.data[0].b64_json, reply.data[0].size) == (B64, "2048x2048")
        assert reply.usage.generated_images == 1
        shown = store.blobs.put(picture(1))[0]
        painter = made("ark/doubao-seedream-4-5-251128", known(service), store)
        assert paint(painter, store, images=(shown, shown)).image == PICTURE
        sent_alike(service)
        with pytest.raises(package._exceptions.ArkBadRequestError, match="sensitive information"):
            client.images.generate(prompt=BAD, **how)


@pytest.mark.slow
def test_request_matches_byteplus_client(store: Store) -> None:
    package = sdk("byteplussdkarkruntime", "byteplus-python-sdk-v2")
    with wire_server(described.ark) as service:
        client = package.Ark(api_key=KEY, base_url=f"{service.root}/api/v3", max_retries=0)
        how = {"model": "seedream-5-5-261028", "size": "2048x2048", "watermark": False}
        off = {"optimize_prompt_options": {"thinking": "disabled"}}
        reply = client.images.generate(prompt="A leaf.", response_format="b64_json", **how, extra_body=off)
        assert (reply.data[0].b64_json, reply.usage.generated_images) == (B64, 1)
        assert paint(made("byteplus/seedream-5-5-261028", known(service), store), store).image == PICTURE
        sent_alike(service)
        with pytest.raises(package._exceptions.ArkBadRequestError, match="sensitive information"):
            client.images.generate(prompt=BAD, **how)


def test_request_matches_luma_client(store: Store) -> None:
    package = sdk("luma_agents", "luma-agents")
    about = {"id": "j1", "created_at": "2026-11-18T00:00:00Z", "model": "uni-1", "type": "image"}

    def answer(service: WireServer, asked: Asked) -> Answer:
        if asked.path == "/i.png":
            return 200, PICTURE
        if asked.method == "POST":
            refused = asked.body["prompt"] == BAD
            return 201, about | {"state": "queued", "id": "j2" if refused else "j1"}
        if asked.path.endswith("j2"):
            why = {"failure_code": "content_moderated", "failure_reason": "The prompt was moderated."}
            return 200, about | {"id": "j2", "state": "failed"} | why
        return 200, about | {"state": "completed", "output": [{"type": "image", "url": f"{service.root}/i.png"}]}

    with wire_server(answer) as service:
        client = package.Luma(auth_token=KEY, base_url=f"{service.root}/v1", max_retries=0)
        how = {"model": "uni-1", "type": "image", "aspect_ratio": "1:1", "output_format": "png"}
        job = client.generations.create(prompt="A leaf.", **how)
        ended = client.generations.get(job.id)
        assert (ended.state, ended.output[0].url) == ("completed", f"{service.root}/i.png")
        painter = made("luma/uni-1", known(service), store)
        assert paint(painter, store).image == PICTURE
        sent_alike(service)
        refused = client.generations.get(client.generations.create(prompt=BAD, **how).id)
        assert (refused.state, refused.failure_code) == ("failed", "content_moderated")
        with pytest.raises(Fault, match="moderated") as raised:
            paint(painter, store, BAD)
        assert raised.value.kind == "refusal"


def test_request_matches_reve_client(store: Store) -> None:
    package = sdk("reve", "reve")
    draw = sdk("reve.v2.image", "reve").create

    def answer(_service: WireServer, asked: Asked) -> Answer:
        refused = asked.body["prompt"] == BAD
        reply = {"image": "" if refused else B64, "content_violation": refused, "layout": None, "version": "latest"}
        return 200, reply | {"request_id": "r1", "credits_used": 1, "credits_remaining": 9}

    with wire_server(answer) as service:
        client = package.ReveClient(api_token=KEY, api_url=service.root)
        assert draw("A leaf.", aspect_ratio="1:1", version="latest", client=client).request_id == "r1"
        painter = made("reve/2.1", known(service), store)
        assert paint(painter, store).image == PICTURE
        sent_alike(service)
        with pytest.raises(package.exceptions.ReveContentViolationError):
            draw(BAD, client=client)
        with pytest.raises(Fault) as raised:
            paint(painter, store, BAD)
        assert raised.value.kind == "refusal"


@pytest.mark.parametrize(
    ("spec", "how", "more"),
    [
        ("xai/grok-imagine-image-2.0", {}, {"aspect_ratio": "1:1", "resolution": "1k"}),
        ("recraft/recraftv4_1", {"size": "1024x1024"}, {}),
    ],
)
def test_request_matches_openai_client(store: Store, spec: str, how: dict[str, Any], more: dict[str, Any]) -> None:
    """Both services document OpenAI's client; the client of xAI itself speaks gRPC."""
    package = sdk("openai", "openai")
    with wire_server(always((200, {"created": 1, "data": [{"b64_json": B64}]}))) as service:
        client = package.OpenAI(base_url=f"{service.root}/v1", api_key=KEY, max_retries=0)
        model = spec.partition("/")[2]
        reply = client.images.generate(
            prompt="A leaf.", model=model, n=1, response_format="b64_json", **how, extra_body=more
        )
        assert reply.data[0].b64_json == B64
        assert paint(made(spec, known(service), store), store).image == PICTURE
        sent_alike(service)


def test_request_matches_vertex_client(store: Store) -> None:
    package = sdk("google.genai", "google-genai")
    with wire_server(described.vertex) as service:
        where = {"base_url": service.root, "api_version": "v1"}
        client = package.Client(vertexai=True, api_key=KEY, http_options=where)
        how = {"response_modalities": ["IMAGE"], "seed": 0, "image_config": {"aspect_ratio": "1:1"}}
        reply = client.models.generate_content(model="gemini-3-pro-image", contents="A leaf.", config=how)
        (part,) = reply.candidates[0].content.parts
        assert (part.inline_data.data, part.inline_data.mime_type) == (PICTURE, "image/png")
        assert paint(made("vertex/gemini-3-pro-image", known(service), store), store).image == PICTURE
        theirs, ours = service.asked
        assert (ours.path, ours.body["contents"]) == (theirs.path, theirs.body["contents"])
        assert set(ours.body["generationConfig"]) <= {"responseModalities", "seed", "imageConfig"}
        refused = client.models.generate_content(model="gemini-3-pro-image", contents=BAD)
        assert refused.prompt_feedback.block_reason == "PROHIBITED_CONTENT"


@pytest.mark.parametrize(("name", "fake"), [("vllm-omni", described.vllm_omni), ("sglang", described.sglang)])
def test_request_to_open_servers_matches_openai_client(store: Store, name: str, fake: Any) -> None:
    """Both document OpenAI's client."""
    package = sdk("openai", "openai")
    with wire_server(fake) as service:
        client = package.OpenAI(base_url=f"{service.root}/v1", api_key="none", max_retries=0)
        how = {"model": "Qwen/Qwen-Image", "n": 1, "size": "1024x1024", "response_format": "b64_json"}
        reply = client.images.generate(prompt="A leaf.", **how, extra_body={"seed": 5, "num_inference_steps": 20})
        assert reply.data[0].b64_json == B64
        painter = made(f"{name}/Qwen/Qwen-Image", known(service), store, {"num_inference_steps": 20})
        drawn = paint(painter, store, seed=5)
        assert (drawn.image, drawn.cost) == (PICTURE, 0.0)
        theirs, ours = service.asked
        assert (ours.path, ours.body) == (theirs.path, theirs.body)
        file = ("1.png", picture(1), "image/png")
        edited = client.images.edit(image=[file, file], prompt="A leaf.", **how, extra_body={"seed": 5})
        assert edited.data[0].b64_json == B64
        shown = store.blobs.put(picture(1))[0]
        plain = made(f"{name}/Qwen/Qwen-Image", known(service), store)
        assert paint(plain, store, seed=5, images=(shown, shown)).image == PICTURE
        theirs, ours = service.asked[2:]
        assert ours.path == theirs.path == "/v1/images/edits"
        pictures = theirs.body.pop("image[]")
        assert ours.body == theirs.body | {"image": pictures}
        with pytest.raises(Fault, match="Invalid size format") as raised:
            paint(made(f"{name}/m", known(service), store, {"size": "large"}), store)
        assert raised.value.kind == "bad_request"
