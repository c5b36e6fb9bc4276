from __future__ import annotations

import asyncio
import hashlib
import signal
import subprocess
import sys

import pytest

from tests.fakes.asking import PROMPT, ask, ask_all, body, connect, picture, send
from tests.fakes.client import ChatServer
from tests.fakes.truth import request_key


def test_the_body_can_be_checked_field_by_field(server: ChatServer) -> None:
    image = picture(3)
    request = body(PROMPT, image, verbosity="medium")
    ask(server, request)
    url = {"sha256": hashlib.sha256(image).hexdigest(), "bytes": len(image), "media": "image/png"}
    parts = [
        {"type": "text", "text": PROMPT},
        {"type": "image_url", "image_url": {"url": url, "detail": "high"}},
    ]
    expected = {"model": "judge", "messages": [{"role": "user", "content": parts}], "verbosity": "medium"}
    assert server.requests() == [expected]
    assert server.records(1) == [{"key": request_key(request), "outcome": "answered", "body": expected}]


def test_replies_are_held_until_enough_are_in_flight(server: ChatServer) -> None:
    server.configure(hold=7)
    ask_all(server, *[body(str(i)) for i in range(7)])
    assert server.counts()["max_in_flight"] == 7


def test_a_new_plan_lets_held_requests_go(server: ChatServer) -> None:
    server.configure(hold=100)

    async def run() -> None:
        async with connect(server) as sdk:
            pending = [asyncio.create_task(send(sdk, body(str(i)))) for i in range(3)]
            await asyncio.to_thread(server.wait_in_flight, 3)
            assert not any(task.done() for task in pending)
            server.configure()
            await asyncio.gather(*pending)

    asyncio.run(run())
    assert server.counts()["answered"] == 3


def test_wrong_plans_are_refused(server: ChatServer) -> None:
    for plan in (
        {"latency": 1},
        {"faults": {"http_418": 1}},
        {"faults": {"prose": 0.6, "empty": 0.6}},
        {"hold": "2"},
        {"points_regex": "("},
        {"kill": {"pid": 1, "at_request": 1}},
        {"kill": {"pid": 99999}},
    ):
        with pytest.raises(ValueError, match="plan: "):
            server.configure(**plan)


def test_the_kill_comes_at_the_exact_request(server: ChatServer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        server.configure(kill={"pid": child.pid, "at_request": 3})
        for i in range(2):
            ask(server, body(str(i)))
        assert child.poll() is None
        ask(server, body("2"))
        assert child.wait() == -signal.SIGKILL
    (kill,) = server.counts()["killed_in_flight"]
    assert kill["keys"] == [request_key(body("2"))]
    assert server.counts()["answered"] == 3


def test_another_signal_can_be_sent_and_a_lost_process_is_noted(server: ChatServer) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        plan = {"kill": {"pid": child.pid, "at_request": 1, "signal": "SIGTERM"}}
        server.configure(**plan)
        ask(server, body())
        assert child.wait() == -signal.SIGTERM
    server.configure(**plan)
    ask(server, body())
    kills = server.counts()["killed_in_flight"]
    assert ["error" in kill for kill in kills] == [False, True]


CLIENT = """
import http.client, json, sys, threading
def post(i):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    connection.request("POST", "/v1/chat/completions", json.dumps(
        {"model": "judge", "messages": [{"role": "user", "content": str(i)}]}))
    connection.getresponse().read()
sys.stdin.readline()
for i in range(6):
    threading.Thread(target=post, args=(i,)).start()
"""


def test_a_killed_client_abandons_what_it_had_in_flight(server: ChatServer) -> None:
    with subprocess.Popen([sys.executable, "-c", CLIENT, str(server.port)], stdin=subprocess.PIPE) as child:
        server.configure(hold=6, kill={"pid": child.pid, "at_request": 6})
        child.communicate(b"go\n")
        assert child.returncode == -signal.SIGKILL
    counts = server.counts()
    assert len(counts["killed_in_flight"][0]["keys"]) == 6 == counts["max_in_flight"]
    assert (counts["total"], counts["abandoned"], counts["answered"], counts["in_flight"]) == (6, 6, 0, 0)


def test_the_process_ends_when_stopped() -> None:
    server = ChatServer(seed=2).start()
    assert server.counts()["total"] == 0
    server.stop()
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        server.counts()
