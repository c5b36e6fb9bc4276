"""The fakes of described services, driven through the vendors' own SDKs: what those send is taken, and read whole.

Limner's painter then asks the same fake the same thing, and says so in the same fields.
"""

from __future__ import annotations

import base64
from typing import Any

import pytest

from limner.calls import Fault
from limner.store import Store
from tests.fakes import described
from tests.fakes.described import B64, BAD, KEY, PICTURE
from tests.fakes.wire_server import WireServer, wire_server
from tests.needs import sdk
from tests.painters.test_declared import known, made, paint
from tests.support import picture


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARK_API_KEY", "TOGETHER_API_KEY", "AZURE_OPENAI_API_KEY", "VERTEX_API_KEY", "FAL_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("REPLICATE_API_TOKEN", KEY)


def sent_alike(service: WireServer) -> None:
    """The SDK's request and ours are the same, field by field; what is null says nothing."""
    theirs, ours = (one for one in service.asked if one.method == "POST")
    said = {name: value for name, value in theirs.body.items() if value is not None}
    assert (ours.path, ours.body) == (theirs.path, said)
    for header in ("authorization", "api-key", "x-goog-api-key"):
        assert ours.headers.get(header) == theirs.headers.get(header)


def test_replicate(store: Store) -> None:
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


def test_fal(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_together(store: Store) -> None:
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
def test_ark(store: Store) -> None:
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


def test_vertex(store: Store) -> None:
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
def test_open_servers(store: Store, name: str, fake: Any) -> None:
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
