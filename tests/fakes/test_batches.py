"""The fake batch services, driven through the vendors' own SDKs: what those send is taken, and read whole."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.batches import BatchServer
from tests.fakes.test_sdk import PROMPT
from tests.needs import sdk
from tests.support import picture

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


def lines(*bodies: dict[str, Any], url: str = "/v1/chat/completions") -> bytes:
    rows = [{"custom_id": f"c{n}", "method": "POST", "url": url, "body": body} for n, body in enumerate(bodies)]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def chat(text: str) -> dict[str, Any]:
    return {"model": "judge", "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}


def test_openai(service: BatchServer) -> None:
    package = sdk("openai", "openai")
    service.reset()
    service.configure(looks=1)
    client = package.OpenAI(base_url=service.base_url, api_key="none", max_retries=0)
    file = client.files.create(
        file=("in.jsonl", lines(chat(PROMPT), chat("Hello.")), "application/jsonl"), purpose="batch"
    )
    how = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
    batch = client.batches.create(input_file_id=file.id, metadata={"limner": "t"}, **how)
    assert (batch.status, batch.metadata) == ("in_progress", {"limner": "t"})
    assert [one.id for one in client.batches.list(limit=1)] == [batch.id]
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.request_counts.completed) == ("completed", 2)
    found = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    assert {row["custom_id"] for row in found} == {"c0", "c1"}
    assert found[0]["response"]["body"]["usage"]["prompt_tokens"] > 0
    assert client.files.delete(file.id).deleted
    # Nothing comes of a file that is gone.
    with pytest.raises(package.BadRequestError):
        client.batches.create(input_file_id=file.id, **how)
    assert service.bill()["paid"] == {"c0": 1, "c1": 1}


def test_openai_cancels_and_edits_by_json(service: BatchServer) -> None:
    package = sdk("openai", "openai")
    service.reset()
    service.configure(looks=1)
    client = package.OpenAI(base_url=service.base_url, api_key="none", max_retries=0)
    url = f"data:image/png;base64,{base64.b64encode(picture(1)).decode()}"
    edit = {"model": "gpt-image-1", "prompt": "A leaf.", "n": 1, "images": [{"image_url": url}]}
    data = lines(edit, {**edit, "prompt": "A tree."}, url="/v1/images/edits")
    file = client.files.create(file=("in.jsonl", io.BytesIO(data), "application/jsonl"), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/images/edits", completion_window="24h")
    batch = client.batches.cancel(batch.id)
    assert batch.status == "cancelled"
    (row,) = (json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines())
    assert row["response"]["body"]["data"][0]["b64_json"]
    (row,) = (json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines())
    assert (row["response"], row["error"]["code"]) == (None, "batch_cancelled")
    assert service.bill()["paid"] == {"c0": 1}


def test_google(service: BatchServer) -> None:
    package = sdk("google.genai", "google-genai")
    service.reset()
    service.configure(looks=1)
    root = service.gemini_url.removesuffix("/v1beta")
    client = package.Client(api_key="none", http_options={"base_url": root, "api_version": "v1beta"})
    contents = [{"role": "user", "parts": [{"text": "Hello."}]}]
    asked = [{"contents": contents, "metadata": {"key": f"g{n}"}} for n in range(2)]
    job = client.batches.create(model="gemini-3.8-flash", src=asked, config={"display_name": "limner-a"})
    assert (job.display_name, job.state.name) == ("limner-a", "JOB_STATE_RUNNING")
    job = client.batches.get(name=job.name)
    assert job.state.name == "JOB_STATE_SUCCEEDED"
    texts = [one.response.candidates[0].content.parts[0].text for one in job.dest.inlined_responses]
    assert len(texts) == 2
    rows = [{"key": f"f{n}", "request": {"contents": contents}} for n in range(2)]
    data = io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode())
    file = client.files.upload(file=data, config={"mime_type": "application/jsonl", "display_name": "in"})
    job = client.batches.create(model="gemini-3.8-flash", src=file.name, config={"display_name": "limner-b"})
    job = client.batches.get(name=job.name)
    found = [json.loads(line) for line in client.files.download(file=job.dest.file_name).decode().splitlines()]
    assert {row["key"] for row in found} == {"f0", "f1"}
    assert {one.display_name for one in client.batches.list(config={"page_size": 1})} == {"limner-a", "limner-b"}
    assert service.bill()["paid"] == {"g0": 1, "g1": 1, "f0": 1, "f1": 1}


def test_anthropic(service: BatchServer) -> None:
    package = sdk("anthropic", "anthropic")
    service.reset()
    service.configure(looks=1, page=1)
    client = package.Anthropic(base_url=service.base_url.removesuffix("/v1"), api_key="none", max_retries=0)
    params = {"model": "judge", "max_tokens": 500, "messages": [{"role": "user", "content": PROMPT}]}
    asked = [{"custom_id": f"a{n}", "params": params | {"top_k": n + 1}} for n in range(2)]
    batches = [client.messages.batches.create(requests=rows) for rows in (asked, asked[:1])]
    assert [(one.processing_status, one.request_counts.processing) for one in batches] == [
        ("in_progress", 2),
        ("in_progress", 1),
    ]
    cancelled = client.messages.batches.cancel(batches[1].id)
    assert (cancelled.processing_status, cancelled.request_counts.canceled) == ("ended", 1)
    assert [one.id for one in client.messages.batches.list(limit=1)] == [batches[1].id, batches[0].id]
    batch = client.messages.batches.retrieve(batches[0].id)
    assert (batch.processing_status, batch.request_counts.succeeded) == ("ended", 2)
    found = list(client.messages.batches.results(batch.id))
    assert {row.custom_id for row in found} == {"a0", "a1"}
    assert found[0].result.message.usage.input_tokens > 0
    assert [row.result.type for row in client.messages.batches.results(batches[1].id)] == ["canceled"]
    with pytest.raises(package.BadRequestError):
        client.messages.batches.create(requests=[asked[0], asked[0]])
    with pytest.raises(package.BadRequestError):
        client.messages.batches.create(requests=[{"custom_id": "a b", "params": params}])
    assert service.bill()["paid"] == {"a0": 1, "a1": 1}
