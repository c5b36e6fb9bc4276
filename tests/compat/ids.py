"""The keys and ids that must never change: computed here from plain JSON, by whatever functions compute them now."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from limner import api
from limner.calls import Request, digest
from limner.running.plan import marking_id, slot_id
from limner.store import Store

Json = dict[str, Any]
COUNT = 200
SLOT = ("exam", "question_hash", "painter", "strategy", "options", "seed")
MARKING = ("drawing", "question_hash", "image", "setup", "repeat")


def request_key(given: Json) -> str:
    return Request(given["kind"], given["target"], given["body"], given["repeat"], given["round"]).key


def slot(given: Json) -> str:
    return slot_id(*(given[name] for name in SLOT))


def marking(given: Json) -> str:
    return marking_id(*(given[name] for name in MARKING))


def setup(given: Json) -> str:
    return digest("setup-1", given)


COMPUTED: dict[str, Callable[[Json], str]] = {"request": request_key, "slot": slot, "marking": marking, "setup": setup}


def asked(how: Json, store: Store, wording: Sequence[str] = ()) -> Json:
    """The setup that a way of asking a judge comes to: exam, judge, args, variant, options, preset."""
    words = (how["judge"],), how["args"], how["variant"], how["options"], how["preset"]
    asking = api.Asking(*words, wording=wording)
    (judge,) = api.plan(how["exam"], store, asking=asking, draw=False).judges
    return dict(judge.setup)


def read(folder: Path, name: str) -> list[Json]:
    """The kept pairs: ``given``, ``id`` and, for a setup, ``asked`` where it came of asking."""
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").split("\n") if line]
