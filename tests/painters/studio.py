"""Painting through the fake services: a table of them, a painter behind each, runs here and in a killed process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.calls import Calls, Fault, Limits
from limner.calls.turns import Unusable
from limner.core.settings import Settings, load_shipped
from limner.painters.base import Painting, PaintRequest
from limner.painters.service import ApiPainter
from limner.painters.services.bfl import BflPainter
from limner.painters.services.chat_images import ChatImages
from limner.painters.services.dashscope import DashScopePainter
from limner.painters.services.gemini import Gemini
from limner.painters.services.openai_images import OpenAIImages
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes.client import Server
from tests.fakes.gemini_client import GeminiServer
from tests.fakes.gemini_replies import painted
from tests.fakes.images_client import ImageServer
from tests.fakes.jobs_client import JobServer, picture, request_key
from tests.support import environment

ROOT = Path(__file__).resolve().parents[2]
KEY_VARIABLE = "FAKE_IMAGES_API_KEY"
KEY = "sk-canary-5e5Zq0fR7wLhT2"
PROMPT = "Draw a plant cell; label the nucleus. Zellkern – 细胞核."
PRICES = (5.0, 40.0)
PRICE = 0.03
_LOOP = asyncio.Runner()
"""One event loop for all runs: the HTTP client, which takes its time to make, is kept by loop."""


@dataclass(frozen=True)
class ServiceKind:
    """One wire format: its painter, the fake that speaks it, a model, the size drawn unasked, if seeds are sent."""

    painter: type[ApiPainter]
    server: type[Server]
    model: str
    size: str
    seeds: bool = True

    @property
    def jobs(self) -> bool:
        """Whether it hands out jobs."""
        return self.server is JobServer


KINDS = {
    "openai": ServiceKind(OpenAIImages, ImageServer, "gpt-image-2", "1024x1024", seeds=False),
    "chat": ServiceKind(ChatImages, ImageServer, "google/gemini-image", "1:1", seeds=False),
    "gemini": ServiceKind(Gemini, GeminiServer, "draws-1", "1:1"),
    "dashscope": ServiceKind(DashScopePainter, JobServer, "wan2.5-t2i-preview", "1024x1024"),
    "bfl": ServiceKind(BflPainter, JobServer, "flux-2-pro", "1024x1024"),
}
JOBS = tuple(name for name, kind in KINDS.items() if kind.jobs)


def request(prompt: str = PROMPT, **more: Any) -> PaintRequest:
    """A request to paint."""
    return PaintRequest("question", prompt, **more)


class Studio:
    """What it takes to paint: settings, a painter, a store.

    Args:
        name: The service, among `KINDS`.
        server: The fake that speaks for it.
        store: Where calls and images go.
        model: The model; the service's usual one where there is none.
        options: The painter's options.
        facts: What the settings know of the painter.
        provider: What the settings know of the service, beside its address and its key's name.
    """

    def __init__(
        self,
        name: str,
        server: Server,
        store: Store,
        model: str = "",
        *,
        options: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        **provider: Any,
    ) -> None:
        self.kind, self.server, self.store = KINDS[name], server, store
        model = model or self.kind.model
        target = f"{name}/{model}"
        root = f"http://127.0.0.1:{server.port}" if self.kind.jobs else server.base_url
        usual = {"base_url": root, "key_env": KEY_VARIABLE, "timeout_s": 20, "seeds": self.kind.seeds}
        price = {"image_price": PRICE} if self.kind.jobs else {}
        quick = {"poll_pause_s": 0.001, "poll_limit_s": 20} if self.kind.jobs else {}
        data = {
            "providers": {name: usual | provider},
            "models": {target: {"input_price": PRICES[0], "output_price": PRICES[1]}},
            "painters": {target: price | dict(facts or {})},
            "rewrites": {name: load_shipped()["rewrites"][name]} if self.kind.jobs else {},
        }
        settings = Settings.model_validate(data)
        self.painter = self.kind.painter("mine", target, model, quick | dict(options or {}), settings, store.blobs)

    async def paint_each(self, *requests: PaintRequest, attempt_s: float = 60, **how: Any) -> list[Painting | Fault]:
        """One run without waits between tries: all requests at once, faults in the place of paintings."""
        limits = {name: Limits(attempt_s=attempt_s) for name in KINDS}
        async with Calls(self.store, limits=limits, **how) as journal:
            journal._wait = lambda _tries: 0.0
            work = (self.painter.paint(each, journal) for each in requests)
            ends = await asyncio.gather(*work, return_exceptions=True)
        results = [each.fault if isinstance(each, Unusable) else each for each in ends]
        for each in results:
            if isinstance(each, BaseException) and not isinstance(each, Fault):
                raise each
        return results  # type: ignore[return-value]

    def paint_all(self, *requests: PaintRequest, **how: Any) -> list[Painting | Fault]:
        """See `paint_each`."""
        return _LOOP.run(self.paint_each(*requests, **how))

    def paint(self, prompt: str = PROMPT, *, tries: int = 3, retry_failed: bool = False, **more: Any) -> Painting:
        """Paint one that must succeed."""
        (result,) = self.paint_all(request(prompt, **more), tries=tries, retry_failed=retry_failed)
        assert isinstance(result, Painting), result
        return result

    def fail(self, prompt: str = PROMPT, *, tries: int = 3, retry_failed: bool = False, **more: Any) -> Fault:
        """Paint one that must fail."""
        (result,) = self.paint_all(request(prompt, **more), tries=tries, retry_failed=retry_failed)
        assert isinstance(result, Fault), result
        return result

    def truth(
        self, prompt: str = PROMPT, nth: int = 0, size: str = "", *, seed: int = 0, kind: str = "png", shown: Any = ()
    ) -> bytes:
        """The one right image for a request that came so often before."""
        size, seeds = size or self.kind.size, self.painter.provider.seeds
        if self.kind.server is GeminiServer:
            return painted(prompt, seed if seeds else None, nth + 1, size, shown=tuple(shown))
        return picture(prompt, seed if seeds else nth, size, kind, shown)

    def plan(self, **plan: Any) -> None:
        """Configure the service, which lets in the one key that is set."""
        self.server.configure(api_key=KEY, retry_after=0.01, **plan)

    def sent(self) -> list[Any]:
        """The bodies that the service has had, but for polls."""
        return [body for body in self.server.requests() if "poll" not in body]

    def paid(self) -> list[int]:
        """How many jobs each request was paid for."""
        return sorted(self.server.counts()["paid"].values())

    def attempts(self) -> list[Any]:
        """All attempts on record, oldest first: fault, detail, cost and result."""
        with self.store.reading() as connection:
            columns = attempts.c.fault, attempts.c.detail, attempts.c.cost, attempts.c.result
            return list(connection.execute(sa.select(*columns).order_by(attempts.c.started, attempts.c.n)))

    def tries(self) -> list[tuple[str | None, float | None]]:
        """Fault and cost of each attempt."""
        return [(row.fault, row.cost) for row in self.attempts()]

    def progress(self) -> Any:
        """What the one call in the store has to go on from."""
        with self.store.reading() as connection:
            return connection.execute(sa.select(calls.c.progress)).scalar_one()

    def followed(self) -> list[str]:
        """The service's keys of the requests whose jobs the store knows, or whose images it has."""
        with self.store.reading() as connection:
            rows = connection.execute(sa.select(calls.c.request, calls.c.status, calls.c.progress)).all()
        return [request_key(row.request["body"]) for row in rows if row.progress or row.status == "done"]


Make = Callable[..., Studio]


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[type[Server]], Server]]:
    """The fake services, each started once per test process."""
    started: dict[type[Server], Server] = {}
    with ExitStack() as stack:

        def get(kind: type[Server]) -> Server:
            if kind not in started:
                started[kind] = stack.enter_context(kind())
            return started[kind]

        yield get


@pytest.fixture
def make(
    servers: Callable[[type[Server]], Server], store: Store, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Studio]:
    """Makes studios in the test's store; a service's counts start at nought with its first studio."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    used: set[int] = set()

    def made(name: str, model: str = "", *, store: Store = store, **how: Any) -> Studio:
        server = servers(KINDS[name].server)
        if server.port not in used:
            used.add(server.port)
            server.reset()
            server.configure(api_key=KEY)
        return Studio(name, server, store, model, **how)

    return made


def files_with_key(folder: Path) -> list[Path]:
    """The files below a folder that hold the key; there must be files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if KEY.encode() in path.read_bytes()]


CHILD = """
import json, sys
from tests.painters.studio import child
sys.stdin.readline()
child(**json.loads(sys.argv[1]))
"""


def child(port: int, url: str, name: str, model: str, prompts: list[str], together: int, how: dict[str, Any]) -> None:
    """Paints in a process of its own, so many at once."""
    server = KINDS[name].server()
    server.port = port
    with Store(url) as store:
        studio = Studio(name, server, store, model, **how)
        for start in range(0, len(prompts), together):
            studio.paint_all(*map(request, prompts[start : start + together]))


def killed(
    studio: Studio, prompts: list[str], at: int, *, model: str = "", together: int = 100, **how: Any
) -> list[str]:
    """Paints in another process, which the service kills at its `at`-th request; the keys it had in flight."""
    name = next(name for name, kind in KINDS.items() if kind is studio.kind)
    plan = how.pop("plan", {})
    given = {"port": studio.server.port, "url": studio.store.url, "name": name, "model": model, "prompts": prompts}
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(given | {"together": together, "how": how})],
        cwd=ROOT,
        env=environment({KEY_VARIABLE: KEY}),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        studio.plan(kill={"pid": process.pid, "at_request": at}, **plan)
        _, trouble = process.communicate("go\n", timeout=60)
    assert process.returncode == -9, trouble
    (kill,) = studio.server.counts()["killed_in_flight"]
    keys: list[str] = kill["keys"]
    return keys
