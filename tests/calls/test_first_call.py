"""The first call to each service goes out alone, and its failure is told once, with what to do."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls import Calls, Fault, Request, Result
from limner.calls.journal import Attempt, PlannedCall
from limner.calls.turns import Unusable
from limner.core.settings import Provider
from limner.store import Store
from limner.store.schema import attempts, calls, markings
from tests.cli.invoke import limner
from tests.fakes import ChatServer
from tests.fakes.misbehaving import Misbehaving, says
from tests.support import JUDGE, SmallExam, write_settings

PROVIDER = Provider(base_url="http://127.0.0.1:9/v1")


def make(store: Store, count: int, answers: list[Fault | None]) -> tuple[list[int], list[object]]:
    """How many calls were in flight as each began, and how they ended."""
    flying: list[int] = []

    async def run() -> list[object]:
        busy = 0

        async def perform(_attempt: Attempt) -> Result:
            nonlocal busy
            busy += 1
            flying.append(busy)
            await asyncio.sleep(0.02)
            busy -= 1
            fault = answers.pop(0) if answers else None
            if fault is not None:
                raise fault
            return Result({"text": "x"})

        async with Calls(store, tries=1) as journal:
            asked = [journal.do(Request("chat", "a/b", {"n": n}), perform, provider=PROVIDER) for n in range(count)]
            return list(await asyncio.gather(*asked, return_exceptions=True))

    return flying, asyncio.run(run())


@pytest.mark.parametrize(
    "fault", [None, Fault("refusal", "no"), Fault("server", "500"), Fault("network", "x", cost=None)]
)
def test_other_calls_wait_for_answer_to_first(store: Store, fault: Fault | None) -> None:
    flying, ends = make(store, 5, [fault])
    assert flying[0] == 1
    assert flying[1] == 1
    assert max(flying) == 4
    assert sum(isinstance(end, Exception) for end in ends) == (fault is not None)


@pytest.mark.parametrize("kind", ["auth", "setup", "credits", "network"])
def test_unusable_service_stops_all_calls_and_nothing_is_stored(store: Store, kind: str) -> None:
    flying, ends = make(store, 5, [Fault(kind, "it said so")])  # type: ignore[arg-type]
    assert flying == [1]
    assert all(isinstance(end, Unusable) for end in ends)
    assert len({str(end) for end in ends}) == 1
    assert "a/b: it said so." in str(ends[0])
    with store.reading() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(attempts)) == 0
        assert set(connection.scalars(sa.select(calls.c.status))) == {"open"}
    assert not any(isinstance(end, Exception) for end in make(store, 5, [])[1]), "a later run makes them"


def test_next_call_is_first_if_first_is_cancelled(store: Store) -> None:
    async def run() -> object:
        hang = asyncio.Event()

        async def never(_attempt: Attempt) -> Result:
            await hang.wait()
            return Result({})

        async def perform(_attempt: Attempt) -> Result:
            return Result({"text": "x"})

        async with Calls(store) as journal, asyncio.timeout(20):
            first = asyncio.create_task(
                journal._do(PlannedCall(Request("chat", "a/b", {"n": 1}), never, provider=PROVIDER))
            )
            await asyncio.sleep(0.1)
            second = asyncio.create_task(journal.do(Request("chat", "a/b", {"n": 2}), perform, provider=PROVIDER))
            await asyncio.sleep(0.1)
            assert not second.done()
            first.cancel()
            return (await second).payload

    assert asyncio.run(run()) == {"text": "x"}


@pytest.fixture
def words(small_exam: SmallExam, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    painter = f"mine=folder/{small_exam.drawings}"
    return ["run", "genexam", "--data", str(small_exam.data), "--painter", painter, "--judge", JUDGE, "--store", "s"]


def failures(folder: Path) -> int:
    with Store(str(folder / "s"), create=False) as store, store.reading() as connection:
        return connection.scalar(sa.select(sa.func.count()).select_from(markings)) or 0


def test_dead_server_is_named_once(words: list[str], tmp_path: Path) -> None:
    write_settings(tmp_path, "http://127.0.0.1:9/v1")
    message = limner(*words, code=1).err
    assert message.count("http://127.0.0.1:9/v1/chat/completions") == 1
    assert "Is the server running, and is base_url of [providers.fake] in limner.toml right?" in message
    assert failures(tmp_path) == 0


def test_unknown_model_is_answered_with_list_of_models(words: list[str], chat: ChatServer, tmp_path: Path) -> None:
    write_settings(tmp_path, chat.base_url)
    chat.configure(models=["qwen-vl", "judge-2"])
    message = limner(*words, code=1).err
    assert "The service offers: judge-2, qwen-vl." in message
    assert failures(tmp_path) == 0


def test_forgotten_v1_is_found(words: list[str], chat: ChatServer, tmp_path: Path) -> None:
    write_settings(tmp_path, chat.base_url.removesuffix("/v1"))
    assert f'The address lacks /v1: write base_url = "{chat.base_url}"' in limner(*words, code=1).err


def test_model_without_vision_stops_run(words: list[str], tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": "text-only is not a multimodal model", "code": 400}})
    with Misbehaving(lambda _seen: says(json.loads(body), 400)) as server:
        write_settings(tmp_path, server.url)
        message = limner(*words, code=1).err
    assert "400: text-only is not a multimodal model" in message
    assert failures(tmp_path) == 0


def test_doctor_tries_own_services(chat: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chat.configure(models=["qwen-vl"])
    write_settings(tmp_path, chat.base_url)
    assert f"fake at {chat.base_url} answers; its models: qwen-vl" in limner("doctor", "--all", code=None).out
    write_settings(tmp_path, "http://127.0.0.1:9/v1")
    dead = limner("doctor", code=None)
    assert "fake at http://127.0.0.1:9/v1: http://127.0.0.1:9/v1/models: ConnectError" in dead.out
