"""Pictures are prepared once for all who are shown them, as the release does where a preset says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner import api
from limner.core import images
from limner.running.runner import Runner
from limner.store import Store
from limner.store.schema import calls
from tests.fakes import ChatServer
from tests.support import SmallExam, picture, write_settings

PAINTERS = 4
DRAWING = picture(0, size=(900, 400))
pytestmark = pytest.mark.slow


@pytest.fixture
def exam(make_exam: Callable[[int], SmallExam]) -> SmallExam:
    return make_exam(2)


@pytest.fixture
def drawn(store: Store, exam: SmallExam, chat: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store with the drawings of four painters, drawn one after the other."""
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    for painter in range(PAINTERS):
        folder = tmp_path / f"by-{painter}"
        folder.mkdir()
        for number, id in enumerate(exam.ids):
            (folder / f"{id}.png").write_bytes(picture(100 * painter + number, size=(900, 400)))
        api.run("genexam", data=exam.data, painters=[f"p{painter}=folder/{folder}"], store=store)
    return store


def mark(store: Store, monkeypatch: pytest.MonkeyPatch, limit: int = 2**28, **asking: Any) -> list[bytes]:
    """Have two judges mark all, one drawing at a time; the bytes of every image that was prepared."""
    made: list[bytes] = []
    usual = images.prepare
    plan = api.plan(
        "genexam", store, asking=api.Asking(judges=["fake/a", "fake/b"], **asking), draw=False, concurrency=1
    )
    assert plan.images is not None
    plan.images._limit = limit

    def prepare(data: bytes, *how: Any) -> images.PreparedImage:
        made.append(data)
        return usual(data, *how)

    with monkeypatch.context() as patch:
        patch.setattr(images, "prepare", prepare)
        assert Runner(plan, store).run().failed == 0
    return made


def formats(store: Store) -> set[str]:
    with store.reading() as connection:
        bodies = [row.request["body"] for row in connection.execute(sa.select(calls))]
    parts = [part for body in bodies for message in body["messages"] for part in message["content"]]
    return {part["format"] for part in parts if part["type"] == "image"}


def test_each_image_is_prepared_once_for_four_painters_and_two_judges(
    drawn: Store, chat: ChatServer, monkeypatch: pytest.MonkeyPatch, exam: SmallExam
) -> None:
    # There is room for two drawings and no more: all who drew a question come one after the other.
    made = mark(drawn, monkeypatch, limit=2 * len(images.prepare(DRAWING, 768).url))
    assert set(Counter(made).values()) == {1}
    assert len(made) == len(exam.ids) * (PAINTERS + 1)
    assert len(chat.requests()) == len(exam.ids) * PAINTERS * 2
    assert formats(drawn) == {"jpeg"}
