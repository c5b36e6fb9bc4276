"""A fake of OpenAI's, Gemini's and Anthropic's batches, for loopback only: files, batches, results, and its own bill.

Run it with `python -m tests.fakes.batches --port 0`; it prints `{"port": N}` when it is ready. Every call that it has
made is counted in the bill, by the id it was handed in under and by what it asked for.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from aiohttp import web

from tests.fakes import batch_messages
from tests.fakes.batch_plan import BatchPlan
from tests.fakes.batch_rows import answer, fault_of, generate
from tests.fakes.client import Server
from tests.fakes.faults import error
from tests.fakes.service import Reply, Service, main, send_json, vanish
from tests.fakes.tally import Turn
from tests.fakes.truth import request_key

Json = dict[str, Any]
ERRORS: dict[str, tuple[int, Json]] = {
    "http_500": (500, error("The server had an error while processing your request.", "server_error")),
    "http_429": (429, error("Rate limit reached for requests.", "requests", code="rate_limit_exceeded")),
    "moderation": (400, error("Rejected by our safety system.", "invalid_request_error", code="content_policy")),
}
CODES = {"http_500": 13, "http_429": 8, "moderation": 3}
LINE = frozenset({"custom_id", "method", "url", "body"})
ENDPOINTS = ("/v1/chat/completions", "/v1/images/generations", "/v1/images/edits")


class BatchServer(Server):
    """The test's side of it; see `tests.fakes.batch_plan.BatchPlan` for the plan's keys."""

    module = "tests.fakes.batches"

    @property
    def gemini_url(self) -> str:
        """Where Gemini's calls go."""
        return f"http://127.0.0.1:{self.port}/v1beta"

    def bill(self) -> Json:
        """What was handed in and paid for: see `Batches.extra_counts`."""
        found: Json = self.counts()["bill"]
        return found


@dataclass
class Held:
    """A batch as the service has it."""

    id: str
    tag: str
    kind: str
    endpoint: str
    rows: list[tuple[str, Json]]
    file: str | None
    status: str = "in_progress"
    looks: int = 0
    lag: int = 0
    created: int = field(default_factory=lambda: int(time.time()))
    outputs: list[Json] = field(default_factory=list)
    faults: list[Json] = field(default_factory=list)
    result_file: str | None = None
    error_file: str | None = None
    problem: Json | None = None


class Batches(Service[BatchPlan]):
    """The services."""

    plans = BatchPlan

    def forget(self) -> None:
        self.files: dict[str, bytes] = {}
        self.held: dict[str, Held] = {}
        self.uploads: dict[str, tuple[int, bytearray]] = {}
        self.handed: Counter[str] = Counter()
        self.paid: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.came: Counter[str] = Counter()
        self.created = self.failed = self.broken = self.deleted = 0
        self.numbers = 0

    def extra_counts(self) -> Json:
        """`handed` and `paid` by id, `asked` (paid calls) by request, how many batches were taken, files that stand."""
        told = {"handed": dict(self.handed), "paid": dict(self.paid), "asked": dict(self.asked)}
        sizes = [len(one.rows) for one in self.held.values()]
        ends = Counter(one.status for one in self.held.values())
        more = {"batches": sizes, "ends": dict(ends), "files": len(self.files), "broken": self.broken}
        return {"bill": told | more | {"inline": sum(one.file is None for one in self.held.values())}}

    def app(self) -> web.Application:
        app = super().app()
        app._client_max_size = 2**31
        return app

    def routes(self, app: web.Application) -> None:
        add = app.router.add_route
        add("POST", "/v1/files", self.put_file)
        add("GET", "/v1/files/{id}/content", self.get_file)
        add("DELETE", "/v1/files/{id}", self.delete_file)
        add("POST", "/v1/batches", self.create)
        add("GET", "/v1/batches", self.list_all)
        add("GET", "/v1/batches/{id}", self.look)
        add("POST", "/v1/batches/{id}/cancel", self.cancel)
        add("POST", "/upload/v1beta/files", self.start_upload)
        add("POST", "/upload/v1beta/pieces/{id}", self.upload)
        add("GET", "/download/v1beta/files/{id}:download", self.get_file)
        add("GET", "/v1beta/files/{id}:download", self.get_file)
        add("DELETE", "/v1beta/files/{id}", self.delete_file)
        add("POST", "/v1beta/models/{model}:batchGenerateContent", self.create_gemini)
        add("GET", "/v1beta/batches", self.list_gemini)
        add("GET", "/v1beta/batches/{id}", self.look_gemini)
        add("POST", "/v1beta/batches/{id}:cancel", self.cancel)
        add("POST", "/v1/messages/batches", self.create_messages)
        add("GET", "/v1/messages/batches", self.list_messages)
        add("GET", "/v1/messages/batches/{id}", self.look_messages)
        add("GET", "/v1/messages/batches/{id}/results", self.results)
        add("POST", "/v1/messages/batches/{id}/cancel", self.cancel)
        add("POST", "/v1/messages", self.at_once)
        add("POST", "/v1/chat/completions", self.at_once)
        add("POST", "/v1/images/generations", self.at_once)

    async def _do(self, request: web.Request, make: Callable[[], tuple[int, Json]]) -> web.StreamResponse:
        """Count a request, kill at it as the plan says, and answer what is made: before the kill or after it."""
        plan = self.run.plan
        made = make() if plan.takes == "first" else None

        def reply(_fault: str | None, _turn: Turn) -> Reply:
            status, body = made if made is not None else make()
            return Reply("answered" if status < 400 else "refused", status, body)

        key = f"{request.method} {request.path}"
        return await self.answer(request, key, {"path": request.path}, lambda _turn: None, reply)

    def _admit(self, request: web.Request) -> None:
        self.admit(request, self.run.plan)

    async def at_once(self, request: web.Request) -> web.StreamResponse:
        """A call at the full price: no test of batches wants one."""
        self.paid["at once"] += 1
        return send_json(error("This fake service takes batches only.", "invalid_request_error"), 400)

    async def put_file(self, request: web.Request) -> web.StreamResponse:
        raw, kind = await request.read(), request.headers["Content-Type"]
        message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + raw)
        parts = {str(p.get_param("name", header="content-disposition")): p for p in message.iter_parts()}
        data = parts["file"].get_payload(decode=True)
        purpose = parts["purpose"].get_payload(decode=True)
        assert isinstance(data, bytes)

        def make() -> tuple[int, Json]:
            if purpose != b"batch" or len(data) > self.run.plan.most_bytes:
                return 400, error("Invalid file.", "invalid_request_error")
            name = self._file("file-", data)
            told = {"id": name, "object": "file", "bytes": len(data), "created_at": int(time.time())}
            return 200, told | {"filename": parts["file"].get_filename(), "purpose": "batch", "status": "processed"}

        return await self._do(request, make)

    def _file(self, prefix: str, data: bytes) -> str:
        self.numbers += 1
        name = f"{prefix}{self.numbers:06d}"
        self.files[name] = data
        return name

    async def get_file(self, request: web.Request) -> web.StreamResponse:
        return await self._send_file(request, self.files.get(request.match_info["id"]))

    async def _send_file(self, request: web.Request, data: bytes | None) -> web.StreamResponse:
        if data is None:
            return send_json(error("No such File object.", "invalid_request_error"), 404)
        made = await self._do(request, lambda: (200, {}))
        if isinstance(made, web.Response) and made.status != 200:
            return made
        first, status = 0, 200
        if (asked := re.fullmatch(r"bytes=(\d+)-", request.headers.get("Range", ""))) is not None:
            first, status = int(asked[1]), 206
        whole = web.StreamResponse(status=status, headers={"Content-Length": str(len(data) - first)})
        await whole.prepare(request)
        if self.broken < self.run.plan.breaks:
            self.broken += 1
            await whole.write(data[first : first + (len(data) - first) // 2])
            return await vanish(request, forever=False)
        for start in range(first, len(data), 1000):
            await whole.write(data[start : start + 1000])
        await whole.write_eof()
        return whole

    async def delete_file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]

        def make() -> tuple[int, Json]:
            if self.files.pop(name, None) is None:
                return 404, error("No such File object.", "invalid_request_error")
            return 200, {"id": name, "object": "file", "deleted": True}

        return await self._do(request, make)

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        fate = self._fate()

        def make() -> tuple[int, Json]:
            if fate in ("500_before", "drop_before"):
                return 500, ERRORS["http_500"][1]
            if fate == "429":
                return 429, ERRORS["http_429"][1]
            unknown = set(body) - {"input_file_id", "endpoint", "completion_window", "metadata"}
            data, endpoint = self.files.get(str(body.get("input_file_id"))), body.get("endpoint")
            if (
                unknown
                or data is None
                or endpoint not in ENDPOINTS
                or body["completion_window"] != "24h"
                or fate == "400"
            ):
                return 400, error("Invalid batch: no such file or endpoint.", "invalid_request_error")
            held = self._take(
                "openai", endpoint, (body.get("metadata") or {}).get("limner", ""), body["input_file_id"], data
            )
            if fate in ("500_after", "drop_after"):
                return 500, ERRORS["http_500"][1]
            return 200, self._told(held)

        if fate in ("drop_before", "drop_after"):
            make()
            return await vanish(request, forever=False)
        return await self._do(request, make)

    def _fate(self) -> str | None:
        fates = self.run.plan.fates
        fate = fates[self.created] if self.created < len(fates) else None
        self.created += 1
        return fate

    def _take(self, kind: str, endpoint: str, tag: str, file: str | None, data: bytes) -> Held:
        """A batch of the lines, or one that has failed because they are wrong."""
        plan = self.run.plan
        self.numbers += 1
        name = f"batch_{self.numbers:06d}"
        held = Held(name, tag, kind, endpoint, [], file, lag=plan.lag)
        self.held[name] = held
        lines = [json.loads(line) for line in data.splitlines()]
        models = {line["body"].get("model") for line in lines} if kind == "openai" else set()
        ids = [line["custom_id"] if kind == "openai" else line["key"] for line in lines]
        wrong = kind == "openai" and any(set(line) != LINE or line["url"] != endpoint for line in lines)
        code = None
        if wrong or len(set(ids)) != len(ids) or len(models) > 1:
            code = "invalid_json_line"
        elif len(lines) > plan.most_calls:
            code = "too_many_tasks"
        elif self.failed < plan.invalid:
            self.failed += 1
            code = plan.invalid_code
        if code is not None:
            held.status, held.problem = "failed", {"code": code, "message": "The batch is not valid.", "line": 1}
            return held
        held.rows = [
            (id, line["body"] if kind == "openai" else line["request"]) for id, line in zip(ids, lines, strict=True)
        ]
        self.handed.update(ids)
        return held

    def _made(self, held: Held, share: float = 1.0) -> None:
        """Make the calls of a batch, or the first part of them, and bill those that are made."""
        plan, expired = self.run.plan, False
        made = round(len(held.rows) * share)
        for n, (id, body) in enumerate(held.rows):
            key = request_key(body)
            self.came[key] += 1
            fault = fault_of(plan, key, self.came[key] - 1) if n < made else "cancelled"
            if fault == "missing":
                self.paid[id] += 1
                continue
            if fault in ("expired", "cancelled"):
                expired = expired or fault == "expired"
                told = {"code": f"batch_{fault}", "message": "This request was not executed."}
                if held.kind == "anthropic":
                    word = {"cancelled": "canceled"}.get(fault, fault)
                    held.faults.append({"custom_id": id, "result": {"type": word}})
                if held.kind == "openai" and n % 2:
                    held.faults.append({"id": f"r{n}", "custom_id": id, "response": None, "error": told})
                continue
            turn = Turn(key, n, self.asked[key])
            if held.kind == "anthropic":
                result = (
                    {"type": "errored", "error": batch_messages.problem(fault, batch_messages.ERRORS[fault])}
                    if fault
                    else batch_messages.message(body, plan, turn)
                )
                good = result["type"] == "succeeded"
                (held.outputs if good else held.faults).append({"custom_id": id, "result": result})
            elif held.kind == "gemini":
                row = (
                    {"error": {"code": CODES[fault], "message": fault}}
                    if fault
                    else generate(held.endpoint, body, plan, turn)
                )
                good = "response" in row
                held.outputs.append({"key": id, **row})
            else:
                status, reply = ERRORS[fault] if fault else answer(held.endpoint, body, plan, turn)
                good = status < 400
                response = {"status_code": status, "request_id": turn.id, "body": reply}
                (held.outputs if good else held.faults).append(
                    {"id": f"r{n}", "custom_id": id, "response": response, "error": None}
                )
            if good:
                self.paid[id] += 1
                self.asked[key] += 1
        if plan.shuffled:
            random.Random(plan.seed).shuffle(held.outputs)
        held.status = "cancelled" if share < 1 else "expired" if expired else "completed"
        for name, rows in (("result_file", held.outputs), ("error_file", held.faults)):
            if rows and (held.kind == "openai" or held.file is not None):
                data = "".join(json.dumps(row) + "\n" for row in rows).encode()
                setattr(held, name, self._file("file-", data))

    def _step(self, held: Held) -> None:
        held.looks += 1
        if held.status == "in_progress" and held.looks >= self.run.plan.looks:
            self._made(held)

    async def look(self, request: web.Request) -> web.StreamResponse:
        return await self._look(request, self._told)

    async def look_gemini(self, request: web.Request) -> web.StreamResponse:
        return await self._look(request, self._operation)

    async def _look(self, request: web.Request, told: Callable[[Held], Json]) -> web.StreamResponse:
        held = self.held.get(request.match_info["id"])
        if held is None:
            return send_json(error("No such batch.", "invalid_request_error"), 404)

        def make() -> tuple[int, Json]:
            self._step(held)
            return 200, told(held)

        return await self._do(request, make)

    def _told(self, held: Held) -> Json:
        counts = {"total": len(held.rows), "completed": len(held.outputs), "failed": len(held.faults)}
        errors = {"object": "list", "data": [held.problem]} if held.problem else None
        told: Json = {"id": held.id, "object": "batch", "endpoint": held.endpoint, "errors": errors}
        told |= {"input_file_id": held.file, "completion_window": "24h", "status": held.status}
        told |= {"output_file_id": held.result_file, "error_file_id": held.error_file, "created_at": held.created}
        return told | {"request_counts": counts, "metadata": {"limner": held.tag}}

    def _listed(self, kind: str) -> list[Held]:
        """The newest first, without those that do not show yet."""
        found = []
        for held in reversed([one for one in self.held.values() if one.kind == kind]):
            if held.lag > 0:
                held.lag -= 1
            else:
                found.append(held)
        return found

    async def list_all(self, request: web.Request) -> web.StreamResponse:
        plan, after = self.run.plan, request.query.get("after")

        def make() -> tuple[int, Json]:
            if not plan.listed:
                return 404, error("Not found.", "invalid_request_error")
            rows = [self._told(held) for held in self._listed("openai")]
            ids = [row["id"] for row in rows]
            rows = rows[ids.index(after) + 1 :] if after else rows
            page = rows[: plan.page]
            told = {"object": "list", "data": page, "has_more": len(rows) > len(page)}
            return 200, told | {
                "first_id": page[0]["id"] if page else None,
                "last_id": page[-1]["id"] if page else None,
            }

        return await self._do(request, make)

    async def cancel(self, request: web.Request) -> web.StreamResponse:
        held = self.held[request.match_info["id"]]

        def make() -> tuple[int, Json]:
            if held.status == "in_progress":
                self._made(held, 0.5)
            told = {"openai": self._told, "anthropic": self._message_batch}.get(held.kind)
            return 200, told(held) if told else {}

        return await self._do(request, make)

    async def create_messages(self, request: web.Request) -> web.StreamResponse:
        raw, fate = await request.read(), self._fate()
        body, self.root = json.loads(raw), f"http://{request.host}"

        def make() -> tuple[int, Json]:
            if fate in ("500_before", "drop_before"):
                return 500, batch_messages.problem("Internal server error", "api_error")
            if fate == "429":
                return 429, batch_messages.problem("Too many batches.", "rate_limit_error")
            if len(raw) > self.run.plan.most_bytes:
                return 413, batch_messages.problem("Request exceeds the maximum size", "request_too_large")
            refusal = batch_messages.wrong(body, request.headers, self.run.plan)
            if refusal is not None or fate == "400":
                return refusal or (400, batch_messages.problem("Invalid batch."))
            rows = [(row["custom_id"], row["params"]) for row in body["requests"]]
            self.numbers += 1
            held = Held(f"msgbatch_{self.numbers:06d}", "", "anthropic", "", rows, None, lag=self.run.plan.lag)
            self.held[held.id] = held
            self.handed.update(id for id, _ in rows)
            if fate in ("500_after", "drop_after"):
                return 500, batch_messages.problem("Internal server error", "api_error")
            return 200, self._message_batch(held)

        if fate in ("drop_before", "drop_after"):
            make()
            return await vanish(request, forever=False)
        return await self._do(request, make)

    async def list_messages(self, request: web.Request) -> web.StreamResponse:
        plan, after = self.run.plan, request.query.get("after_id")

        def make() -> tuple[int, Json]:
            found = self._listed("anthropic")
            for held in found:
                self._step(held)
            rows = [self._message_batch(held) for held in found]
            ids = [row["id"] for row in rows]
            rows = rows[ids.index(after) + 1 :] if after else rows
            page = rows[: plan.page]
            ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
            return 200, {"data": page, "has_more": len(rows) > len(page), "first_id": None, "last_id": None} | ends

        return await self._do(request, make)

    async def look_messages(self, request: web.Request) -> web.StreamResponse:
        return await self._look(request, self._message_batch)

    async def results(self, request: web.Request) -> web.StreamResponse:
        held = self.held.get(request.match_info["id"])
        rows = None if held is None or held.status == "in_progress" else [*held.outputs, *held.faults]
        lines = None if rows is None else "".join(json.dumps(row) + "\n" for row in rows).encode()
        return await self._send_file(request, lines)

    def _message_batch(self, held: Held) -> Json:
        ended, kinds = held.status != "in_progress", [row["result"]["type"] for row in held.faults]
        counts = {word: kinds.count(word) for word in ("errored", "canceled", "expired")}
        # What is missing from the results is counted: the sum is always that of all rows.
        counts["succeeded"] = len(held.rows) - len(kinds) if ended else 0
        counts["processing"] = 0 if ended else len(held.rows)
        at = datetime.fromtimestamp(held.created, UTC).isoformat()
        told: Json = {"id": held.id, "type": "message_batch", "request_counts": counts, "created_at": at}
        told |= {"processing_status": "ended" if ended else "in_progress", "expires_at": at, "archived_at": None}
        told |= {"cancel_initiated_at": at if held.status == "cancelled" else None, "ended_at": at if ended else None}
        where = f"{self.root}/v1/messages/batches/{held.id}/results"
        return told | {"results_url": where if ended else None}

    async def start_upload(self, request: web.Request) -> web.StreamResponse:
        await request.json()
        size = int(request.headers["X-Goog-Upload-Header-Content-Length"])
        self.numbers += 1
        name = f"u{self.numbers}"
        self.uploads[name] = size, bytearray()
        response = await self._do(request, lambda: (200, {}))
        where = f"http://{request.host}/upload/v1beta/pieces/{name}"
        response.headers["X-Goog-Upload-URL"] = where
        response.headers["X-Goog-Upload-Status"] = "active"
        return response

    async def upload(self, request: web.Request) -> web.StreamResponse:
        data, (size, so_far) = await request.read(), self.uploads[request.match_info["id"]]
        command = request.headers["X-Goog-Upload-Command"]

        def make() -> tuple[int, Json]:
            if int(request.headers["X-Goog-Upload-Offset"]) != len(so_far):
                return 400, error("Wrong offset.", "invalid_request_error")
            so_far.extend(data)
            if command != "upload, finalize":
                return 200, {}
            if len(so_far) != size:
                return 400, error("Wrong size.", "invalid_request_error")
            name = self._file("f", bytes(so_far))
            return 200, {"file": {"name": f"files/{name}", "sizeBytes": str(size), "state": "ACTIVE"}}

        response = await self._do(request, make)
        response.headers["X-Goog-Upload-Status"] = "final" if "finalize" in command else "active"
        return response

    async def create_gemini(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body, model, fate = json.loads(raw)["batch"], request.match_info["model"], self._fate()

        def make() -> tuple[int, Json]:
            if fate in ("500_before", "drop_before"):
                return 500, ERRORS["http_500"][1]
            if fate == "429":
                return 429, {"error": {"code": 429, "message": "Too many.", "status": "RESOURCE_EXHAUSTED"}}
            source = body["inputConfig"]
            if set(body) != {"displayName", "inputConfig"} or len(raw) > self.run.plan.most_bytes or fate == "400":
                return 400, {"error": {"code": 400, "message": "Invalid.", "status": "INVALID_ARGUMENT"}}
            file = source.get("fileName")
            if file is not None:
                data = self.files.get(str(file).removeprefix("files/"))
                if data is None:
                    return 404, {"error": {"code": 404, "message": "No such file.", "status": "NOT_FOUND"}}
            else:
                rows = source["requests"]["requests"]
                lines = [
                    {"key": r.get("metadata", {}).get("key", str(n)), "request": r["request"]}
                    for n, r in enumerate(rows)
                ]
                data = "\n".join(json.dumps(line) for line in lines).encode()
            held = self._take("gemini", model, body["displayName"], file, data)
            if fate in ("500_after", "drop_after"):
                return 500, ERRORS["http_500"][1]
            return 200, self._operation(held)

        if fate in ("drop_before", "drop_after"):
            make()
            return await vanish(request, forever=False)
        return await self._do(request, make)

    async def list_gemini(self, request: web.Request) -> web.StreamResponse:
        plan, token = self.run.plan, int(request.query.get("pageToken") or 0)

        def make() -> tuple[int, Json]:
            rows = [self._operation(held) for held in self._listed("gemini")]
            page = rows[token : token + plan.page]
            more = {"nextPageToken": str(token + plan.page)} if len(rows) > token + plan.page else {}
            return 200, {"operations": page, **more}

        return await self._do(request, make)

    def _operation(self, held: Held) -> Json:
        words = {"in_progress": "RUNNING", "completed": "SUCCEEDED"}
        state = f"BATCH_STATE_{words.get(held.status, held.status.upper())}"
        stats = {"requestCount": str(len(held.rows)), "successfulRequestCount": str(len(held.outputs))}
        meta: Json = {"displayName": held.tag, "state": state, "model": f"models/{held.endpoint}", "batchStats": stats}
        told: Json = {"name": f"batches/{held.id}", "metadata": meta}
        if held.problem is not None:
            return told | {"done": True, "error": {"code": 3, "message": held.problem["message"]}}
        if held.status == "in_progress":
            return told
        if held.result_file is not None:
            output: Json = {"responsesFile": f"files/{held.result_file}"}
        else:
            rows = [
                {"metadata": {"key": row["key"]}, **{k: v for k, v in row.items() if k != "key"}}
                for row in held.outputs
            ]
            output = {"inlinedResponses": {"inlinedResponses": rows}}
        meta["output"] = output
        return told | {"done": True, "response": output}


if __name__ == "__main__":
    main(Batches, __doc__)
