"""Painting through the fake job services: settings, painters, runs in this process and in one that gets killed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from limner.calls import Calls, Fault, Limits
from limner.core.settings import PainterFacts, Provider, Settings, shipped
from limner.painters.base import Painting, PaintRequest
from limner.painters.jobs import JobPainter
from limner.painters.services.bfl import BflPainter
from limner.painters.services.dashscope import DashScopePainter
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes.jobs_client import JobServer, request_key
from tests.support import environment

ROOT = Path(__file__).resolve().parents[2]
KEY_VARIABLE = "FAKE_JOBS_API_KEY"
KEY = "sk-canary-5f1d7e2b9c"
SPECS = ("dashscope/wan2.5-t2i-preview", "bfl/flux-2-pro")
KINDS: dict[str, type[JobPainter]] = {"dashscope": DashScopePainter, "bfl": BflPainter}
QUICK = {"poll_pause_s": 0.001, "poll_limit_s": 20}
PRICE = 0.03
_LOOP = asyncio.Runner()
"""One event loop for all runs: the HTTP client, which takes its time to make, is kept by loop."""


def settings(root: str, *, facts: PainterFacts | None = None, spec: str = "", **provider: Any) -> Settings:
    """Settings that know the fake services as ``dashscope`` and ``bfl``."""
    given = {"base_url": root, "key_env": KEY_VARIABLE, "seeds": True, **provider}
    usual = PainterFacts(image_price=PRICE)
    return Settings(
        providers={name: Provider(**given) for name in KINDS},
        painters={name: facts if facts and name == spec else usual for name in (*SPECS, spec) if name},
        rewrites=shipped()["rewrites"],
    )


def make(
    root: str,
    store: Store,
    spec: str,
    options: Mapping[str, Any] | None = None,
    *,
    facts: PainterFacts | None = None,
    **provider: Any,
) -> JobPainter:
    """The painter behind a spec, quick to poll."""
    service, _, model = spec.partition("/")
    known = settings(root, facts=facts, spec=spec, **provider)
    return KINDS[service](spec, spec, model, {**QUICK, **(options or {})}, known, store.blobs)


def ask(prompt: str = "A cell with its parts.", seed: int = 7, **more: Any) -> PaintRequest:
    """A request to paint."""
    return PaintRequest("q1", prompt, seed, **more)


async def paint_all(
    painter: JobPainter, store: Store, requests: list[PaintRequest], *, attempt_s: float = 60, **how: Any
) -> list[Painting | Fault]:
    """Paint through a journal that does not wait between its tries."""
    limits = {name: Limits(attempt_s=attempt_s) for name in KINDS}
    async with Calls(store, limits=limits, **how) as journal:
        journal._wait = lambda _tries: 0.0
        found = await asyncio.gather(*(painter.paint(each, journal) for each in requests), return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, Fault):
            raise each
    return found  # type: ignore[return-value]


def run(painter: JobPainter, store: Store, requests: list[PaintRequest], **how: Any) -> list[Painting | Fault]:
    """See `paint_all`."""
    return _LOOP.run(paint_all(painter, store, requests, **how))


def paint(painter: JobPainter, store: Store, request: PaintRequest | None = None, **how: Any) -> Painting:
    """Paint one; raises its fault."""
    (found,) = run(painter, store, [request or ask()], **how)
    if isinstance(found, Fault):
        raise found
    return found


def fail(painter: JobPainter, store: Store, request: PaintRequest | None = None, **how: Any) -> Fault:
    """Paint one that must fail."""
    (found,) = run(painter, store, [request or ask()], **how)
    assert isinstance(found, Fault), found
    return found


def paid(server: JobServer) -> list[int]:
    """How many jobs each request was paid for."""
    return sorted(server.counts()["paid"].values())


def tries(store: Store) -> list[tuple[str | None, float | None]]:
    """Fault and cost of each attempt at the one call in the store."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(attempts.c.fault, attempts.c.cost).order_by(attempts.c.n)).all()
    return [(row.fault, row.cost) for row in rows]


def progress(store: Store) -> Any:
    """What the one call in the store has to go on from."""
    with store.reading() as connection:
        return connection.execute(sa.select(calls.c.progress)).scalar_one()


def followed(store: Store) -> list[str]:
    """The service's keys of the requests whose jobs the store knows, or whose images it has."""
    with store.reading() as connection:
        rows = connection.execute(sa.select(calls.c.request, calls.c.status, calls.c.progress)).all()
    return [request_key(row.request["body"]) for row in rows if row.progress or row.status == "done"]


def everything(folder: Path) -> bytes:
    """All bytes of all files below a folder."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


CHILD = """
import json, sys
from tests.painters.job_support import child
sys.stdin.readline()
child(**json.loads(sys.argv[1]))
"""


def child(root: str, folder: str, spec: str, prompts: list[str], options: Mapping[str, Any]) -> None:
    """Paints in a process of its own."""
    with Store(folder) as store:
        painter = make(root, store, spec, options)
        run(painter, store, [ask(prompt) for prompt in prompts])


def killed(server: JobServer, folder: Path, spec: str, prompts: list[str], at: int, **plan: Any) -> list[str]:
    """Paints in another process, which the service kills at its `at`-th request; the keys it had in flight."""
    given = {"root": server.root, "folder": str(folder), "spec": spec, "prompts": prompts, "options": {}}
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(given)],
        cwd=ROOT,
        env=environment({KEY_VARIABLE: KEY}),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        server.configure(api_key=KEY, kill={"pid": process.pid, "at_request": at}, **plan)
        _, trouble = process.communicate("go\n", timeout=60)
    assert process.returncode == -9, trouble
    (kill,) = server.counts()["killed_in_flight"]
    keys: list[str] = kill["keys"]
    return keys
