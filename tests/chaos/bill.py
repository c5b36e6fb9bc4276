"""A chat service that misbehaves and bills by its own count, whatever it then says about it."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from typing import Any

from tests.fakes.misbehaving import Answer, Seen, chat_reply, says
from tests.support import PRICES

KINDS = (
    "answer", "no_usage", "half_usage", "reset", "hang", "cut", "not_json", "error_in_200", "no_choices",
    "refusal", "length", "unreadable", "http_400", "http_429", "http_500", "http_503",
)  # fmt: skip
"""Every way it goes on after it has read a request."""
FREE = ("http_400", "http_429", "http_500", "http_503")
"""An error status costs nothing; everything else is billed as soon as the request is read."""


class Billing:
    """A behaviour of `Misbehaving`: replies of every length, faults by chance, kills at requests.

    Attributes:
        bill: Dollars so far.
        kill: The process that dies at the request of this number, before it is answered.
        honours: Whether a request with an idempotency key that it knows gets the first answer, and is not billed.
        asked: The body of every request that was billed.
    """

    honours = False

    def __init__(self, kinds: tuple[str, ...], seed: int) -> None:
        self.kinds, self.seed, self.bill = kinds, seed, 0.0
        self.billed: list[float] = []
        self.asked: list[bytes] = []
        self._known: dict[str, Answer] = {}
        self.kill: dict[int, int] = {}
        self._lock = threading.Lock()

    def __call__(self, seen: Seen) -> Answer:
        if self.honours and (known := self._known.get(seen.headers.get("idempotency-key", ""))):
            return known
        body = seen.json
        chance = random.Random(f"{self.seed}/{seen.number}")
        kind, most = chance.choice(self.kinds), int(body["max_completion_tokens"])
        sent = sum(_tokens(part) for message in body["messages"] for part in message["content"])
        written = max(1, round(most * 10 ** -chance.uniform(0, 2)))
        if kind not in FREE:
            with self._lock:
                self.billed.append((PRICES[0] * sent + PRICES[1] * written) / 1e6)
                self.bill = sum(self.billed)
                self.asked.append(seen.body)
        answer = _answer(kind, {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written})
        if "idempotency-key" in seen.headers:
            self._known[seen.headers["idempotency-key"]] = answer
        if (pid := self.kill.get(seen.number)) is not None:
            os.kill(pid, signal.SIGKILL)
        time.sleep(chance.uniform(0.0, 0.05))
        return answer


def _tokens(part: dict[str, Any]) -> int:
    return len(part["text"].encode()) // 3 if part["type"] == "text" else 700


def _answer(kind: str, usage: dict[str, int]) -> Answer:
    if kind.startswith("http_"):
        heads = {"retry_after": "0"} if kind == "http_429" else {}
        return says({"error": {"message": "not now", "type": "error"}}, int(kind[5:]), **heads)
    if kind == "reset":
        return Answer(end="reset", declared=100)
    if kind == "hang":
        return Answer(end="hang", declared=100)
    if kind == "not_json":
        return says("<html>hello</html>")
    if kind == "error_in_200":
        return says({"error": {"code": 502, "message": "Provider returned error"}})
    reply = chat_reply("I cannot tell." if kind == "unreadable" else "{}", usage)
    choice = reply["choices"][0]
    if kind == "no_usage":
        del reply["usage"]
    elif kind == "half_usage":
        reply["usage"] = {"prompt_tokens": usage["prompt_tokens"]}
    elif kind == "no_choices":
        reply["choices"] = []
    elif kind == "length":
        choice["finish_reason"] = "length"
    elif kind == "refusal":
        choice["message"] = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
    answer = says(reply)
    if kind == "cut":
        assert isinstance(answer.body, bytes)
        return Answer(answer.body[:40], end="reset", declared=len(answer.body))
    return answer
