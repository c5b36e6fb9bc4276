"""A careless service of every wire format: whatever it answers, it repeats the key it was given."""

from __future__ import annotations

import base64
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.fakes.truth import count_points, verdict
from tests.support import picture

Json = dict[str, Any]
HEADERS = ("Authorization", "x-goog-api-key", "x-key", "x-api-key", "Api-Key")
MODES = (
    "good", "status_500", "plain_500", "error_in_200", "html_in_200", "text_in_200", "masked_in_200", "escaped_400",
    "long_400", "name_400", "refusal_400", "refusal_in_200",
)  # fmt: skip
"""Ways to answer; the first is the right one, with the key in every free text."""
STOPPING = ("status_401", "masked_401", "status_402")
"""Ways that end a run."""


class Echo:
    """Runs in a thread; use as a context manager. Every provider has a path of its own: ``url("openai")``.

    Attributes:
        mode: How to answer, among `MODES` and `STOPPING`.
        echoed: How many answers had the key in them, by provider and mode.
    """

    def __init__(self) -> None:
        self.mode = "good"
        self.echoed: Counter[tuple[str, str]] = Counter()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                form = self.headers["Content-Type"].startswith("multipart/")
                self.answer(*owner.reply(self.path, self.key(), {} if form else json.loads(data)))

            def do_GET(self) -> None:
                if self.path.startswith("/files/"):
                    self.answer(200, picture(7), "image/png")
                else:
                    self.answer(*owner.progress(self.path, self.key()))

            def key(self) -> str:
                found = next(value for name in HEADERS if (value := self.headers.get(name)))
                return found.removeprefix("Bearer ").removeprefix("Key ")

            def answer(self, status: int, data: bytes, media: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", media)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{provider}"

    def reply(self, path: str, key: str, body: Json) -> tuple[int, bytes, str]:
        provider = path.split("/")[1]
        self.echoed[provider, self.mode] += 1
        if self.mode == "good":
            return _json(200, self._good(provider, path, key, body))
        return _wrong(self.mode, key)

    def progress(self, path: str, key: str) -> tuple[int, bytes, str]:
        provider = path.split("/")[1]
        link = f"http://127.0.0.1:{self._server.server_port}/files/image.png"
        if provider == "bfl":
            result = {"sample": link, "prompt": f"as {key} wished"}
            return _json(200, {"id": "job", "status": "Ready", "result": result, "for": key})
        if provider == "replicate":
            return _json(200, {"id": "job", "status": "succeeded", "output": [link], "error": None, "logs": key})
        if provider == "luma":
            return _json(
                200, {"id": "job", "state": "completed", "output": [{"type": "image", "url": link}], "for": key}
            )
        if provider == "krea":
            return _json(200, {"job_id": "job", "status": "completed", "result": {"urls": [link]}, "for": key})
        if provider == "fal":
            asked = path.endswith("/status")
            return _json(
                200, {"status": "COMPLETED", "logs": key} if asked else {"images": [{"url": link}], "for": key}
            )
        results = [{"url": link, "actual_prompt": f"as {key} wished"}]
        return _json(200, {"output": {"task_status": "SUCCEEDED", "results": results}, "request_id": key})

    def _good(self, provider: str, path: str, key: str, body: Json) -> Json:
        image = base64.b64encode(picture(9)).decode()
        if provider == "bfl":
            return {"id": "job", "polling_url": f"{self.url('bfl')}/v1/get_result?id=job", "for": key}
        if provider == "dashscope":
            return {"output": {"task_id": "job", "task_status": "PENDING"}, "request_id": key}
        if provider == "replicate":
            return {"id": "job", "status": "starting", "urls": {"get": f"{self.url('replicate')}/job"}, "logs": key}
        if provider == "fal":
            ways = {"status_url": f"{self.url('fal')}/job/status", "response_url": f"{self.url('fal')}/job"}
            return {"request_id": key, "status": "IN_QUEUE", **ways}
        if provider == "luma":
            return {"id": "job", "state": "queued", "model": key}
        if provider == "krea":
            return {"job_id": "job", "status": "queued", "for": key}
        if provider == "reve":
            return {"image": image, "content_violation": False, "request_id": key}
        if provider == "tencent":
            link = f"http://127.0.0.1:{self._server.server_port}/files/image.png"
            return {"id": key, "choices": [{"delta": {"image": {"url": link}}}]}
        if provider == "ideogram":
            link = f"http://127.0.0.1:{self._server.server_port}/files/image.png"
            return {"created": key, "data": [{"url": link, "is_image_safe": True, "prompt": f"as {key} wished"}]}
        if provider in ("gemini", "vertex"):
            parts = [{"text": f"For {key}."}, {"inlineData": {"mimeType": "image/png", "data": image}}]
            return {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "responseId": key}
        if path.endswith("/images/generations"):
            return {"created": 1, "data": [{"b64_json": image, "revised_prompt": f"as {key} wished"}], "user": key}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        message: Json = {"role": "assistant", "content": f"For {key}."}
        if provider == "openrouter":
            message["images"] = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}}]
        else:
            text = body["messages"][0]["content"][0]["text"]
            said = verdict(text, b"", count_points(text), 1)
            said["answers"][0]["reasoning"] = f"as {key} has it"
            message["content"] = json.dumps(said)
        if provider == "anthropic":
            told = {"input_tokens": 10, "output_tokens": 10}
            content = [{"type": "text", "text": message["content"]}]
            return {"id": key, "type": "message", "content": content, "stop_reason": "end_turn", "usage": told}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "id": key,
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }


def _json(status: int, body: Any) -> tuple[int, bytes, str]:
    return status, json.dumps(body).encode(), "application/json"


def _wrong(mode: str, key: str) -> tuple[int, bytes, str]:
    message = f"The service cannot go on with {key} today."
    masked = f"Incorrect API key provided: {key[:8]}{'*' * 12}{key[-4:]}."
    status = int(mode.rpartition("_")[2])
    if mode.startswith("plain"):
        return status, message.encode(), "text/plain"
    if mode.startswith("html"):
        return status, f"<html><body>{message}</body></html>".encode(), "text/html"
    if mode.startswith("text"):
        return status, f'"{message}'.encode(), "application/json"
    if mode.startswith("escaped"):
        spelt = "".join(f"\\u{ord(letter):04x}" for letter in key)
        return status, f'{{"error": {{"message": "Not with {spelt}."}}}}'.encode(), "application/json"
    if mode.startswith("long"):
        # Cut wherever it may be, a part of the key would stand before the cut.
        return _json(status, {"error": {"message": "".join(f"{n:03} {key} " for n in range(60))}})
    if mode.startswith("name"):
        return _json(status, {"error": {"message": "A field is wrong.", "fields": {key: "unknown"}}, key: key})
    if mode.startswith("masked"):
        code = "server_error" if status == 200 else "invalid_api_key"
        return _json(status, {"error": {"message": masked, "code": code}, "code": code, "message": masked})
    if mode.startswith("refusal"):
        flagged = f"Refused by our moderation: {key}."
        error = {"message": flagged, "code": "content_policy_violation"}
        return _json(status, {"error": error, "code": "DataInspectionFailed", "message": flagged, "detail": flagged})
    return _json(status, {"error": {"message": message, "code": status}, "message": message, "detail": message})
