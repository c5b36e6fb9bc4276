"""Servers that flood, nest, redirect and lie: each costs one stored fault, never the run and never more memory."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import sqlalchemy as sa

from limner.calls import Calls, Fault
from limner.calls.downloads import fetch, port_of
from limner.core.asks import Contract, Text, Unreadable
from limner.core.images import Preparer
from limner.models import ChatModel, complete
from limner.models.base import RESENT
from limner.store import Store
from limner.store.schema import attempts
from tests.chaos.asking import CONTEXT, SHAPES, ask, fault_of, paint, settings
from tests.fakes.misbehaving import (
    Answer,
    Behaviour,
    Misbehaving,
    Seen,
    bomb,
    chat,
    chat_reply,
    cut,
    flood,
    nested,
    redirect,
    says,
)  # fmt: skip
from tests.support import picture

CLIENTS = ("chat", *SHAPES)
HOST = ("127.0.0.1",)


@pytest.mark.parametrize(
    ("client", "depth"), [("chat", 60), ("chat", 1_000_000), *((client, 900) for client in CLIENTS)]
)
def test_deeply_nested_reply_is_one_fault(store: Store, client: str, depth: int) -> None:
    with Misbehaving(nested(depth)) as server:
        fault = fault_of(store, server.url, client)
        assert (fault.kind, len(server.seen)) == ("unreadable", 1)
    assert fault.detail.endswith("more than 1,000,000 parts" if depth == 1_000_000 else "nested more than 50 deep")


@pytest.mark.parametrize(("client", "status"), [("chat", 301), ("chat", 302), *((client, 307) for client in CLIENTS)])
def test_redirect_to_another_host_is_not_followed(
    store: Store, client: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-0123456789abcdef")
    with Misbehaving(chat()) as other, Misbehaving(redirect(f"{other.url}/v1?signed=abc", status)) as server:
        fault = fault_of(store, server.url, client, key_env="FAKE_KEY")
        assert (len(server.seen), len(other.seen)) == (1, 0)
        assert fault.kind == "setup"
        assert f"{status}: the service redirects requests to {other.url}/v1, and Limner does not" in fault.detail
        assert "signed" not in fault.detail


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
def test_unrequested_content_encoding_is_refused(store: Store, encoding: str) -> None:
    answer = Answer(json.dumps(chat_reply()).encode(), headers={"Content-Encoding": encoding})
    with Misbehaving(lambda _seen: answer) as server:
        fault = fault_of(store, server.url, "chat")
        assert server.seen[0].headers["accept-encoding"] == "gzip, deflate"
    assert (fault.kind, fault.cost) == ("server", None)
    assert "which was not requested" in fault.detail


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_compressed_replies_are_read(store: Store, encoding: str) -> None:
    with Misbehaving(bomb(100_000, encoding, b"x")) as server:
        assert ask(store, server.url) == "x" * 100_000


@pytest.mark.parametrize("behave", [flood(2**24 + 1), bomb(2**24 + 1), bomb(2**24 + 1, "deflate")])
def test_oversized_reply_is_not_retried(store: Store, behave: Behaviour) -> None:
    with Misbehaving(behave) as server:
        with pytest.raises(Fault) as caught:
            ask(store, server.url, tries=5)
        assert (caught.value.kind, caught.value.cost, len(server.seen)) == ("unreadable", None, 1)
    assert "over 16,777,216 bytes" in caught.value.detail


@pytest.mark.slow
def test_oversized_error_reply_gets_kind_of_its_status(store: Store) -> None:
    pieces = (b"x" * 2**16 for _ in range(300))
    with Misbehaving(lambda _seen: Answer(pieces, 503)) as server:
        fault = fault_of(store, server.url, "chat")
    assert fault.kind == "server"
    assert len(fault.detail) < 600


def test_truncated_reply_is_network_fault(store: Store) -> None:
    with Misbehaving(cut(chat_reply(), 40)) as server:
        assert fault_of(store, server.url, "chat").kind == "network"


@pytest.mark.parametrize("wait", ["inf", "nan", "-1e308", "1e308", "-inf", "Mon, 99 Foo 99999 99:99:99 GMT"])
def test_any_retry_after_is_bounded(store: Store, wait: str) -> None:
    with Misbehaving(lambda _seen: says({"error": {"message": "slow down"}}, 429, retry_after=wait)) as server:
        fault = fault_of(store, server.url, "chat")
    assert fault.kind == "rate_limit"
    cause = fault.__cause__
    assert isinstance(cause, Fault)
    assert cause.retry_after is None or 0 <= cause.retry_after <= 600


def test_cookies_are_not_kept(store: Store) -> None:
    given = says(chat_reply(), set_cookie="session=0123456789; Path=/")
    with Misbehaving(lambda _seen: given) as server:

        async def both() -> None:
            model = ChatModel("fake", "m", {}, settings(server.url), Preparer(store.blobs.get))
            for words in ("one", "two"):
                await model.turn((Text(words),), (), CONTEXT, Calls(store, tries=1))

        asyncio.run(both())
        assert [seen.headers.get("cookie") for seen in server.seen] == [None, None]


def linked(where: str) -> Behaviour:
    """An image service that gives a link, and the image at ``/image.png``."""

    def behave(seen: Seen) -> Answer:
        if seen.path == "/image.png":
            return Answer(picture(1), media="image/png")
        return says({"data": [{"url": where}]})

    return behave


def test_image_link_follows_three_redirects_without_key(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "sk-0123456789abcdef")

    def behave(seen: Seen) -> Answer:
        if seen.path.startswith("/hop"):
            left = int(seen.path[-1])
            return says({}, 302, location=f"/hop{left - 1}" if left else "/image.png")
        return linked(f"{server.url}/hop2")(seen)

    with Misbehaving(behave) as server:
        assert paint(store, server.url, "openai-images", key_env="FAKE_KEY") == picture(1)
        assert [seen.path for seen in server.seen[1:]] == ["/hop2", "/hop1", "/hop0", "/image.png"]
        assert [bool(seen.headers.get("authorization")) for seen in server.seen] == [True, False, False, False, False]
        with pytest.raises(Fault, match="redirects more than 3 times"):
            asyncio.run(fetch(f"{server.url}/hop3", HOST, port_of(server.url)))


@pytest.mark.parametrize(
    "to", ["http://localhost:1/x", "http://169.254.169.254/latest", "file:///etc/passwd", "//[bad"]
)
def test_image_link_redirects_only_to_allowed_hosts(to: str) -> None:
    with Misbehaving(redirect(to, 302)) as server:
        with pytest.raises(Fault) as caught:
            asyncio.run(fetch(f"{server.url}/a", HOST, port_of(server.url)))
        assert (caught.value.kind, len(server.seen)) == ("image", 1)


@pytest.mark.slow
def test_image_link_decompressing_beyond_limit_is_refused() -> None:
    squeezed = bomb(2**26 + 1)

    def behave(seen: Seen) -> Answer:
        answer = squeezed(seen)
        return Answer(answer.body, headers=answer.headers, media="image/png")

    with Misbehaving(behave) as server, pytest.raises(Fault, match="over 67,108,864 bytes"):
        asyncio.run(fetch(f"{server.url}/a.png", HOST, port_of(server.url)))


def test_unreadable_reply_is_truncated_before_it_is_sent_back(store: Store) -> None:
    def refuse(_text: str) -> None:
        raise Unreadable("no object")

    with Misbehaving(chat("x" * 300_000)) as server:
        model = ChatModel("fake", "m", {}, settings(server.url), Preparer(store.blobs.get))
        with pytest.raises(Fault) as caught:
            asyncio.run(complete(model, (Text("Mark."),), Contract(refuse), CONTEXT, Calls(store, tries=1)))
        assert caught.value.kind == "unreadable"
        sizes = [len(seen.body) for seen in server.seen]
    assert len(sizes) == 3
    assert sizes[2] < 2 * RESENT + 2_000
    with store.reading() as connection:
        texts = [row.result["text"] for row in connection.execute(sa.select(attempts))]
    assert {len(text) for text in texts} == {300_000}


MEASURE = """
import asyncio, resource, sys
from limner.calls import Calls, Fault
from limner.core.asks import Text
from limner.core.images import Preparer
from limner.models import ChatModel
from limner.store import Store
from tests.chaos.asking import CONTEXT, settings

async def main():
    with Store(sys.argv[2]) as store:
        model = ChatModel("fake", "m", {}, settings(sys.argv[1]), Preparer(store.blobs.get))
        calls = Calls(store, tries=1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        turns = [model.turn((Text(str(n)),), (), CONTEXT, calls) for n in range(3)]
        kinds = [getattr(one, "kind", None) for one in await asyncio.gather(*turns, return_exceptions=True)]
        print(kinds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)

asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("behave", [flood(100 * 2**20), bomb(100 * 2**20)], ids=["flood", "bomb"])
def test_three_concurrent_oversized_replies_take_little_memory(tmp_path: Path, behave: Behaviour) -> None:
    with Misbehaving(behave) as server:
        command = [sys.executable, "-c", textwrap.dedent(MEASURE), server.url, str(tmp_path / "store")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    kinds, _, grown = done.stdout.strip().rpartition(" ")
    assert kinds == "['unreadable', 'unreadable', 'unreadable']"
    # Three replies of 16 MiB, each once as it came and once as it grew.
    assert int(grown) < 200, done.stdout
